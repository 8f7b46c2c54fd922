#include "kernels/gemm_f32.h"

#include <algorithm>

#include "base/parallel.h"
#include "kernels/blocking.h"
#include "kernels/internal.h"

namespace assay::kernels {
namespace {

/// k worked at once: a panel of B this deep stays in L1 while all tiles of the block pass over it.
constexpr int64_t kDepth = 256;

/// Sums of one column group for all rows of a block, between depths.
size_t partial_bytes(const Leaves& leaf, int64_t m, int64_t k) {
  const int64_t rows = block_rows(m, k * 4, leaf.f32_mr);
  return align64(static_cast<size_t>(rows) * static_cast<size_t>(leaf.f32_nr) * kMaxTilePanels * 4);
}

/// Where the panels of B are: packed (panel_stride apart, rows nr apart) or in a row-major matrix.
struct Panels {
  const float* data;
  int64_t row_stride, panel_stride;
};

/// Tiles of a block from which on fetching the next panel ahead pays: each tile asks for its share of the lines, and a
/// large share holds the tile up.
constexpr int64_t kTilesToPrefetch = 9;

/// Asks for part `i` of `parts` of what follows in packed B, for L2: it comes from memory once per block of rows.
void prefetch_part(const float* from, int64_t floats, int64_t i, int64_t parts) {
  constexpr int64_t kLineFloats = 16;
  for (int64_t at = part_begin(floats, i, parts); at < part_begin(floats, i + 1, parts); at += kLineFloats)
    __builtin_prefetch(from + at, 0, 2);
}

/// Rows [m_begin, m_end) times panels [panel_begin, panel_end).
void multiply(const Leaves& leaf, int64_t m, int64_t n, int64_t k, const float* a, int64_t a_stride, const Panels& b,
              const Epilogue& epilogue, float alpha, int64_t m_begin, int64_t m_end, int64_t panel_begin,
              int64_t panel_end, float* partial) {
  const int nr = leaf.f32_nr, mr = leaf.f32_mr;
  const int64_t block = block_rows(m, k * 4, mr);
  for (int64_t m0 = m_begin; m0 < m_end; m0 += block) {
    const int64_t rows = std::min(block, m_end - m0);
    const int64_t tiles = (rows + mr - 1) / mr;  // of equal height, give or take one row
    const int group = leaf.f32_tile_panels(static_cast<int>((rows + tiles - 1) / tiles));
    const bool prefetch = tiles >= kTilesToPrefetch && b.row_stride == nr;
    for (int64_t p = panel_begin; p < panel_end; p += group) {
      const int panels = static_cast<int>(std::min<int64_t>(group, panel_end - p));
      const int width = panels * nr;
      const int64_t n0 = p * nr;
      const int cols = static_cast<int>(std::min<int64_t>(width, n - n0));
      const float* panel = b.data + p * b.panel_stride;
      int64_t k0 = 0;
      do {
        const int64_t depth = std::min(kDepth, k - k0), k_next = k0 + depth;
        const float* next = k_next < k ? panel + k_next * b.row_stride : panel + panels * b.panel_stride;
        const int64_t next_depth = std::min(kDepth, k_next < k ? k - k_next : k);
        for (int64_t t = 0; t < tiles; ++t) {
          const int64_t r0 = part_begin(rows, t, tiles);
          const int height = static_cast<int>(part_begin(rows, t + 1, tiles) - r0);
          float* tile = partial + r0 * width;
          if (prefetch) prefetch_part(next, next_depth * nr, t, tiles);
          leaf.gemm_f32_tile(height, panels, depth, a + (m0 + r0) * a_stride + k0, a_stride, panel + k0 * b.row_stride,
                             b.row_stride, b.panel_stride, tile, width, k0 > 0);
          if (k_next >= k) leaf.epilogue_f32(epilogue, height, cols, tile, width, m0 + r0, n0, alpha);
        }
        k0 = k_next;
      } while (k0 < k);
    }
  }
}

/// Packs panel `p` of op(B).
void pack_panel(const Leaves& leaf, int64_t k, int64_t n, const float* src, int64_t stride, bool transposed, int64_t p,
                float* dst) {
  const int nr = leaf.f32_nr;
  const int64_t n0 = p * nr;
  const int cols = static_cast<int>(std::min<int64_t>(nr, n - n0));
  if (transposed) {
    leaf.transpose_panel(k, cols, nr, src + n0 * stride, stride, dst);
    return;
  }
  for (int64_t i = 0; i < k; ++i) {
    const float* from = src + i * stride + n0;
    std::copy(from, from + cols, dst + i * nr);
    std::fill(dst + i * nr + cols, dst + (i + 1) * nr, 0.0f);
  }
}

int64_t panels_of(const Leaves& leaf, int64_t n) { return (n + leaf.f32_nr - 1) / leaf.f32_nr; }

/// Few rows do not pay for packing B: its full panels are read where they are.
bool reads_b_in_place(const GemmF32& args) { return !args.trans_b && args.m <= 8; }

/// Scratch of one worker of gemm_f32: partial sums, A transposed, panels of B.
struct BatchScratch {
  size_t partial, a, b;
  size_t total() const { return partial + a + b; }
};

BatchScratch batch_scratch(const Leaves& leaf, const GemmF32& args) {
  const auto k = static_cast<size_t>(args.k);
  BatchScratch s{partial_bytes(leaf, args.m, args.k), 0,
                 align64(k * static_cast<size_t>(leaf.f32_nr) * kMaxTilePanels * 4)};
  if (args.trans_a) s.a = align64(k * static_cast<size_t>(args.m) * 4);
  return s;
}

/// Panels that one task packs and multiplies at once: a group of the tile that runs.
int task_panels(const Leaves& leaf, int64_t m) {
  const int64_t tiles = (m + leaf.f32_mr - 1) / leaf.f32_mr;
  return leaf.f32_tile_panels(static_cast<int>((m + tiles - 1) / tiles));
}

}  // namespace

size_t packed_f32_bytes(const Leaves& leaf, int64_t k, int64_t n) {
  return static_cast<size_t>(panels_of(leaf, n) * leaf.f32_nr * k) * 4;
}

void pack_f32(const Leaves& leaf, int64_t k, int64_t n, const float* src, int64_t stride, bool transposed, float* dst,
              int threads) {
  parallel_for(threads, panels_of(leaf, n), 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) pack_panel(leaf, k, n, src, stride, transposed, p, dst + p * k * leaf.f32_nr);
  });
}

