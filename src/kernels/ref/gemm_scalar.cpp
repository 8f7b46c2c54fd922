#include <cmath>

#include "kernels/isa/kernel_list.h"

namespace assay::kernels {
namespace {

constexpr int kNr = 16;

int one_panel(int) { return 1; }

void gemm_int8_tile(int rows, int panels, int64_t k_groups, const void* a, int64_t a_stride, const int8_t* b,
                    int64_t panel_bytes, int32_t* c, int64_t c_stride) {
  for (int r = 0; r < rows; ++r) {
    const int16_t* row = reinterpret_cast<const int16_t*>(static_cast<const char*>(a) + r * a_stride);
    for (int j = 0; j < panels * kNr; ++j) {
      const int8_t* col = b + j / kNr * panel_bytes + j % kNr;
      uint32_t sum = 0;
      for (int64_t k = 0; k < k_groups; ++k) sum += static_cast<uint32_t>(int32_t{row[k]} * int32_t{col[k * kNr]});
      c[r * c_stride + j] = static_cast<int32_t>(sum);
    }
  }
}

int32_t int8_row(int64_t k, int64_t k_padded, const void* src, bool is_signed, void* dst) {
  int16_t* out = static_cast<int16_t*>(dst);
  uint32_t sum = 0;
  for (int64_t i = 0; i < k_padded; ++i) {
    int v = 0;
    if (i < k) v = is_signed ? static_cast<const int8_t*>(src)[i] : static_cast<const uint8_t*>(src)[i];
    out[i] = static_cast<int16_t>(v);
    sum += static_cast<uint32_t>(v);
  }
  return static_cast<int32_t>(sum);
}

void gemm_f32_tile(int rows, int panels, int64_t k, const float* a, int64_t a_stride, const float* b, int64_t b_stride,
                   int64_t panel_stride, float* c, int64_t c_stride, bool accumulate) {
  for (int r = 0; r < rows; ++r)
    for (int j = 0; j < panels * kNr; ++j) {
      const float* col = b + j / kNr * panel_stride + j % kNr;
      float sum = accumulate ? c[r * c_stride + j] : 0.0f;
      for (int64_t i = 0; i < k; ++i) sum = std::fma(a[r * a_stride + i], col[i * b_stride], sum);
      c[r * c_stride + j] = sum;
    }
}

void transpose_panel(int64_t k, int cols, int nr, const float* src, int64_t src_stride, float* dst) {
  for (int64_t i = 0; i < k; ++i)
    for (int j = 0; j < nr; ++j) dst[i * nr + j] = j < cols ? src[j * src_stride + i] : 0.0f;
}

}  // namespace

const F32Leaves kGemmF32Scalar = {.f32_mr = 4,
                                  .f32_nr = kNr,
                                  .gemm_f32_tile = gemm_f32_tile,
                                  .f32_tile_panels = one_panel,
                                  .transpose_panel = transpose_panel};

const Int8Leaves kGemmS16S8S32Scalar = {.dense = {.mr = 4,
                                                  .nr = kNr,
                                                  .k_group = 1,
                                                  .widen_a = true,
                                                  .tile = gemm_int8_tile,
                                                  .tile_panels = one_panel,
                                                  .row = int8_row},
                                        .pair_safe = {}};

}  // namespace assay::kernels
