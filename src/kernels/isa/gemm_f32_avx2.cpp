#include "kernels/isa/intrinsics.h"
#include "kernels/isa/kernel_list.h"

namespace assay::kernels {
namespace {

#include "kernels/isa/transpose_avx2.inc"

constexpr int kMr = 6, kNr = 16;

/// kRows x (kPanels * 16) outputs held in registers: each a chain of fused multiply-adds over k in order.
template <int kRows, int kPanels>
void tile(int64_t k, const float* a, int64_t a_stride, const float* b, int64_t b_stride, int64_t panel_stride, float* c,
          int64_t c_stride, bool accumulate) {
  __m256 acc[kRows][kPanels * 2];
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kPanels * 2; ++v)
      acc[r][v] = accumulate ? _mm256_loadu_ps(c + r * c_stride + v * 8) : _mm256_setzero_ps();
  for (int64_t i = 0; i < k; ++i) {
    __m256 bv[kPanels * 2];
    for (int p = 0; p < kPanels; ++p) {
      bv[2 * p] = _mm256_loadu_ps(b + p * panel_stride);
      bv[2 * p + 1] = _mm256_loadu_ps(b + p * panel_stride + 8);
    }
    for (int r = 0; r < kRows; ++r) {
      const __m256 av = _mm256_broadcast_ss(a + r * a_stride + i);
      for (int v = 0; v < kPanels * 2; ++v) acc[r][v] = _mm256_fmadd_ps(av, bv[v], acc[r][v]);
    }
    b += b_stride;
  }
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kPanels * 2; ++v) _mm256_storeu_ps(c + r * c_stride + v * 8, acc[r][v]);
}

// One row keeps four panels going (eight chains), two rows three: enough to hide the latency of the multiply-add.
int tile_panels(int rows) { return rows == 1 ? 4 : rows == 2 ? 3 : rows == 3 ? 2 : 1; }

template <int kRows, int kPanels>
void tile_of(int panels, int64_t k, const float* a, int64_t a_stride, const float* b, int64_t b_stride,
             int64_t panel_stride, float* c, int64_t c_stride, bool accumulate) {
  if (panels == kPanels) {
    tile<kRows, kPanels>(k, a, a_stride, b, b_stride, panel_stride, c, c_stride, accumulate);
  } else {
    for (int p = 0; p < panels; ++p)
      tile<kRows, 1>(k, a, a_stride, b + p * panel_stride, b_stride, panel_stride, c + p * kNr, c_stride, accumulate);
  }
}

void gemm_f32_tile(int rows, int panels, int64_t k, const float* a, int64_t a_stride, const float* b, int64_t b_stride,
                   int64_t panel_stride, float* c, int64_t c_stride, bool accumulate) {
  switch (rows) {
    case 1:
      return tile_of<1, 4>(panels, k, a, a_stride, b, b_stride, panel_stride, c, c_stride, accumulate);
    case 2:
      return tile_of<2, 3>(panels, k, a, a_stride, b, b_stride, panel_stride, c, c_stride, accumulate);
    case 3:
      return tile_of<3, 2>(panels, k, a, a_stride, b, b_stride, panel_stride, c, c_stride, accumulate);
    case 4:
      return tile_of<4, 1>(panels, k, a, a_stride, b, b_stride, panel_stride, c, c_stride, accumulate);
    case 5:
      return tile_of<5, 1>(panels, k, a, a_stride, b, b_stride, panel_stride, c, c_stride, accumulate);
    default:
      return tile_of<6, 1>(panels, k, a, a_stride, b, b_stride, panel_stride, c, c_stride, accumulate);
  }
}

}  // namespace

const F32Leaves kGemmF32Avx2 = {.f32_mr = kMr,
                                .f32_nr = kNr,
                                .gemm_f32_tile = gemm_f32_tile,
                                .f32_tile_panels = tile_panels,
                                .transpose_panel = transpose_panel};

}  // namespace assay::kernels
