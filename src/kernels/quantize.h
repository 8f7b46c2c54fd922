#pragma once

#include <cstdint>

#include "kernels/isa.h"

namespace assay::kernels {

// Rounding is half to even, after a true division by the scale, as ONNX says; results saturate to the full range of the
// type. Not finite: a dynamic range over a NaN or an infinity has the scale NaN, so that what is computed from it says
// so; with a given scale NaN becomes the zero point and infinities saturate. All levels give the same bits.

/// Scale and zero point of one range by ONNX DynamicQuantizeLinear: lo = min(0, min), hi = max(0, max),
/// scale = (hi - lo) / 255 (1 when that is 0, NaN when a bound is not finite), zero_point = clamp(round(-lo / scale),
/// 0, 255).
struct QuantRange {
  float scale = 1.0f;
  int32_t zero_point = 0;
};
QuantRange dynamic_range_u8(float min, float max);

/// Smallest and largest of n floats, with 0 included (so both are 0 for none); NaN when any is not finite.
void min_max_f32(Isa isa, int64_t n, const float* src, float* min, float* max, int threads);

/// Each row of [rows, n] quantized on its own by dynamic_range_u8. Strides in elements.
void quantize_rows_u8(Isa isa, int64_t rows, int64_t n, const float* src, int64_t src_stride, uint8_t* dst,
                      int64_t dst_stride, float* scales, int32_t* zero_points, int threads);
/// ONNX DynamicQuantizeLinear on a whole tensor.
QuantRange quantize_dynamic_u8(Isa isa, int64_t n, const float* src, uint8_t* dst, int threads);

/// QuantizeLinear over [outer, channels, inner]: scale and zero point of channel c are scales[c], zero_points[c] (null:
/// 0). dst is uint8, or int8 when `is_signed`. Per tensor: outer = channels = 1.
void quantize_linear(Isa isa, int64_t outer, int64_t channels, int64_t inner, const float* src, const float* scales,
                     const int32_t* zero_points, bool is_signed, void* dst, int threads);
/// DequantizeLinear, the same way: (src - zero_point) * scale.
void dequantize_linear(Isa isa, int64_t outer, int64_t channels, int64_t inner, const void* src, bool is_signed,
                       const float* scales, const int32_t* zero_points, float* dst, int threads);
/// DequantizeLinear of int32 (biases).
void dequantize_linear_i32(Isa isa, int64_t outer, int64_t channels, int64_t inner, const int32_t* src,
                           const float* scales, const int32_t* zero_points, float* dst, int threads);

}  // namespace assay::kernels
