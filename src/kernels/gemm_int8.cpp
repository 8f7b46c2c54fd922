#include "kernels/gemm_int8.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "kernels/blocking.h"
#include "kernels/internal.h"

namespace assay::kernels {
namespace {

struct Packing {
  int64_t panels, k_padded, panel_bytes, sums_bytes;
};

Packing packing(const Leaves& leaf, int64_t k, int64_t n) {
  const int64_t panels = (n + leaf.int8.nr - 1) / leaf.int8.nr;
  const int64_t k_padded = round_up(k, leaf.int8.k_group);
  return {panels, k_padded, k_padded * leaf.int8.nr, panels * leaf.int8.nr * 4};
}

/// Bytes of one row of A made ready: off multiples of the page, so that rows do not fall on the same cache sets.
int64_t ready_row_bytes(const Leaves& leaf, int64_t k_padded) {
  return round_up(k_padded * (leaf.int8.widen_a ? 2 : 1), 64) + 64;
}

size_t worker_bytes(const Leaves& leaf, int64_t m, int64_t k_padded) {
  const int64_t row = ready_row_bytes(leaf, k_padded);
  const int64_t rows = block_rows(m, row, leaf.int8.mr);
  return align64(static_cast<size_t>(rows * row)) + 2 * align64(static_cast<size_t>(rows) * 4) +
         align64(static_cast<size_t>(rows) * 4);
}

/// Column values of one group of panels, padded to whole vectors.
struct Columns {
  alignas(64) int32_t zero_points[kMaxNr * kMaxTilePanels];
  alignas(64) float scales[kMaxNr * kMaxTilePanels];
};

struct Worker {
  const Leaves& leaf;
  const PackedInt8& b;
  const GemmInt8& args;
  Packing pack;
  bool copy_a, correct, b_has_zero_point;
  int32_t a_shift, b_shift;

  void run(int64_t m_begin, int64_t m_end, int64_t panel_begin, int64_t panel_end, std::byte* scratch) const;
  void fill_columns(int64_t n0, int width, Columns& columns) const;
};

void Worker::fill_columns(int64_t n0, int width, Columns& columns) const {
  const int64_t count = std::min<int64_t>(width, b.n - n0);
  for (int j = 0; j < width; ++j) {
    const bool inside = j < count;
    const int32_t zp = inside && args.b_zero_points != nullptr ? args.b_zero_points[n0 + j] : args.b_zero_point;
    columns.zero_points[j] = zp - b_shift;
    columns.scales[j] = inside && args.b_scales != nullptr ? args.b_scales[n0 + j] : args.b_scale;
  }
}

void Worker::run(int64_t m_begin, int64_t m_end, int64_t panel_begin, int64_t panel_end, std::byte* scratch) const {
  const int nr = leaf.int8.nr, mr = leaf.int8.mr;
  const int64_t row_bytes = ready_row_bytes(leaf, pack.k_padded);
  const int64_t block = block_rows(args.m, row_bytes, mr);
  auto* sums = reinterpret_cast<int32_t*>(scratch + align64(static_cast<size_t>(block * row_bytes)));
  auto* zps = sums + align64(static_cast<size_t>(block) * 4) / 4;
  auto* scales = reinterpret_cast<float*>(zps + align64(static_cast<size_t>(block) * 4) / 4);
  const auto* b_sums = static_cast<const int32_t*>(b.data);
  const auto* b_data = static_cast<const int8_t*>(b.data) + pack.sums_bytes;
  alignas(64) int32_t acc[kMaxMr * kMaxNr];
  alignas(64) float values[kMaxMr * kMaxNr];
  Columns columns;

  for (int64_t m0 = m_begin; m0 < m_end; m0 += block) {
    const int64_t rows = std::min(block, m_end - m0);
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t m = m0 + r;
      const auto* from = static_cast<const std::byte*>(args.a) + m * args.a_stride;
      const int32_t sum = copy_a ? leaf.int8_row(b.k, pack.k_padded, from, args.a_signed, scratch + r * row_bytes) : 0;
      zps[r] = (args.a_zero_points != nullptr ? args.a_zero_points[m] : args.a_zero_point) + a_shift;
      sums[r] =
          static_cast<int32_t>(static_cast<uint32_t>(sum) - static_cast<uint32_t>(b.k) * static_cast<uint32_t>(zps[r]));
      scales[r] = args.a_scales != nullptr ? args.a_scales[m] : args.a_scale;
    }
    const std::byte* a = copy_a ? scratch : static_cast<const std::byte*>(args.a) + m0 * args.a_stride;
    const int64_t a_stride = copy_a ? row_bytes : args.a_stride;

    const int64_t tiles = (rows + mr - 1) / mr;  // of equal height, give or take one row
    const int tallest = static_cast<int>((rows + tiles - 1) / tiles);
    const int group = leaf.int8_tile_panels(tallest);
    for (int64_t p = panel_begin; p < panel_end; p += group) {
      const int panels = static_cast<int>(std::min<int64_t>(group, panel_end - p));
      const int64_t n0 = p * nr;
      const int width = panels * nr;
      const int cols = static_cast<int>(std::min<int64_t>(width, b.n - n0));
      fill_columns(n0, width, columns);
      for (int64_t t = 0; t < tiles; ++t) {
        const int64_t r0 = part_begin(rows, t, tiles);
        const int height = static_cast<int>(part_begin(rows, t + 1, tiles) - r0);
        leaf.gemm_int8_tile(height, panels, pack.k_padded / leaf.int8.k_group, a + r0 * a_stride, a_stride,
                            b_data + p * pack.panel_bytes, pack.panel_bytes, acc, width);
        if (correct)
          leaf.correct_i32(height, width, acc, width, zps + r0, b_sums + n0,
                           b_has_zero_point ? columns.zero_points : nullptr, sums + r0);
        if (args.dst_i32 != nullptr) {
          for (int r = 0; r < height; ++r)
            std::memcpy(args.dst_i32 + (m0 + r0 + r) * args.dst_i32_stride + n0, acc + r * width,
                        static_cast<size_t>(cols) * 4);
        } else {
          leaf.scale_i32(height, width, acc, width, scales + r0, columns.scales, values, width);
          leaf.epilogue_f32(args.epilogue, height, cols, values, width, m0 + r0, n0, 1.0f);
        }
      }
    }
  }
}

}  // namespace

