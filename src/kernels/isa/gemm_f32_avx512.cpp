#include "kernels/isa/intrinsics.h"
#include "kernels/isa/kernel_list.h"

namespace assay::kernels {

extern const F32Leaves ASSAY_KERNEL(kGemmF32Avx512);

namespace {

#include "kernels/isa/transpose_avx2.inc"

constexpr int kMr = 12, kNr = 32;

/// kRows x (kPanels * 32) outputs held in registers: each a chain of fused multiply-adds over k in order.
template <int kRows, int kPanels>
void tile(int64_t k, const float* a, int64_t a_stride, const float* b, int64_t b_stride, int64_t panel_stride, float* c,
          int64_t c_stride, bool accumulate) {
  __m512 acc[kRows][kPanels * 2];
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kPanels * 2; ++v)
      acc[r][v] = accumulate ? _mm512_loadu_ps(c + r * c_stride + v * 16) : _mm512_setzero_ps();
  for (int64_t i = 0; i < k; ++i) {
    __m512 bv[kPanels * 2];
    for (int p = 0; p < kPanels; ++p) {
      bv[2 * p] = _mm512_loadu_ps(b + p * panel_stride);
      bv[2 * p + 1] = _mm512_loadu_ps(b + p * panel_stride + 16);
    }
    for (int r = 0; r < kRows; ++r) {
      const __m512 av = _mm512_set1_ps(a[r * a_stride + i]);
      for (int v = 0; v < kPanels * 2; ++v) acc[r][v] = _mm512_fmadd_ps(av, bv[v], acc[r][v]);
    }
    b += b_stride;
  }
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kPanels * 2; ++v) _mm512_storeu_ps(c + r * c_stride + v * 16, acc[r][v]);
}

int tile_panels(int rows) { return rows == 1 ? 4 : rows <= 3 ? 3 : rows <= 6 ? 2 : 1; }

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
      return tile_of<3, 3>(panels, k, a, a_stride, b, b_stride, panel_stride, c, c_stride, accumulate);
    case 4:
      return tile_of<4, 2>(panels, k, a, a_stride, b, b_stride, panel_stride, c, c_stride, accumulate);
    case 5:
      return tile_of<5, 2>(panels, k, a, a_stride, b, b_stride, panel_stride, c, c_stride, accumulate);
    case 6:
      return tile_of<6, 2>(panels, k, a, a_stride, b, b_stride, panel_stride, c, c_stride, accumulate);
    case 7:
      return tile_of<7, 1>(panels, k, a, a_stride, b, b_stride, panel_stride, c, c_stride, accumulate);
    case 8:
      return tile_of<8, 1>(panels, k, a, a_stride, b, b_stride, panel_stride, c, c_stride, accumulate);
    case 9:
      return tile_of<9, 1>(panels, k, a, a_stride, b, b_stride, panel_stride, c, c_stride, accumulate);
    case 10:
      return tile_of<10, 1>(panels, k, a, a_stride, b, b_stride, panel_stride, c, c_stride, accumulate);
    case 11:
      return tile_of<11, 1>(panels, k, a, a_stride, b, b_stride, panel_stride, c, c_stride, accumulate);
    default:
      return tile_of<12, 1>(panels, k, a, a_stride, b, b_stride, panel_stride, c, c_stride, accumulate);
  }
}

}  // namespace

const F32Leaves ASSAY_KERNEL(kGemmF32Avx512) = {.f32_mr = kMr,
                                                .f32_nr = kNr,
                                                .gemm_f32_tile = gemm_f32_tile,
                                                .f32_tile_panels = tile_panels,
                                                .transpose_panel = transpose_panel};

}  // namespace assay::kernels
