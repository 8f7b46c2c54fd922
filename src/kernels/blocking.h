#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace assay::kernels {

inline int64_t round_up(int64_t v, int64_t to) { return (v + to - 1) / to * to; }
inline size_t align64(size_t bytes) { return (bytes + 63) & ~size_t{63}; }

/// How a product [m, n] is cut over threads: parts of the rows times parts of the column panels. The longer side first:
/// a part of the columns reads its share of B and all of A, a part of the rows the other way round.
struct Grid {
  int m_parts = 1, n_parts = 1;
  int parts() const { return m_parts * n_parts; }
};

inline Grid cut_grid(int64_t m, int64_t n, int nr, int mr, int threads) {
  const auto most_m = static_cast<int>(std::clamp<int64_t>(m / (4 * mr), 1, std::max(threads, 1)));
  const auto most_n = static_cast<int>(std::clamp<int64_t>((n + nr - 1) / nr, 1, std::max(threads, 1)));
  Grid g;
  if (m < n) {
    g.n_parts = most_n;
    g.m_parts = std::min(most_m, std::max(threads / g.n_parts, 1));
  } else {
    g.m_parts = most_m;
    g.n_parts = std::min(most_n, std::max(threads / g.m_parts, 1));
  }
  return g;
}

/// Bounds of part `i` of `parts` over [0, n).
inline int64_t part_begin(int64_t n, int64_t i, int64_t parts) { return n * i / parts; }

/// Bytes of A kept hot at once: five eighths of this machine's L2 (of 512 KiB where it does not tell); the rest is for
/// the panels of B and the results that pass by. More rows at once read B fewer times.
inline int64_t block_bytes() {
  static const int64_t bytes = [] {
    const long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return std::clamp<int64_t>(l2 > 0 ? l2 : 512 * 1024, 256 * 1024, 1024 * 1024) / 8 * 5;
  }();
  return bytes;
}

/// Rows of A kept hot at once, whole tiles.
inline int64_t block_rows(int64_t m, int64_t row_bytes, int mr) {
  const int64_t fit = std::max<int64_t>(block_bytes() / std::max<int64_t>(row_bytes, 1) / mr, 2) * mr;
  return std::min(fit, round_up(std::max<int64_t>(m, 1), mr));
}

}  // namespace assay::kernels