size_t packed_int8_bytes(const Leaves& leaf, int64_t k, int64_t n) {
  const Packing p = packing(leaf, k, n);
  return static_cast<size_t>(p.sums_bytes + p.panels * p.panel_bytes);
}

void pack_int8(const Leaves& leaf, int64_t k, int64_t n, const void* src, int64_t stride, bool source_unsigned,
               bool transposed, void* dst, int threads) {
  const Packing pack = packing(leaf, k, n);
  const int nr = leaf.int8.nr, group = leaf.int8.k_group;
  const auto* in = static_cast<const uint8_t*>(src);
  const auto flip = static_cast<uint8_t>(source_unsigned ? 0x80 : 0);
  auto* all_sums = static_cast<int32_t*>(dst);
  auto* data = static_cast<int8_t*>(dst) + pack.sums_bytes;
  parallel_for(threads, pack.panels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      int8_t* panel = data + p * pack.panel_bytes;
      int32_t* sums = all_sums + p * nr;
      const int64_t n0 = p * nr;
      const int cols = static_cast<int>(std::min<int64_t>(nr, n - n0));
      std::fill(sums, sums + nr, 0);
      if (cols < nr || pack.k_padded != k) std::fill(panel, panel + pack.panel_bytes, int8_t{0});
      const auto put = [&](int64_t i, int j) {
        const uint8_t bits = static_cast<uint8_t>(in[transposed ? (n0 + j) * stride + i : i * stride + n0 + j] ^ flip);
        const auto v = static_cast<int8_t>(bits);
        panel[(i / group * nr + j) * group + i % group] = v;
        sums[j] += v;
      };
      if (transposed) {
        for (int j = 0; j < cols; ++j)
          for (int64_t i = 0; i < k; ++i) put(i, j);
      } else {
        for (int64_t i = 0; i < k; ++i)
          for (int j = 0; j < cols; ++j) put(i, j);
      }
    }
  });
}

size_t gemm_int8_scratch_bytes(const Leaves& leaf, int64_t m, int64_t n, int64_t k, int threads) {
  const Packing pack = packing(leaf, k, n);
  const Grid grid = cut_grid(m, pack.panels, leaf.int8.mr, threads);
  return worker_bytes(leaf, m, pack.k_padded) * static_cast<size_t>(grid.parts());
}

void gemm_int8(const Leaves& leaf, const PackedInt8& b, const GemmInt8& args, void* scratch, int threads) {
  if (args.m <= 0 || b.n <= 0) return;
  const Packing pack = packing(leaf, b.k, b.n);
  const Grid grid = cut_grid(args.m, pack.panels, leaf.int8.mr, threads);
  const int32_t b_shift = b.source_unsigned ? 128 : 0;
  const int32_t a_shift = !leaf.int8.widen_a && args.a_signed ? 128 : 0;
  const bool b_zero = args.b_zero_points != nullptr || args.b_zero_point != b_shift;
  const bool a_zero = args.a_zero_points != nullptr || args.a_zero_point + a_shift != 0;
  const bool copy_a = leaf.int8.widen_a || args.a_signed || b.k % leaf.int8.k_group != 0 || b_zero;
  const Worker worker{leaf, b, args, pack, copy_a, a_zero || b_zero, b_zero, a_shift, b_shift};
  const size_t bytes = worker_bytes(leaf, args.m, pack.k_padded);
  parallel_for(threads, grid.parts(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t mi = i / grid.n_parts, ni = i % grid.n_parts;
      worker.run(part_begin(args.m, mi, grid.m_parts), part_begin(args.m, mi + 1, grid.m_parts),
                 part_begin(pack.panels, ni, grid.n_parts), part_begin(pack.panels, ni + 1, grid.n_parts),
                 static_cast<std::byte*>(scratch) + bytes * static_cast<size_t>(i));
    }
  });
}

size_t packed_int8_bytes(Isa isa, int64_t k, int64_t n) { return packed_int8_bytes(leaves(isa), k, n); }

PackedInt8 pack_int8(Isa isa, int64_t k, int64_t n, const void* src, int64_t stride, bool source_unsigned,
                     bool transposed, void* dst, int threads) {
  pack_int8(leaves(isa), k, n, src, stride, source_unsigned, transposed, dst, threads);
  return {isa, k, n, source_unsigned, dst};
}

size_t gemm_int8_scratch_bytes(Isa isa, int64_t m, int64_t n, int64_t k, int threads) {
  return gemm_int8_scratch_bytes(leaves(isa), m, n, k, threads);
}

void gemm_int8(const PackedInt8& b, const GemmInt8& args, void* scratch, int threads) {
  gemm_int8(leaves(b.isa), b, args, scratch, threads);
}

}  // namespace assay::kernels
