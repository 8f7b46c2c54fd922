#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/epilogue.h"
#include "kernels/isa.h"

namespace assay::kernels {

/// Columns of one attention or epilogue row are worked in vectors of this many lanes on every level.
constexpr int kLanes = 16;
/// The widest tile of any level: columns of a panel, rows of a tile, panels side by side.
constexpr int kMaxNr = 32, kMaxMr = 12, kMaxTilePanels = 4;

/// One way to multiply int8 matrices. Packed weights are panels of `nr` columns; a panel holds groups of `k_group`
/// consecutive k per column: [groups][nr][k_group].
struct Int8Kernel {
  int mr = 1, nr = 16, k_group = 1;
  bool widen_a = false;  ///< the tile wants A as int16, else as uint8 (int8 A is shifted by 128)
  /// c[r, j] = sum over k of A[r, k] * B[k, j] for `rows` (1..mr) rows and panels * nr columns; k_groups groups.
  /// a: rows of int16 or uint8 at a stride of `a_stride` bytes, zero-padded to whole groups; b: panels at panel_bytes.
  void (*tile)(int rows, int panels, int64_t k_groups, const void* a, int64_t a_stride, const int8_t* b,
               int64_t panel_bytes, int32_t* c, int64_t c_stride) = nullptr;
  /// How many panels side by side serve `rows` rows best.
  int (*tile_panels)(int rows) = nullptr;
  /// One row of A made ready: dst int16 (widen_a) or uint8 (plus 128 when signed), padded with zeros to k_padded.
  /// Returns the sum of the row's k values in dst.
  int32_t (*row)(int64_t k, int64_t k_padded, const void* src, bool is_signed, void* dst) = nullptr;
  /// One panel, to which is added the sum over extra groups e of A[r, groups[e]] * extra[e, j]: what pair-safe weights
  /// leave over.
  void (*extra_tile)(int rows, int64_t k_groups, const void* a, int64_t a_stride, const int8_t* b, int count,
                     const int32_t* groups, const int8_t* extra, int32_t* c, int64_t c_stride) = nullptr;
};

/// The int8 products of a level. `dense` takes any weights. `pair_safe`, where it has a tile, is faster but sums two
/// products in 16 bits: its weights are clipped to what cannot saturate, and the rest is in extra groups. Chosen when
/// packing.
struct Int8Leaves {
  Int8Kernel dense, pair_safe;
};

/// The float product.
struct F32Leaves {
  int f32_mr = 1, f32_nr = 16;
  /// c[r, j] (+)= sum over k of a[r * a_stride + k] * b[k * b_stride + j], j < nr, and panels beside at panel_stride.
  void (*gemm_f32_tile)(int rows, int panels, int64_t k, const float* a, int64_t a_stride, const float* b,
                        int64_t b_stride, int64_t panel_stride, float* c, int64_t c_stride, bool accumulate) = nullptr;
  int (*f32_tile_panels)(int rows) = nullptr;
  /// dst[k * nr + j] = src[j * src_stride + k] for j < cols, 0 for cols <= j < nr (nr a multiple of 16).
  void (*transpose_panel)(int64_t k, int cols, int nr, const float* src, int64_t src_stride, float* dst) = nullptr;
};

/// What turns raw int8 sums of a tile into values: acc -= a_zero_points[r] * b_sums[j] + b_zero_points[j] * a_sums[r]
/// (int32, wrapping), then the scales. Row values of the tile's rows; column values padded to whole vectors.
struct IntCorrection {
  bool any = true;  ///< false: no zero point anywhere
  const int32_t* a_zero_points = nullptr;
  const int32_t* a_sums = nullptr;  ///< sums of A's rows less K * a_zero_points
  const float* a_scales = nullptr;
  const int32_t* b_sums = nullptr;
  const int32_t* b_zero_points = nullptr;  ///< null for 0
  const float* b_scales = nullptr;
};

/// Float work on tiles, elements and rows.
struct FloatLeaves {
  // --- epilogues of a tile: rows [m0, m0+rows), columns [n0, n0+cols) of the result
  void (*epilogue_f32)(const Epilogue& e, int rows, int cols, const float* tile, int64_t tile_stride, int64_t m0,
                       int64_t n0, float alpha) = nullptr;
  /// The same on float(acc corrected) * (a_scales[r] * b_scales[j]).
  void (*epilogue_i32)(const Epilogue& e, int rows, int cols, const int32_t* acc, int64_t stride,
                       const IntCorrection& fix, int64_t m0, int64_t n0) = nullptr;
  /// acc[r, j] corrected in place, whole vectors of columns.
  void (*correct_i32)(int rows, int cols, int32_t* acc, int64_t stride, const IntCorrection& fix) = nullptr;

  // --- element-wise and rows
  void (*unary)(Unary op, int64_t n, const float* src, float* dst) = nullptr;
  void (*min_max)(int64_t n, const float* src, float* min, float* max) = nullptr;
  void (*quantize)(int64_t n, const float* src, float scale, int32_t zero_point, bool is_signed, void* dst) = nullptr;
  /// The same with a scale and zero point per element (zero_points may be null).
  void (*quantize_each)(int64_t n, const float* src, const float* scales, const int32_t* zero_points, bool is_signed,
                        void* dst) = nullptr;
  void (*dequantize)(int64_t n, const void* src, bool is_signed, float scale, int32_t zero_point, float* dst) = nullptr;
  void (*dequantize_i32)(int64_t n, const int32_t* src, float scale, int32_t zero_point, float* dst) = nullptr;
  /// One row: sum (when residual or sum_out), then the norm into dst.
  void (*norm_row)(int64_t n, const float* src, const float* residual, float* sum_out, const float* gamma,
                   const float* beta, float eps, bool rms, float* dst) = nullptr;
  void (*softmax_row)(int64_t n, const float* src, const float* mask, float* dst) = nullptr;
  /// In place: x = scale * x + key_mask + bias (either may be null) over n; exp(x - max) with zeros up to n_padded.
  /// Returns 1 / sum, or 0 when every x is -infinity.
  float (*attention_row)(int64_t n, int64_t n_padded, float scale, const float* key_mask, const float* bias,
                         float* x) = nullptr;
  /// dst[j] = src[j] * factor.
  void (*scale_row)(int64_t n, const float* src, float factor, float* dst) = nullptr;
};

/// One level's kernels. A null pointer never occurs in a table that leaves() returns.
struct Leaves : Int8Leaves, F32Leaves, FloatLeaves {
  Isa isa = Isa::kScalar;
};

/// The table of a level. It can be read for layouts on any machine, and called where isa_supported(isa).
const Leaves& leaves(Isa isa);

}  // namespace assay::kernels
