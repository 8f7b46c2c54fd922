#include "kernels/isa/intrinsics.h"
#include "kernels/isa/kernel_list.h"

// Without VNNI the one-instruction u8 x s8 product saturates its pair sums at 16 bits. Widening both sides to int16 and
// multiplying pairs into int32 is exact for all weights.

namespace assay::kernels {
namespace {

// Packed B: [k pairs][16 columns][2] int8.
constexpr int kMr = 6, kNr = 16, kVectorLanes = 8, kStepBytes = 4, kHalfPanel = 16;
using V = __m256i;
using Scalar = int32_t;

inline V zero() { return _mm256_setzero_si256(); }
inline V load_sums(const int32_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
inline void store_sums(int32_t* p, V v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v); }
inline V load_b(const int8_t* p) { return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); }
inline V broadcast(const char* a) {
  int32_t step;
  __builtin_memcpy(&step, a, 4);
  return _mm256_set1_epi32(step);
}
inline V multiply_add(V sum, V a, V b) { return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b)); }

#include "kernels/isa/gemm_tile.inc"

void tile(int rows, int panels, int64_t k_groups, const void* a, int64_t a_stride, const int8_t* b, int64_t panel_bytes,
          int32_t* c, int64_t c_stride) {
  run_rows(rows, panels, k_groups, static_cast<const char*>(a), a_stride, b, 2 * kHalfPanel, panel_bytes, c, c_stride,
           false);
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

const Int8Kernel kGemmS16S8S32Avx2 = {
    .mr = kMr, .nr = kNr, .k_group = 2, .widen_a = true, .tile = tile, .tile_panels = tile_panels<1>, .row = int8_row};

}  // namespace assay::kernels
