#pragma once

#include "graph/rewrite.h"

namespace assay {

/// Layer and RMS normalisations written out in smaller operators become LayerNormalization (opset 17) or
/// RMSNormalization (opset 23) where the witness runs agree with the formula over the last axis.
void fuse_layernorm(Graph& graph, Witness& witness, std::vector<FusionNote>& notes);

/// GELUs written out in smaller operators become Gelu (opset 20), erf or tanh form, where the witness runs agree.
void fuse_gelu(Graph& graph, Witness& witness, std::vector<FusionNote>& notes);

}  // namespace assay
