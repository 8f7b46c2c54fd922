#include "kernels/quantize.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "kernels/internal.h"

namespace assay::kernels {
namespace {

/// Elements a thread takes at least: less is not worth waking it.
constexpr int64_t kGrain = 4096;

int64_t row_grain(int64_t n) { return std::max<int64_t>(kGrain / std::max<int64_t>(n, 1), 1); }

/// Most threads whose partial ranges are kept; more give no speed.
constexpr int kMaxParts = 64;

}  // namespace

QuantRange dynamic_range_u8(float min, float max) {
  if (!std::isfinite(min) || !std::isfinite(max)) return {std::numeric_limits<float>::quiet_NaN(), 0};
  const float lo = std::min(min, 0.0f), hi = std::max(max, 0.0f);
  float scale = (hi - lo) / 255.0f;
  if (!std::isfinite(scale)) scale = hi / 255.0f - lo / 255.0f;  // the span alone overflows
  if (!(scale > 0.0f)) return {1.0f, 0};
  const float zero_point = std::nearbyint(std::clamp(0.0f - lo / scale, 0.0f, 255.0f));
  return {scale, static_cast<int32_t>(zero_point)};
}

void min_max_f32(Isa isa, int64_t n, const float* src, float* min, float* max, int threads) {
  const Leaves& leaf = leaves(isa);
  const int parts = static_cast<int>(std::clamp<int64_t>(std::min<int64_t>(threads, n / kGrain), 1, kMaxParts));
  float lows[kMaxParts], highs[kMaxParts];
  parallel_for(threads, parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t from = n * i / parts, to = n * (i + 1) / parts;
      leaf.min_max(to - from, src + from, &lows[i], &highs[i]);
    }
  });
  *min = *max = 0.0f;
  for (int i = 0; i < parts; ++i) {
    *min = lows[i] < *min || std::isnan(lows[i]) ? lows[i] : *min;
    *max = highs[i] > *max || std::isnan(highs[i]) ? highs[i] : *max;
  }
}

void quantize_rows_u8(const Leaves& leaf, int64_t rows, int64_t n, const float* src, int64_t src_stride, uint8_t* dst,
                      int64_t dst_stride, float* scales, int32_t* zero_points, int threads) {
  parallel_for(threads, rows, row_grain(n), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      float min, max;
      leaf.min_max(n, src + r * src_stride, &min, &max);
      const QuantRange range = dynamic_range_u8(min, max);
      leaf.quantize(n, src + r * src_stride, range.scale, range.zero_point, false, dst + r * dst_stride);
      scales[r] = range.scale;
      zero_points[r] = range.zero_point;
    }
  });
}

void quantize_rows_u8(Isa isa, int64_t rows, int64_t n, const float* src, int64_t src_stride, uint8_t* dst,
                      int64_t dst_stride, float* scales, int32_t* zero_points, int threads) {
  quantize_rows_u8(leaves(isa), rows, n, src, src_stride, dst, dst_stride, scales, zero_points, threads);
}

QuantRange quantize_dynamic_u8(Isa isa, int64_t n, const float* src, uint8_t* dst, int threads) {
  float min = 0, max = 0;
  min_max_f32(isa, n, src, &min, &max, threads);
  const QuantRange range = dynamic_range_u8(min, max);
  const Leaves& leaf = leaves(isa);
  parallel_for(threads, n, kGrain, [&](int64_t begin, int64_t end) {
    leaf.quantize(end - begin, src + begin, range.scale, range.zero_point, false, dst + begin);
  });
  return range;
}

namespace {

/// Calls one(begin, end, channel) over runs of elements of one channel, cut at `grain` over threads.
template <typename Fn>
void for_channels(int64_t outer, int64_t channels, int64_t inner, int threads, const Fn& one) {
  const int64_t slices = outer * channels;
  if (slices == 1) {
    parallel_for(threads, inner, kGrain, [&](int64_t begin, int64_t end) { one(begin, end, 0); });
    return;
  }
  parallel_for(threads, slices, row_grain(inner), [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s) one(s * inner, (s + 1) * inner, s % channels);
  });
}

}  // namespace

void quantize_linear(Isa isa, int64_t outer, int64_t channels, int64_t inner, const float* src, const float* scales,
                     const int32_t* zero_points, bool is_signed, void* dst, int threads) {
  const Leaves& leaf = leaves(isa);
  auto* out = static_cast<uint8_t*>(dst);
  if (inner == 1 && channels > 1) {  // the channel runs fastest
    parallel_for(threads, outer, row_grain(channels), [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o)
        leaf.quantize_each(channels, src + o * channels, scales, zero_points, is_signed, out + o * channels);
    });
    return;
  }
  for_channels(outer, channels, inner, threads, [&](int64_t begin, int64_t end, int64_t c) {
    leaf.quantize(end - begin, src + begin, scales[c], zero_points != nullptr ? zero_points[c] : 0, is_signed,
                  out + begin);
  });
}

void dequantize_linear(Isa isa, int64_t outer, int64_t channels, int64_t inner, const void* src, bool is_signed,
                       const float* scales, const int32_t* zero_points, float* dst, int threads) {
  const Leaves& leaf = leaves(isa);
  for_channels(outer, channels, inner, threads, [&](int64_t begin, int64_t end, int64_t c) {
    leaf.dequantize(end - begin, static_cast<const uint8_t*>(src) + begin, is_signed, scales[c],
                    zero_points != nullptr ? zero_points[c] : 0, dst + begin);
  });
}

void dequantize_linear_i32(Isa isa, int64_t outer, int64_t channels, int64_t inner, const int32_t* src,
                           const float* scales, const int32_t* zero_points, float* dst, int threads) {
  const Leaves& leaf = leaves(isa);
  for_channels(outer, channels, inner, threads, [&](int64_t begin, int64_t end, int64_t c) {
    leaf.dequantize_i32(end - begin, src + begin, scales[c], zero_points != nullptr ? zero_points[c] : 0, dst + begin);
  });
}

}  // namespace assay::kernels
