#include <cstddef>
#include <cstdint>

#include "kernels/isa/kernel_list.h"

namespace assay::kernels {
namespace {

#include "kernels/ref/vec_scalar.inc"
// The lanes come first: the kernels are written over them.
#include "kernels/isa/float_kernels.inc"

}  // namespace

const FloatLeaves kFloatScalar = kFloatLeaves;

}  // namespace assay::kernels
