#include "kernels/isa/intrinsics.h"
#include "kernels/isa/kernel_list.h"

namespace assay::kernels {
namespace {

#include "kernels/isa/vec_avx2.inc"
// The lanes come first: the kernels are written over them.
#include "kernels/isa/float_kernels.inc"

}  // namespace

const FloatLeaves kFloatAvx2 = kFloatLeaves;

}  // namespace assay::kernels
