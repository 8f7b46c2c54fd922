#include "kernels/float_ops.h"

#include <algorithm>

#include "base/parallel.h"
#include "kernels/internal.h"

namespace assay::kernels {
namespace {

/// Elements a thread takes at least: less is not worth waking it.
constexpr int64_t kGrain = 4096;

int64_t row_grain(int64_t n) { return std::max<int64_t>(kGrain / std::max<int64_t>(n, 1), 1); }

}  // namespace

void unary_f32(Isa isa, Unary op, int64_t n, const float* src, float* dst, int threads) {
  const Leaves& leaf = leaves(isa);
  parallel_for(threads, n, kGrain,
               [&](int64_t begin, int64_t end) { leaf.unary(op, end - begin, src + begin, dst + begin); });
}

void norm_f32(const Leaves& leaf, const Norm& args, int threads) {
  parallel_for(threads, args.rows, row_grain(args.n), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      float* dst = args.dst + r * args.dst_stride;
      leaf.norm_row(args.n, args.src + r * args.src_stride,
                    args.residual != nullptr ? args.residual + r * args.residual_stride : nullptr,
                    args.sum_out != nullptr ? args.sum_out + r * args.sum_stride : nullptr, args.gamma, args.beta,
                    args.eps, args.rms, dst);
      if (args.q == nullptr) continue;
      float min, max;
      leaf.min_max(args.n, dst, &min, &max);
      const QuantRange range = dynamic_range_u8(min, max);
      leaf.quantize(args.n, dst, range.scale, range.zero_point, false, args.q + r * args.q_stride);
      args.q_scales[r] = range.scale;
      args.q_zero_points[r] = range.zero_point;
    }
  });
}

void norm_f32(Isa isa, const Norm& args, int threads) { norm_f32(leaves(isa), args, threads); }

void softmax_f32(Isa isa, int64_t rows, int64_t n, const float* src, const float* mask, int64_t mask_repeat,
                 int64_t mask_rows, float* dst, int threads) {
  const Leaves& leaf = leaves(isa);
  parallel_for(threads, rows, row_grain(n), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      leaf.softmax_row(n, src + r * n, mask != nullptr ? mask + r / mask_repeat % mask_rows * n : nullptr, dst + r * n);
  });
}

}  // namespace assay::kernels