size_t gemm_f32_packed_scratch_bytes(const Leaves& leaf, int64_t m, int64_t n, int64_t k, int threads) {
  return partial_bytes(leaf, m, k) * static_cast<size_t>(cut_grid(m, n, leaf.f32_nr, leaf.f32_mr, threads).parts());
}

void gemm_f32_packed(const Leaves& leaf, const PackedF32& b, int64_t m, const float* a, int64_t a_stride,
                     const Epilogue& epilogue, void* scratch, int threads) {
  if (m <= 0 || b.n <= 0) return;
  const int64_t panels = panels_of(leaf, b.n);
  const Grid grid = cut_grid(m, b.n, leaf.f32_nr, leaf.f32_mr, threads);
  const size_t bytes = partial_bytes(leaf, m, b.k);
  const Panels where{b.data, leaf.f32_nr, b.k * leaf.f32_nr};
  parallel_for(threads, grid.parts(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t mi = i / grid.n_parts, ni = i % grid.n_parts;
      multiply(leaf, m, b.n, b.k, a, a_stride, where, epilogue, 1.0f, part_begin(m, mi, grid.m_parts),
               part_begin(m, mi + 1, grid.m_parts), part_begin(panels, ni, grid.n_parts),
               part_begin(panels, ni + 1, grid.n_parts),
               reinterpret_cast<float*>(static_cast<std::byte*>(scratch) + bytes * static_cast<size_t>(i)));
    }
  });
}

size_t gemm_f32_scratch_bytes(const Leaves& leaf, const GemmF32& args, int threads) {
  return batch_scratch(leaf, args).total() * static_cast<size_t>(std::max(threads, 1));
}

