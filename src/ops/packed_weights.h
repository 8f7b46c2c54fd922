#pragma once

#include "kernels/gemm_f32.h"
#include "kernels/gemm_int8.h"
#include "ops/support.h"

namespace assay {

/// A constant float32 matrix packed for gemm_f32_packed, or nothing when the input is computed, not float32 or not a
/// matrix.
class PackedWeights {
 public:
  PackedWeights(const OpInit& init, size_t input, bool transposed);
  explicit operator bool() const { return static_cast<bool>(memory_); }
  const kernels::PackedF32& view() const { return packed_; }

 private:
  Tensor memory_;
  kernels::PackedF32 packed_;
};

/// A constant int8 or uint8 matrix packed for gemm_int8, or nothing.
class PackedInt8Weights {
 public:
  PackedInt8Weights(const OpInit& init, size_t input);
  explicit operator bool() const { return static_cast<bool>(memory_); }
  const kernels::PackedInt8& view() const { return packed_; }

 private:
  Tensor memory_;
  kernels::PackedInt8 packed_;
};

}  // namespace assay
