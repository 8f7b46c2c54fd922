#pragma once

// The intrinsics, or an emulation of them where a test compiles the kernels of instruction sets that this CPU lacks.
// ASSAY_KERNEL(name) is the exported name of a kernel: the emulated copy must not take the place of the real one.

#ifdef ASSAY_EMULATED_ISA
#include "kernels/isa/emulated.h"
#define ASSAY_KERNEL(name) name##_emulated
#else
#include <immintrin.h>
#define ASSAY_KERNEL(name) name
#endif

#include <cstddef>
#include <cstdint>

#include "kernels/isa/leaves.h"
