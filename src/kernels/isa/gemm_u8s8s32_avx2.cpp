#include "kernels/isa/intrinsics.h"
#include "kernels/isa/kernel_list.h"

// The u8 x s8 product that sums pairs in 16 bits, on weights packed so that no pair can saturate: 255 times the
// positive (or the negative) weights of a pair fits. What clipping took off is in extra groups, which are safe in the
// same way, so the result is exact. Three instructions for 32 products where widening to int16 takes four.

namespace assay::kernels {
namespace {

#include "kernels/isa/gemm_vnni.inc"

// Packed B: [k groups][16 columns][4] int8.
constexpr int kMr = 6, kNr = 16, kVectorLanes = 8, kStepBytes = 4, kHalfPanel = 32;
using V = __m256i;
using Scalar = int32_t;

alignas(32) const int16_t kOnes[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

inline V zero() { return _mm256_setzero_si256(); }
inline V load_sums(const int32_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
inline void store_sums(int32_t* p, V v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v); }
inline V load_b(const int8_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
inline V broadcast(const char* a) {
  int32_t step;
  __builtin_memcpy(&step, a, 4);
  return _mm256_set1_epi32(step);
}
/// The three in one, so that a single register holds the products and the ones stay in memory: the tile needs the
/// others.
inline V multiply_add(V sum, V a, V b) {
  V products;
  __asm__(
      "vpmaddubsw %[b], %[a], %[products]\n\t"
      "vpmaddwd %[ones], %[products], %[products]\n\t"
      "vpaddd %[products], %[sum], %[sum]"
      : [sum] "+x"(sum), [products] "=&x"(products)
      : [a] "x"(a), [b] "x"(b), [ones] "m"(kOnes));
  return sum;
}

#include "kernels/isa/gemm_tile.inc"

void tile(int rows, int panels, int64_t k_groups, const void* a, int64_t a_stride, const int8_t* b, int64_t panel_bytes,
          int32_t* c, int64_t c_stride) {
  run_rows(rows, panels, k_groups, static_cast<const char*>(a), a_stride, b, 2 * kHalfPanel, panel_bytes, c, c_stride,
           false);
}

template <int kRows = 1>
void run_extra(int rows, int64_t k_groups, const char* a, int64_t a_stride, const int8_t* b, int count,
               const int32_t* groups, const int8_t* extra, int32_t* c, int64_t c_stride) {
  if constexpr (kRows < kMr) {
    if (rows != kRows) return run_extra<kRows + 1>(rows, k_groups, a, a_stride, b, count, groups, extra, c, c_stride);
  }
  Tile<kRows, 2> sums;
  start(sums, c, c_stride, false);
  add_steps(sums, k_groups, a, a_stride, b, 2 * kHalfPanel, 0);
  for (int e = 0; e < count; ++e) {
    Row<2> row;
    load_row(row, extra + int64_t{e} * 2 * kHalfPanel, 0);
    add_products(sums, a + int64_t{groups[e]} * kStepBytes, a_stride, row);
  }
  finish(sums, c, c_stride);
}

void extra_tile(int rows, int64_t k_groups, const void* a, int64_t a_stride, const int8_t* b, int count,
                const int32_t* groups, const int8_t* extra, int32_t* c, int64_t c_stride) {
  run_extra(rows, k_groups, static_cast<const char*>(a), a_stride, b, count, groups, extra, c, c_stride);
}

}  // namespace

const Int8Kernel kGemmU8S8S32Avx2 = {.mr = kMr,
                                     .nr = kNr,
                                     .k_group = 4,
                                     .widen_a = false,
                                     .tile = tile,
                                     .tile_panels = tile_panels<1>,
                                     .row = int8_row,
                                     .extra_tile = extra_tile};

}  // namespace assay::kernels
