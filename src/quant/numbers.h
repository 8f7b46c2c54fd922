#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace assay::quant {

/// Codes from lo to hi, both used.
struct CodeRange {
  int32_t lo = 0;
  int32_t hi = 0;
};

/// The codes a range is spread over: the whole type; -127..127 for symmetric int8; with `reduced` 7 bits (0..127 and
/// -64..64), which wins over symmetric. InvalidArgument for a type other than int8 and uint8.
CodeRange code_range(DType dtype, bool symmetric, bool reduced);
/// All codes of int8 or uint8: what a value saturates to.
CodeRange full_range(DType dtype);

/// real = scale * (code - zero_point). The scale is finite and > 0, always.
struct ScaleZero {
  float scale = 1.0f;
  int32_t zero_point = 0;
  bool operator==(const ScaleZero&) const = default;
};

/// Scale and zero point that cover [lo, hi] and zero: lo = min(lo, 0), hi = max(hi, 0), both mirrored when symmetric;
/// scale = (hi - lo) / (codes.hi - codes.lo) in double; 1 and zero point 0 when that is below the smallest normal
/// float. zero_point = round(codes.lo - lo / scale), half to even (the middle of the codes when symmetric). Numeric
/// when an end is NaN or infinite.
ScaleZero scale_zero(float lo, float hi, CodeRange codes, bool symmetric);

/// The finite smallest and largest of some values, and how many were not finite.
struct MinMax {
  float lo = 0.0f;
  float hi = 0.0f;
  int64_t finite = 0;
  int64_t not_finite = 0;
};
MinMax min_max(const float* data, int64_t n, int threads);

/// How a weight is cut: one scale (axis < 0) or one for each index of `axis`.
struct WeightSpec {
  DType dtype = DType::kInt8;
  bool symmetric = true;
  bool reduced = false;
  int axis = -1;
  bool operator==(const WeightSpec&) const = default;
  auto operator<=>(const WeightSpec&) const = default;
};

/// Integer codes of a weight with their parameters. `scales` and `zero_points` have one entry, or one per channel.
struct QuantizedTensor {
  WeightSpec spec;
  Tensor codes;
  std::vector<float> scales;
  std::vector<int32_t> zero_points;
};

/// Round to nearest of a float32, float16 or bfloat16 tensor. Numeric when a value is not finite. `min_scales` (empty,
/// or one per channel) are lower bounds on symmetric scales.
QuantizedTensor quantize_tensor(const TensorView& weight, const WeightSpec& spec, int threads,
                                const std::vector<float>& min_scales = {});
/// The same with given parameters.
QuantizedTensor quantize_tensor(const TensorView& weight, const WeightSpec& spec, const std::vector<ScaleZero>& params,
                                int threads);
/// float32 values of the codes.
Tensor dequantize(const QuantizedTensor& q);

/// 20 log10(||x|| / ||x - y||): signal over quantization noise in dB. +infinity when equal, 0 for an all-zero signal
/// with noise.
double sqnr_db(double signal_energy, double noise_energy);
double sqnr_db(const float* x, const float* y, int64_t n);

}  // namespace assay::quant
