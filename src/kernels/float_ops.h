#pragma once

#include <cstdint>

#include "kernels/epilogue.h"
#include "kernels/isa.h"

namespace assay::kernels {

// Every function here gives the same bits on every level and thread count: sums run over 16 interleaved lanes that are
// added in a fixed tree, and the polynomials are evaluated with the same fused multiply-adds.

/// dst[i] = f(src[i]); in place is fine. Errors against the exact function: exp, sigmoid, erf, tanh 4 ulp (exp and
/// sigmoid where the result is normal); gelu and silu 4 ulp where x > 0 and 2e-7 absolute elsewhere. NaN stays NaN
/// (relu too).
void unary_f32(Isa isa, Unary op, int64_t n, const float* src, float* dst, int threads);

/// LayerNorm or RMSNorm over the last axis of [rows, n].
struct Norm {
  int64_t rows = 0, n = 0;
  const float* src = nullptr;
  int64_t src_stride = 0;
  const float* residual = nullptr;  ///< added to src first when set
  int64_t residual_stride = 0;
  float* sum_out = nullptr;  ///< receives src + residual when set
  int64_t sum_stride = 0;
  const float* gamma = nullptr;  ///< [n] or null for 1
  const float* beta = nullptr;   ///< [n] or null for 0
  float eps = 1e-5f;
  bool rms = false;      ///< x / sqrt(mean(x^2) + eps): no mean taken off
  float* dst = nullptr;  ///< [rows, n]; may be src
  int64_t dst_stride = 0;
  uint8_t* q = nullptr;  ///< when set: each row of dst also quantized as by quantize_rows_u8
  int64_t q_stride = 0;
  float* q_scales = nullptr;         ///< [rows]
  int32_t* q_zero_points = nullptr;  ///< [rows]
};
void norm_f32(Isa isa, const Norm& args, int threads);

/// Softmax over the last axis of [rows, n] (contiguous). `mask`, when set, is added first: row r reads
/// mask + (r / mask_repeat % mask_rows) * n. A row of -infinity gives NaN, as IEEE arithmetic does.
void softmax_f32(Isa isa, int64_t rows, int64_t n, const float* src, const float* mask, int64_t mask_repeat,
                 int64_t mask_rows, float* dst, int threads);

}  // namespace assay::kernels
