#pragma once

#include "kernels/isa/leaves.h"
#include "kernels/kernels.h"

// The drivers over an explicit table instead of a level, so that tests run them on emulated kernels too.

namespace assay::kernels {

size_t packed_int8_bytes(const Leaves& leaf, int64_t k, int64_t n);
void pack_int8(const Leaves& leaf, int64_t k, int64_t n, const void* src, int64_t stride, bool source_unsigned,
               bool transposed, void* dst, int threads);
size_t gemm_int8_scratch_bytes(const Leaves& leaf, int64_t m, int64_t n, int64_t k, int threads);
void gemm_int8(const Leaves& leaf, const PackedInt8& b, const GemmInt8& args, void* scratch, int threads);

size_t packed_f32_bytes(const Leaves& leaf, int64_t k, int64_t n);
void pack_f32(const Leaves& leaf, int64_t k, int64_t n, const float* src, int64_t stride, bool transposed, float* dst,
              int threads);
size_t gemm_f32_packed_scratch_bytes(const Leaves& leaf, int64_t m, int64_t n, int64_t k, int threads);
void gemm_f32_packed(const Leaves& leaf, const PackedF32& b, int64_t m, const float* a, int64_t a_stride,
                     const Epilogue& epilogue, void* scratch, int threads);
size_t gemm_f32_scratch_bytes(const Leaves& leaf, const GemmF32& args, int threads);
void gemm_f32(const Leaves& leaf, const GemmF32& args, void* scratch, int threads);

size_t attention_scratch_bytes(const Leaves& leaf, int64_t max_keys, int64_t head_dim, int64_t value_dim, int threads);
void attention_f32(const Leaves& leaf, const Attention& args, int64_t max_keys, void* scratch, int threads);

void norm_f32(const Leaves& leaf, const Norm& args, int threads);
void quantize_rows_u8(const Leaves& leaf, int64_t rows, int64_t n, const float* src, int64_t src_stride, uint8_t* dst,
                      int64_t dst_stride, float* scales, int32_t* zero_points, int threads);

}  // namespace assay::kernels
