#include "kernels/isa/intrinsics.h"
#include "kernels/isa/kernel_list.h"

namespace assay::kernels {
namespace {

#include "kernels/isa/transpose_avx2.inc"

constexpr int kMr = 6, kNr = 16, kVectorLanes = 8, kStepBytes = 4, kHalfPanel = 8;
using V = __m256;
using Scalar = float;

inline V zero() { return _mm256_setzero_ps(); }
inline V load_sums(const float* p) { return _mm256_loadu_ps(p); }
inline void store_sums(float* p, V v) { _mm256_storeu_ps(p, v); }
inline V load_b(const float* p) { return _mm256_loadu_ps(p); }
inline V broadcast(const char* a) { return _mm256_set1_ps(*reinterpret_cast<const float*>(a)); }
inline V multiply_add(V sum, V a, V b) { return _mm256_fmadd_ps(a, b, sum); }

#include "kernels/isa/gemm_tile.inc"

void gemm_f32_tile(int rows, int panels, int64_t k, const float* a, int64_t a_stride, const float* b, int64_t b_stride,
                   int64_t panel_stride, float* c, int64_t c_stride, bool accumulate) {
  run_rows(rows, panels, k, reinterpret_cast<const char*>(a), a_stride * 4, b, b_stride, panel_stride, c, c_stride,
           accumulate);
}

}  // namespace

const F32Leaves kGemmF32Avx2 = {.f32_mr = kMr,
                                .f32_nr = kNr,
                                .gemm_f32_tile = gemm_f32_tile,
                                .f32_tile_panels = tile_panels<1>,
                                .transpose_panel = transpose_panel};

}  // namespace assay::kernels
