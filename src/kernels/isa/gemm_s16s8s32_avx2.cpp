#include "kernels/isa/intrinsics.h"
#include "kernels/isa/kernel_list.h"

// Without VNNI the one-instruction u8 x s8 product saturates its pair sums at 16 bits. Widening both sides to int16 and
// multiplying pairs into int32 is exact and, on cores where both multiplies share their ports, as fast.

namespace assay::kernels {
namespace {

constexpr int kMr = 6, kNr = 16;

/// b: [k pairs][16 columns][2] int8; a: int16 rows.
template <int kRows, int kPanels>
void tile(int64_t pairs, const char* a, int64_t a_stride, const int8_t* b, int64_t panel_bytes, int32_t* c,
          int64_t c_stride) {
  __m256i acc[kRows][kPanels * 2];
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kPanels * 2; ++v) acc[r][v] = _mm256_setzero_si256();
  for (int64_t i = 0; i < pairs; ++i) {
    __m256i bv[kPanels * 2];
    for (int p = 0; p < kPanels; ++p) {
      const __m128i* from = reinterpret_cast<const __m128i*>(b + p * panel_bytes);
      bv[2 * p] = _mm256_cvtepi8_epi16(_mm_loadu_si128(from));
      bv[2 * p + 1] = _mm256_cvtepi8_epi16(_mm_loadu_si128(from + 1));
    }
    for (int r = 0; r < kRows; ++r) {
      int32_t pair;
      __builtin_memcpy(&pair, a + r * a_stride + i * 4, 4);
      const __m256i av = _mm256_set1_epi32(pair);
      for (int v = 0; v < kPanels * 2; ++v) acc[r][v] = _mm256_add_epi32(acc[r][v], _mm256_madd_epi16(av, bv[v]));
    }
    b += 32;
  }
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kPanels * 2; ++v)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(c + r * c_stride + v * 8), acc[r][v]);
}

int tile_panels(int rows) { return rows == 1 ? 4 : rows == 2 ? 3 : rows == 3 ? 2 : 1; }

template <int kRows, int kPanels>
void tile_of(int panels, int64_t pairs, const char* a, int64_t a_stride, const int8_t* b, int64_t panel_bytes,
             int32_t* c, int64_t c_stride) {
  if (panels == kPanels) {
    tile<kRows, kPanels>(pairs, a, a_stride, b, panel_bytes, c, c_stride);
  } else {
    for (int p = 0; p < panels; ++p)
      tile<kRows, 1>(pairs, a, a_stride, b + p * panel_bytes, panel_bytes, c + p * kNr, c_stride);
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
      return tile_of<3, 2>(panels, k_groups, from, a_stride, b, panel_bytes, c, c_stride);
    case 4:
      return tile_of<4, 1>(panels, k_groups, from, a_stride, b, panel_bytes, c, c_stride);
    case 5:
      return tile_of<5, 1>(panels, k_groups, from, a_stride, b, panel_bytes, c, c_stride);
    default:
      return tile_of<6, 1>(panels, k_groups, from, a_stride, b, panel_bytes, c, c_stride);
  }
}

int32_t int8_row(int64_t k, int64_t k_padded, const void* src, bool is_signed, void* dst) {
  const uint8_t* in = static_cast<const uint8_t*>(src);
  int16_t* out = static_cast<int16_t*>(dst);
  __m256i sums = _mm256_setzero_si256();
  const __m256i ones = _mm256_set1_epi16(1);
  int64_t i = 0;
  for (; i + 16 <= k; i += 16) {
    const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i));
    const __m256i w = is_signed ? _mm256_cvtepi8_epi16(x) : _mm256_cvtepu8_epi16(x);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), w);
    sums = _mm256_add_epi32(sums, _mm256_madd_epi16(w, ones));
  }
  alignas(32) int32_t parts[8];
  _mm256_store_si256(reinterpret_cast<__m256i*>(parts), sums);
  uint32_t sum = 0;
  for (int j = 0; j < 8; ++j) sum += static_cast<uint32_t>(parts[j]);
  for (; i < k_padded; ++i) {
    int v = 0;
    if (i < k) v = is_signed ? static_cast<int8_t>(in[i]) : in[i];
    out[i] = static_cast<int16_t>(v);
    sum += static_cast<uint32_t>(v);
  }
  return static_cast<int32_t>(sum);
}

}  // namespace

const Int8Leaves kGemmS16S8S32Avx2 = {.int8 = {.mr = kMr, .nr = kNr, .k_group = 2, .widen_a = true},
                                      .gemm_int8_tile = gemm_int8_tile,
                                      .int8_tile_panels = tile_panels,
                                      .int8_row = int8_row};

}  // namespace assay::kernels
