#include "kernels/gemm_int8.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/parallel.h"
#include "kernels/blocking.h"
#include "kernels/internal.h"

namespace assay::kernels {
namespace {

/// The first bytes of packed weights: which of the level's two kernels they are for.
struct Header {
  int32_t pair_safe;
  int32_t unused[15];
};
static_assert(sizeof(Header) == 64);

/// Where things are in packed weights: header, column sums, panels. A panel is its groups; for the pair-safe kernel
/// also extra groups, their number and which groups of A they go with.
struct Packing {
  int64_t panels, k_padded, groups_bytes, max_extra, panel_bytes, sums_at, panels_at, total;
};

/// More extra groups than this share of a panel cost more than the other kernel.
int64_t max_extra_groups(int64_t groups) { return groups / 8 + 1; }

Packing packing(const Int8Kernel& kernel, int64_t k, int64_t n) {
  Packing p{};
  p.panels = (n + kernel.nr - 1) / kernel.nr;
  p.k_padded = round_up(k, kernel.k_group);
  p.groups_bytes = p.k_padded * kernel.nr;
  p.panel_bytes = p.groups_bytes;
  if (kernel.extra_tile != nullptr) {
    p.max_extra = max_extra_groups(p.k_padded / kernel.k_group);
    p.panel_bytes += p.max_extra * kernel.nr * kernel.k_group + round_up((p.max_extra + 1) * 4, 64);
  }
  p.sums_at = sizeof(Header);
  p.panels_at = p.sums_at + p.panels * kernel.nr * 4;
  p.total = p.panels_at + p.panels * p.panel_bytes;
  return p;
}

/// The kernel that packed weights are for.
const Int8Kernel& kernel_of(const Leaves& leaf, const PackedInt8& b) {
  return static_cast<const Header*>(b.data)->pair_safe != 0 ? leaf.pair_safe : leaf.dense;
}

/// Bytes of one row of A made ready: off multiples of the page, so that rows do not fall on the same cache sets.
int64_t ready_row_bytes(const Int8Kernel& kernel, int64_t k_padded) {
  return round_up(k_padded * (kernel.widen_a ? 2 : 1), 64) + 64;
}

size_t worker_bytes(const Int8Kernel& kernel, int64_t m, const Packing& pack) {
  const int64_t row = ready_row_bytes(kernel, pack.k_padded);
  const int64_t rows = block_rows(m, row, kernel.mr);
  return align64(static_cast<size_t>(rows * row)) + 3 * align64(static_cast<size_t>(rows) * 4);
}

/// Column values of one group of panels, padded to whole vectors.
struct Columns {
  alignas(64) int32_t zero_points[kMaxNr * kMaxTilePanels];
  alignas(64) float scales[kMaxNr * kMaxTilePanels];
};

struct Worker {
  const Leaves& leaf;
  const Int8Kernel& kernel;
  const PackedInt8& b;
  const GemmInt8& args;
  Packing pack;
  bool copy_a, correct, b_has_zero_point;
  int32_t a_shift, b_shift;

  void run(int64_t m_begin, int64_t m_end, int64_t panel_begin, int64_t panel_end, std::byte* scratch) const;
  void fill_columns(int64_t n0, int width, Columns& columns) const;
  void multiply(int height, int panels, const std::byte* a, int64_t a_stride, const int8_t* panel, int32_t* acc) const;
};

/// One tile of sums over `panels` panels from `panel` on.
void Worker::multiply(int height, int panels, const std::byte* a, int64_t a_stride, const int8_t* panel,
                      int32_t* acc) const {
  const int64_t groups = pack.k_padded / kernel.k_group;
  const int width = panels * kernel.nr;
  if (kernel.extra_tile == nullptr) {
    kernel.tile(height, panels, groups, a, a_stride, panel, pack.panel_bytes, acc, width);
    return;
  }
  for (int p = 0; p < panels; ++p) {
    const int8_t* from = panel + p * pack.panel_bytes;
    const int8_t* extra = from + pack.groups_bytes;
    const auto* count = reinterpret_cast<const int32_t*>(extra + pack.max_extra * kernel.nr * kernel.k_group);
    kernel.extra_tile(height, groups, a, a_stride, from, *count, count + 1, extra, acc + p * kernel.nr, width);
  }
}

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
  const int nr = kernel.nr, mr = kernel.mr;
  const int64_t row_bytes = ready_row_bytes(kernel, pack.k_padded);
  const int64_t block = block_rows(args.m, row_bytes, mr);
  auto* sums = reinterpret_cast<int32_t*>(scratch + align64(static_cast<size_t>(block * row_bytes)));
  auto* zps = sums + align64(static_cast<size_t>(block) * 4) / 4;
  auto* scales = reinterpret_cast<float*>(zps + align64(static_cast<size_t>(block) * 4) / 4);
  const auto* bytes = static_cast<const int8_t*>(b.data);
  const auto* b_sums = reinterpret_cast<const int32_t*>(bytes + pack.sums_at);
  alignas(64) int32_t acc[kMaxMr * kMaxNr];
  Columns columns;

