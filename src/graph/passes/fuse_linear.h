#pragma once

#include "graph/rewrite.h"

namespace assay {

/// MatMul or Gemm by a constant matrix becomes assay.Linear, its quantized forms (DynamicQuantizeLinear + MatMulInteger
/// + rescaling; QuantizeLinear/DequantizeLinear around MatMul or Gemm) assay.LinearInt8; a following bias, activation
/// and residual addition go into its epilogue. `rows` gives the dynamic form the engine's scale per row instead of the
/// standard's one scale a tensor.
void fuse_linear(Graph& graph, Witness& witness, bool rows, std::vector<FusionNote>& notes);

}  // namespace assay
