#include "kernels/isa/intrinsics.h"
#include "kernels/isa/kernel_list.h"

namespace assay::kernels {

extern const FloatLeaves ASSAY_KERNEL(kFloatAvx512);

namespace {

#include "kernels/isa/vec_avx512.inc"
// The lanes come first: the kernels are written over them.
#include "kernels/isa/float_kernels.inc"

}  // namespace

const FloatLeaves ASSAY_KERNEL(kFloatAvx512) = kFloatLeaves;

}  // namespace assay::kernels
