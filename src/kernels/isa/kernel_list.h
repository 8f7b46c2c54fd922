#pragma once

#include "kernels/isa/leaves.h"

// What each instruction set's files give to the tables of leaves.cpp.

namespace assay::kernels {

extern const FloatLeaves kFloatScalar;
extern const F32Leaves kGemmF32Scalar;
extern const Int8Leaves kGemmS16S8S32Scalar;

extern const FloatLeaves kFloatAvx2;
extern const F32Leaves kGemmF32Avx2;
extern const Int8Kernel kGemmS16S8S32Avx2;
extern const Int8Kernel kGemmU8S8S32Avx2;

extern const Int8Leaves kGemmU8S8S32Avx2Vnni;

extern const FloatLeaves kFloatAvx512;
extern const F32Leaves kGemmF32Avx512;
extern const Int8Leaves kGemmU8S8S32Avx512Vnni;

}  // namespace assay::kernels