  for (int64_t m0 = m_begin; m0 < m_end; m0 += block) {
    const int64_t rows = std::min(block, m_end - m0);
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t m = m0 + r;
      const auto* from = static_cast<const std::byte*>(args.a) + m * args.a_stride;
      const int32_t sum = copy_a ? kernel.row(b.k, pack.k_padded, from, args.a_signed, scratch + r * row_bytes) : 0;
      zps[r] = (args.a_zero_points != nullptr ? args.a_zero_points[m] : args.a_zero_point) + a_shift;
      sums[r] =
          static_cast<int32_t>(static_cast<uint32_t>(sum) - static_cast<uint32_t>(b.k) * static_cast<uint32_t>(zps[r]));
      scales[r] = args.a_scales != nullptr ? args.a_scales[m] : args.a_scale;
    }
    const std::byte* a = copy_a ? scratch : static_cast<const std::byte*>(args.a) + m0 * args.a_stride;
    const int64_t a_stride = copy_a ? row_bytes : args.a_stride;

    const int64_t tiles = (rows + mr - 1) / mr;  // of equal height, give or take one row
    const int tallest = static_cast<int>((rows + tiles - 1) / tiles);
    const int group = kernel.tile_panels(tallest);
    for (int64_t p = panel_begin; p < panel_end; p += group) {
      const int panels = static_cast<int>(std::min<int64_t>(group, panel_end - p));
      const int64_t n0 = p * nr;
      const int width = panels * nr;
      const int cols = static_cast<int>(std::min<int64_t>(width, b.n - n0));
      const int8_t* panel = bytes + pack.panels_at + p * pack.panel_bytes;
      fill_columns(n0, width, columns);
      for (int64_t t = 0; t < tiles; ++t) {
        const int64_t r0 = part_begin(rows, t, tiles);
        const int height = static_cast<int>(part_begin(rows, t + 1, tiles) - r0);
        multiply(height, panels, a + r0 * a_stride, a_stride, panel, acc);
        const IntCorrection fix{correct,       zps + r0,    sums + r0,
                                scales + r0,   b_sums + n0, b_has_zero_point ? columns.zero_points : nullptr,
                                columns.scales};
        if (args.dst_i32 != nullptr) {
          if (correct) leaf.correct_i32(height, width, acc, width, fix);
          for (int r = 0; r < height; ++r)
            std::memcpy(args.dst_i32 + (m0 + r0 + r) * args.dst_i32_stride + n0, acc + r * width,
                        static_cast<size_t>(cols) * 4);
        } else {
          leaf.epilogue_i32(args.epilogue, height, cols, acc, width, fix, m0 + r0, n0);
        }
      }
    }
  }
}

/// Weights as the caller has them.
struct Source {
  const uint8_t* data;
  int64_t stride;
  bool transposed;
  uint8_t flip;  ///< takes 128 off uint8

  int8_t at(int64_t i, int64_t j) const {
    return static_cast<int8_t>(static_cast<uint8_t>(data[transposed ? j * stride + i : i * stride + j] ^ flip));
  }
};

/// Clips the second weight of a pair to what cannot saturate 16 bits with any two uint8 values; returns what it took
/// off.
int clip_pair(int8_t first, int8_t& second) {
  constexpr int kMost = 128;  // 255 * 128 <= 32767
  const int sum = first + second;
  if ((first > 0) != (second > 0) || (sum <= kMost && sum >= -kMost)) return 0;
  const int over = sum > 0 ? sum - kMost : sum + kMost;
  second = static_cast<int8_t>(second - over);
  return over;
}

/// Moves what saturates from the groups of a pair-safe panel to its extra groups; false when they do not hold it.
bool clip_panel(const Int8Kernel& kernel, const Packing& pack, int8_t* panel) {
  const int64_t group_bytes = int64_t{kernel.nr} * kernel.k_group;
  int8_t* extra = panel + pack.groups_bytes;
  auto* count = reinterpret_cast<int32_t*>(extra + pack.max_extra * group_bytes);
  std::memset(extra, 0, static_cast<size_t>(pack.panel_bytes - pack.groups_bytes));
  for (int64_t g = 0; g < pack.k_padded / kernel.k_group; ++g) {
    int8_t* group = panel + g * group_bytes;
    bool any = false;
    for (int64_t i = 0; i < group_bytes; i += 2) {
      const int over = clip_pair(group[i], group[i + 1]);
      if (over == 0) continue;
      if (!any && *count == pack.max_extra) return false;
      if (!any) count[++*count] = static_cast<int32_t>(g);
      any = true;
      extra[(*count - 1) * group_bytes + i + 1] = static_cast<int8_t>(over);
    }
  }
  return true;
}

