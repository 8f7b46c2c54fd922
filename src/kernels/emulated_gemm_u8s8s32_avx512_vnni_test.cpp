// The kernels that ship, compiled against an emulation of their intrinsics: most machines that run these tests lack
// them.
#define ASSAY_EMULATED_ISA 1
#include "kernels/isa/gemm_u8s8s32_avx512_vnni.cpp"
