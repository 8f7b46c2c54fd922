#include "kernels/isa/intrinsics.h"
#include "kernels/isa/kernel_list.h"

namespace assay::kernels {

extern const Int8Leaves ASSAY_KERNEL(kGemmU8S8S32Avx512Vnni);

namespace {

#include "kernels/isa/gemm_vnni.inc"

constexpr int kMr = 12, kNr = 32;

/// b: [k groups][32 columns][4] int8; a: uint8 rows. Twelve rows: 24 sums, two vectors of B, one of A.
template <int kRows, int kPanels>
void tile(int64_t groups, const char* a, int64_t a_stride, const int8_t* b, int64_t panel_bytes, int32_t* c,
          int64_t c_stride) {
  __m512i acc[kRows][kPanels * 2];
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kPanels * 2; ++v) acc[r][v] = _mm512_setzero_si512();
  for (int64_t i = 0; i < groups; ++i) {
    __m512i bv[kPanels * 2];
    for (int p = 0; p < kPanels; ++p) {
      bv[2 * p] = _mm512_loadu_si512(b + p * panel_bytes);
      bv[2 * p + 1] = _mm512_loadu_si512(b + p * panel_bytes + 64);
    }
    for (int r = 0; r < kRows; ++r) {
      int32_t four;
      __builtin_memcpy(&four, a + r * a_stride + i * 4, 4);
      const __m512i av = _mm512_set1_epi32(four);
      for (int v = 0; v < kPanels * 2; ++v) acc[r][v] = _mm512_dpbusd_epi32(acc[r][v], av, bv[v]);
    }
    b += 128;
  }
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kPanels * 2; ++v) _mm512_storeu_si512(c + r * c_stride + v * 16, acc[r][v]);
}

int tile_panels(int rows) { return rows == 1 ? 4 : rows <= 3 ? 3 : rows <= 6 ? 2 : 1; }

template <int kRows, int kPanels>
void tile_of(int panels, int64_t groups, const char* a, int64_t a_stride, const int8_t* b, int64_t panel_bytes,
             int32_t* c, int64_t c_stride) {
  if (panels == kPanels) {
    tile<kRows, kPanels>(groups, a, a_stride, b, panel_bytes, c, c_stride);
  } else {
    for (int p = 0; p < panels; ++p)
      tile<kRows, 1>(groups, a, a_stride, b + p * panel_bytes, panel_bytes, c + p * kNr, c_stride);
  }
}

void gemm_int8_tile(int rows, int panels, int64_t k_groups, const void* a, int64_t a_stride, const int8_t* b,
                    int64_t panel_bytes, int32_t* c, int64_t c_stride) {
  const char* from = static_cast<const char*>(a);
  switch (rows) {
    case 1:
      return tile_of<1, 4>(panels, k_groups, from, a_stride, b, panel_bytes, c, c_stride);
    case 2:
      return tile_of<2, 3>(panels, k_groups, from, a_stride, b, panel_bytes, c, c_stride);
    case 3:
      return tile_of<3, 3>(panels, k_groups, from, a_stride, b, panel_bytes, c, c_stride);
    case 4:
      return tile_of<4, 2>(panels, k_groups, from, a_stride, b, panel_bytes, c, c_stride);
    case 5:
      return tile_of<5, 2>(panels, k_groups, from, a_stride, b, panel_bytes, c, c_stride);
    case 6:
      return tile_of<6, 2>(panels, k_groups, from, a_stride, b, panel_bytes, c, c_stride);
    case 7:
      return tile_of<7, 1>(panels, k_groups, from, a_stride, b, panel_bytes, c, c_stride);
    case 8:
      return tile_of<8, 1>(panels, k_groups, from, a_stride, b, panel_bytes, c, c_stride);
    case 9:
      return tile_of<9, 1>(panels, k_groups, from, a_stride, b, panel_bytes, c, c_stride);
    case 10:
      return tile_of<10, 1>(panels, k_groups, from, a_stride, b, panel_bytes, c, c_stride);
    case 11:
      return tile_of<11, 1>(panels, k_groups, from, a_stride, b, panel_bytes, c, c_stride);
    default:
      return tile_of<12, 1>(panels, k_groups, from, a_stride, b, panel_bytes, c, c_stride);
  }
}

}  // namespace

const Int8Leaves ASSAY_KERNEL(kGemmU8S8S32Avx512Vnni) = {.int8 = {.mr = kMr, .nr = kNr, .k_group = 4, .widen_a = false},
                                                         .gemm_int8_tile = gemm_int8_tile,
                                                         .int8_tile_panels = tile_panels,
                                                         .int8_row = int8_row};

}  // namespace assay::kernels