bool pack_panel(const Int8Kernel& kernel, const Packing& pack, int64_t k, int64_t n, const Source& from, int64_t p,
                int8_t* bytes) {
  const int nr = kernel.nr, k_group = kernel.k_group;
  const int64_t n0 = p * nr;
  const int cols = static_cast<int>(std::min<int64_t>(nr, n - n0));
  int8_t* panel = bytes + pack.panels_at + p * pack.panel_bytes;
  auto* sums = reinterpret_cast<int32_t*>(bytes + pack.sums_at) + p * nr;
  std::fill(sums, sums + nr, 0);
  if (cols < nr || pack.k_padded != k) std::memset(panel, 0, static_cast<size_t>(pack.groups_bytes));
  const auto put = [&](int64_t i, int j) {
    const int8_t v = from.at(i, n0 + j);
    panel[(i / k_group * nr + j) * k_group + i % k_group] = v;
    sums[j] += v;
  };
  if (from.transposed) {
    for (int j = 0; j < cols; ++j)
      for (int64_t i = 0; i < k; ++i) put(i, j);
  } else {
    for (int64_t i = 0; i < k; ++i)
      for (int j = 0; j < cols; ++j) put(i, j);
  }
  return kernel.extra_tile == nullptr || clip_panel(kernel, pack, panel);
}

}  // namespace

size_t packed_int8_bytes(const Leaves& leaf, int64_t k, int64_t n) {
  int64_t bytes = packing(leaf.dense, k, n).total;
  if (leaf.pair_safe.tile != nullptr) bytes = std::max(bytes, packing(leaf.pair_safe, k, n).total);
  return static_cast<size_t>(bytes);
}

size_t gemm_int8_scratch_bytes(const Leaves& leaf, int64_t m, int64_t n, int64_t k, int threads) {
  size_t most = 0;
  for (const Int8Kernel* kernel : {&leaf.dense, &leaf.pair_safe}) {
    if (kernel->tile == nullptr) continue;
    const Packing pack = packing(*kernel, k, n);
    const Grid grid = cut_grid(m, n, kernel->nr, kernel->mr, threads);
    most = std::max(most, worker_bytes(*kernel, m, pack) * static_cast<size_t>(grid.parts()));
  }
  return most;
}

void gemm_int8(const Leaves& leaf, const PackedInt8& b, const GemmInt8& args, void* scratch, int threads) {
  if (args.m <= 0 || b.n <= 0) return;
  const Int8Kernel& kernel = kernel_of(leaf, b);
  const Packing pack = packing(kernel, b.k, b.n);
  const Grid grid = cut_grid(args.m, b.n, kernel.nr, kernel.mr, threads);
  const int32_t b_shift = b.source_unsigned ? 128 : 0;
  const int32_t a_shift = !kernel.widen_a && args.a_signed ? 128 : 0;
  const bool b_zero = args.b_zero_points != nullptr || args.b_zero_point != b_shift;
  const bool a_zero = args.a_zero_points != nullptr || args.a_zero_point + a_shift != 0;
  const bool copy_a = kernel.widen_a || args.a_signed || b.k % kernel.k_group != 0 || b_zero;
  const Worker worker{leaf, kernel, b, args, pack, copy_a, a_zero || b_zero, b_zero, a_shift, b_shift};
  const size_t bytes = worker_bytes(kernel, args.m, pack);
  parallel_for(threads, grid.parts(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t mi = i / grid.n_parts, ni = i % grid.n_parts;
      worker.run(part_begin(args.m, mi, grid.m_parts), part_begin(args.m, mi + 1, grid.m_parts),
                 part_begin(pack.panels, ni, grid.n_parts), part_begin(pack.panels, ni + 1, grid.n_parts),
                 static_cast<std::byte*>(scratch) + bytes * static_cast<size_t>(i));
    }
  });
}

void pack_int8(const Leaves& leaf, int64_t k, int64_t n, const void* src, int64_t stride, bool source_unsigned,
               bool transposed, void* dst, int threads) {
  const Source from{static_cast<const uint8_t*>(src), stride, transposed,
                    static_cast<uint8_t>(source_unsigned ? 0x80 : 0)};
  auto* bytes = static_cast<int8_t*>(dst);
  std::memset(dst, 0, sizeof(Header));
  bool safe = false;
  if (leaf.pair_safe.tile != nullptr) {
    const Packing pack = packing(leaf.pair_safe, k, n);
    std::atomic<bool> fits = true;
    parallel_for(threads, pack.panels, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end && fits; ++p)
        if (!pack_panel(leaf.pair_safe, pack, k, n, from, p, bytes)) fits = false;
    });
    safe = fits;
  }
  if (!safe) {
    const Packing pack = packing(leaf.dense, k, n);
    parallel_for(threads, pack.panels, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) pack_panel(leaf.dense, pack, k, n, from, p, bytes);
    });
  }
  static_cast<Header*>(dst)->pair_safe = safe ? 1 : 0;
  // Bytes that this kernel does not need are zeros, so that equal weights pack to equal bytes.
  const auto used = static_cast<size_t>(packing(safe ? leaf.pair_safe : leaf.dense, k, n).total);
  std::memset(bytes + used, 0, packed_int8_bytes(leaf, k, n) - used);
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