void gemm_f32(const Leaves& leaf, const GemmF32& args, void* scratch, int threads) {
  if (args.m <= 0 || args.n <= 0 || args.batch <= 0) return;
  const int nr = leaf.f32_nr;
  const int64_t panels = panels_of(leaf, args.n), full_panels = args.n / nr;
  const int group = task_panels(leaf, args.m);
  const int64_t tasks_per_item = (panels + group - 1) / group;
  const int64_t tasks = args.batch * tasks_per_item;
  const BatchScratch sizes = batch_scratch(leaf, args);
  const int workers = std::max(threads, 1);
  const size_t out_bytes = args.epilogue.out_type == OutType::kF32 ? 4 : 1;
  parallel_for(threads, workers, 1, [&](int64_t worker_begin, int64_t worker_end) {
    for (int64_t w = worker_begin; w < worker_end; ++w) {
      std::byte* base = static_cast<std::byte*>(scratch) + sizes.total() * static_cast<size_t>(w);
      auto* partial = reinterpret_cast<float*>(base);
      auto* a_copy = reinterpret_cast<float*>(base + sizes.partial);
      auto* b_copy = reinterpret_cast<float*>(base + sizes.partial + sizes.a);
      int64_t a_item = -1;
      for (int64_t t = part_begin(tasks, w, workers); t < part_begin(tasks, w + 1, workers); ++t) {
        const int64_t item = t / tasks_per_item;
        const int64_t p0 = t % tasks_per_item * group;
        const int64_t p1 = std::min(p0 + group, panels);
        const float* a = args.a + (args.a_offsets != nullptr ? args.a_offsets[item] : item * args.a_batch);
        const float* b = args.b + (args.b_offsets != nullptr ? args.b_offsets[item] : item * args.b_batch);
        int64_t a_stride = args.a_stride;
        if (args.trans_a) {
          if (a_item != item)
            for (int64_t i = 0; i < args.k; ++i)
              for (int64_t r = 0; r < args.m; ++r) a_copy[r * args.k + i] = a[i * args.a_stride + r];
          a_item = item;
          a = a_copy;
          a_stride = args.k;
        }
        Epilogue e = args.epilogue;
        e.dst = static_cast<std::byte*>(e.dst) + static_cast<size_t>(item * args.dst_batch) * out_bytes;
        if (e.residual != nullptr) e.residual += item * args.dst_batch;
        if (reads_b_in_place(args) && p1 <= full_panels) {
          multiply(leaf, args.m, args.n, args.k, a, a_stride, {b, args.b_stride, nr}, e, args.alpha, 0, args.m, p0, p1,
                   partial);
        } else {
          for (int64_t p = p0; p < p1; ++p)
            pack_panel(leaf, args.k, args.n, b, args.b_stride, args.trans_b, p, b_copy + (p - p0) * args.k * nr);
          const Panels where{b_copy - p0 * args.k * nr, nr, args.k * nr};
          multiply(leaf, args.m, args.n, args.k, a, a_stride, where, e, args.alpha, 0, args.m, p0, p1, partial);
        }
      }
    }
  });
}

size_t packed_f32_bytes(Isa isa, int64_t k, int64_t n) { return packed_f32_bytes(leaves(isa), k, n); }

PackedF32 pack_f32(Isa isa, int64_t k, int64_t n, const float* src, int64_t stride, bool transposed, float* dst,
                   int threads) {
  pack_f32(leaves(isa), k, n, src, stride, transposed, dst, threads);
  return {isa, k, n, dst};
}

size_t gemm_f32_packed_scratch_bytes(Isa isa, int64_t m, int64_t n, int64_t k, int threads) {
  return gemm_f32_packed_scratch_bytes(leaves(isa), m, n, k, threads);
}

void gemm_f32_packed(const PackedF32& b, int64_t m, const float* a, int64_t a_stride, const Epilogue& epilogue,
                     void* scratch, int threads) {
  gemm_f32_packed(leaves(b.isa), b, m, a, a_stride, epilogue, scratch, threads);
}

size_t gemm_f32_scratch_bytes(Isa isa, const GemmF32& args, int threads) {
  return gemm_f32_scratch_bytes(leaves(isa), args, threads);
}

void gemm_f32(Isa isa, const GemmF32& args, void* scratch, int threads) {
  gemm_f32(leaves(isa), args, scratch, threads);
}

}  // namespace assay::kernels
