#include "kernels/isa/intrinsics.h"
#include "kernels/isa/kernel_list.h"

namespace assay::kernels {

extern const Int8Leaves ASSAY_KERNEL(kGemmU8S8S32Avx512Vnni);

namespace {

#include "kernels/isa/gemm_vnni.inc"

// Packed B: [k groups][32 columns][4] int8. Twelve rows: 24 sums, two vectors of B, one of A.
constexpr int kMr = 12, kNr = 32, kVectorLanes = 16, kStepBytes = 4, kHalfPanel = 64;
using V = __m512i;
using Scalar = int32_t;

inline V zero() { return _mm512_setzero_si512(); }
inline V load_sums(const int32_t* p) { return _mm512_loadu_si512(p); }
inline void store_sums(int32_t* p, V v) { _mm512_storeu_si512(p, v); }
inline V load_b(const int8_t* p) { return _mm512_loadu_si512(p); }
inline V broadcast(const char* a) {
  int32_t step;
  __builtin_memcpy(&step, a, 4);
  return _mm512_set1_epi32(step);
}
inline V multiply_add(V sum, V a, V b) { return _mm512_dpbusd_epi32(sum, a, b); }

#include "kernels/isa/gemm_tile.inc"

void gemm_int8_tile(int rows, int panels, int64_t k_groups, const void* a, int64_t a_stride, const int8_t* b,
                    int64_t panel_bytes, int32_t* c, int64_t c_stride) {
  run_rows(rows, panels, k_groups, static_cast<const char*>(a), a_stride, b, 2 * kHalfPanel, panel_bytes, c, c_stride,
           false);
}

}  // namespace

const Int8Leaves ASSAY_KERNEL(kGemmU8S8S32Avx512Vnni) = {
    .dense =
        {.mr = kMr, .nr = kNr, .k_group = 4, .tile = gemm_int8_tile, .tile_panels = tile_panels<1>, .row = int8_row},
    .pair_safe = {}};

}  // namespace assay::kernels
