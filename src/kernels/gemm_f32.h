#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/epilogue.h"
#include "kernels/isa.h"

namespace assay::kernels {

/// Float weights [K, N] in panels of a level's tile width. A view: the bytes belong to the caller and hold no pointers.
struct PackedF32 {
  Isa isa = Isa::kScalar;
  int64_t k = 0, n = 0;
  const float* data = nullptr;  ///< packed_f32_bytes(isa, k, n) bytes, 64-byte aligned
};

/// Bytes that pack_f32 writes for [K, N] weights.
size_t packed_f32_bytes(Isa isa, int64_t k, int64_t n);
/// Packs weights into `dst`. `src` is [K, N] with row stride `stride`, or [N, K] when `transposed`.
PackedF32 pack_f32(Isa isa, int64_t k, int64_t n, const float* src, int64_t stride, bool transposed, float* dst,
                   int threads);

/// Bytes of scratch for gemm_f32_packed (64-byte aligned).
size_t gemm_f32_packed_scratch_bytes(Isa isa, int64_t m, int64_t n, int64_t k, int threads);
/// epilogue(A [M, K] * B). Every output is one chain of fused multiply-adds over k in order, so all levels, thread
/// counts and values of M give the same bits.
void gemm_f32_packed(const PackedF32& b, int64_t m, const float* a, int64_t a_stride, const Epilogue& epilogue,
                     void* scratch, int threads);

/// A batch of products of two activations: dst[i] = alpha * op(A[i]) * op(B[i]), then the epilogue's steps.
struct GemmF32 {
  int64_t batch = 1, m = 0, n = 0, k = 0;
  const float* a = nullptr;  ///< op(A) is [M, K]: A is [M, K], or [K, M] when trans_a; row stride a_stride
  int64_t a_stride = 0;
  bool trans_a = false;
  const float* b = nullptr;  ///< op(B) is [K, N]: B is [K, N], or [N, K] when trans_b; row stride b_stride
  int64_t b_stride = 0;
  bool trans_b = false;
  /// Element offset of each batch item, or null for item * *_batch (0 broadcasts).
  const int64_t* a_offsets = nullptr;
  const int64_t* b_offsets = nullptr;
  int64_t a_batch = 0, b_batch = 0, dst_batch = 0;
  float alpha = 1.0f;
  Epilogue epilogue;  ///< dst of item i is at epilogue.dst + i * dst_batch elements; residual likewise
};

size_t gemm_f32_scratch_bytes(Isa isa, const GemmF32& args, int threads);
void gemm_f32(Isa isa, const GemmF32& args, void* scratch, int threads);

}  // namespace assay::kernels
