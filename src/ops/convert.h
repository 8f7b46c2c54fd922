#pragma once

#include <cmath>
#include <limits>

#include "ops/support.h"

namespace assay {

/// A float as an integer: truncated towards zero, beyond the range the nearest end, NaN 0.
template <typename T>
T saturate_cast(double v) {
  if (v != v) return 0;
  constexpr T kMin = std::numeric_limits<T>::min();
  constexpr T kMax = std::numeric_limits<T>::max();
  if (v <= static_cast<double>(kMin)) return kMin;
  // The upper end may round up to a double outside the type.
  if (v >= static_cast<double>(kMax)) return kMax;
  return static_cast<T>(v);
}

/// Element i of a sub-byte integer tensor (int4, uint4, int2, uint2), which packs the first element into the low bits.
int32_t read_packed(const void* data, DType dtype, int64_t i);
/// Writes it; neighbours keep their bits. Not safe from two threads for elements of one byte.
void write_packed(void* data, DType dtype, int64_t i, int32_t value);

/// The 8- and 4-bit floats: value of a code, and the code nearest to a value (ties to even). Without `saturate`,
/// numbers beyond the range become infinity or NaN as the ONNX Cast page's tables say.
float small_float_value(DType dtype, uint8_t code);
uint8_t small_float_code(DType dtype, float value, bool saturate);
/// float8e8m0 has no sign or fraction; `round_mode` is "up", "down" or "nearest".
uint8_t e8m0_code(float value, bool saturate, std::string_view round_mode);
/// float8*, float4e2m1.
bool is_small_float(DType dtype);
/// int4, uint4, int2, uint2.
bool is_packed_integer(DType dtype);

/// Converts n = src.elements() elements to dst's type, any numeric or bool type to any other (also packed and small
/// floats), by the rules of ONNX Cast. Strings are Cast's own business.
void convert_elements(const TensorView& src, const MutableTensorView& dst, bool saturate,
                      std::string_view round_mode = "up");

}  // namespace assay
