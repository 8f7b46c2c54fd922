#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace assay::kernels {

inline int64_t round_up(int64_t v, int64_t to) { return (v + to - 1) / to * to; }
inline size_t align64(size_t bytes) { return (bytes + 63) & ~size_t{63}; }

/// How a product is cut over threads: parts of the rows times parts of the column panels. Rows first, since a part of
/// the rows reads its A once; columns when the rows do not fill the threads.
struct Grid {
  int m_parts = 1, n_parts = 1;
  int parts() const { return m_parts * n_parts; }
};

inline Grid cut_grid(int64_t m, int64_t panels, int mr, int threads) {
  Grid g;
  if (threads <= 1) return g;
  g.m_parts = static_cast<int>(std::clamp<int64_t>(m / (4 * mr), 1, threads));
  g.n_parts = static_cast<int>(std::clamp<int64_t>(threads / g.m_parts, 1, std::max<int64_t>(panels, 1)));
  return g;
}

/// Bounds of part `i` of `parts` over [0, n).
inline int64_t part_begin(int64_t n, int64_t i, int64_t parts) { return n * i / parts; }

/// Rows of A kept hot at once: as many as fit half an L2 of 512 KiB, whole tiles.
inline int64_t block_rows(int64_t m, int64_t row_bytes, int mr) {
  constexpr int64_t kBlockBytes = 224 * 1024;
  const int64_t fit = std::max<int64_t>(kBlockBytes / std::max<int64_t>(row_bytes, 1) / mr, 2) * mr;
  return std::min(fit, round_up(std::max<int64_t>(m, 1), mr));
}

}  // namespace assay::kernels
