#pragma once

// The whole of the room: what other rooms include.
// No function allocates or throws; scratch sizes are asked by *_scratch_bytes and the memory (64-byte aligned) is
// passed in. Every function runs on `threads` threads, and its result does not depend on how many.

#include "kernels/attention.h"  // IWYU pragma: export
#include "kernels/epilogue.h"   // IWYU pragma: export
#include "kernels/float_ops.h"  // IWYU pragma: export
#include "kernels/gemm_f32.h"   // IWYU pragma: export
#include "kernels/gemm_int8.h"  // IWYU pragma: export
#include "kernels/isa.h"        // IWYU pragma: export
#include "kernels/quantize.h"   // IWYU pragma: export
