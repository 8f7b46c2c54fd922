#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/epilogue.h"
#include "kernels/isa.h"

namespace assay::kernels {

/// Int8 weights [K, N] in the order a level's kernel reads them. A view: the bytes belong to the caller, hold no
/// pointers, and may be written to a file and mapped again (with the same isa, k, n and source_unsigned).
struct PackedInt8 {
  Isa isa = Isa::kScalar;
  int64_t k = 0, n = 0;
  bool source_unsigned = false;  ///< the weights were uint8: stored minus 128, which the kernels take back
  const void* data = nullptr;    ///< packed_int8_bytes(isa, k, n) bytes, 64-byte aligned
};

/// Bytes that pack_int8 writes for [K, N] weights.
size_t packed_int8_bytes(Isa isa, int64_t k, int64_t n);
/// Packs int8 (or uint8 when `source_unsigned`) weights into `dst`. `src` is [K, N] with row stride `stride`, or [N, K]
/// with row stride `stride` when `transposed`.
PackedInt8 pack_int8(Isa isa, int64_t k, int64_t n, const void* src, int64_t stride, bool source_unsigned,
                     bool transposed, void* dst, int threads);

/// One int8 product: acc[m,n] = sum_k (A[m,k] - a_zp[m]) * (B[k,n] - b_zp[n]), exact in int32 (modulo 2^32) on every
/// level. With dst_i32 set, acc is stored; else acc * (a_scale[m] * b_scale[n]) goes through the epilogue.
struct GemmInt8 {
  int64_t m = 0;
  const void* a = nullptr;  ///< [M, K] uint8, or int8 when a_signed
  int64_t a_stride = 0;     ///< elements between rows, >= K
  bool a_signed = false;
  int32_t a_zero_point = 0;                ///< used when a_zero_points is null
  const int32_t* a_zero_points = nullptr;  ///< [M] or null
  float a_scale = 1.0f;                    ///< used when a_scales is null
  const float* a_scales = nullptr;         ///< [M] or null
  int32_t b_zero_point = 0;                ///< used when b_zero_points is null; of the weights as given to pack_int8
  const int32_t* b_zero_points = nullptr;  ///< [N] or null
  float b_scale = 1.0f;                    ///< used when b_scales is null
  const float* b_scales = nullptr;         ///< [N] or null
  int32_t* dst_i32 = nullptr;              ///< [M, N] with row stride dst_i32_stride: raw sums, no epilogue
  int64_t dst_i32_stride = 0;
  Epilogue epilogue;
};

/// Bytes of scratch for gemm_int8 on these sizes and this many threads (64-byte aligned memory; may be 0).
size_t gemm_int8_scratch_bytes(Isa isa, int64_t m, int64_t n, int64_t k, int threads);
/// Runs one product with packed weights. The bits of a row depend on that row alone.
void gemm_int8(const PackedInt8& b, const GemmInt8& args, void* scratch, int threads);

}  // namespace assay::kernels
