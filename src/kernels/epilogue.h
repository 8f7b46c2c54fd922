#pragma once

#include <cstdint>

namespace assay::kernels {

/// Element-wise functions of one argument. What each computes, and how exactly, is said at unary_f32.
enum class Unary : uint8_t { kNone, kRelu, kGeluErf, kGeluTanh, kErf, kTanh, kSigmoid, kSilu, kExp };

/// Element type of a stored result.
enum class OutType : uint8_t { kF32, kU8, kS8 };

/// What a matrix product does to each tile of its float result while the tile is hot, in this order:
///   v = acc + bias[n];  v = activation(v);  v = v + residual[m,n];  v = final_activation(v);
///   dst[m,n] = v, or saturate(round_half_even(v / out_scale) + out_zero_point) for kU8 and kS8.
/// `dst` may be the residual itself.
struct Epilogue {
  const float* bias = nullptr;  ///< [N] or null
  Unary activation = Unary::kNone;
  const float* residual = nullptr;  ///< [M, N] with row stride residual_stride, or null
  int64_t residual_stride = 0;      ///< elements
  Unary final_activation = Unary::kNone;
  OutType out_type = OutType::kF32;
  void* dst = nullptr;     ///< [M, N] of out_type with row stride dst_stride
  int64_t dst_stride = 0;  ///< elements
  float out_scale = 1.0f;  ///< > 0; used by kU8 and kS8
  int32_t out_zero_point = 0;
};

}  // namespace assay::kernels
