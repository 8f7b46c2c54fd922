#pragma once

#include "graph/rewrite.h"

namespace assay {

/// Softmax between two MatMuls of activations becomes assay.Attention where the witness runs prove it: queries, keys
/// and values are found as [batch, seq, heads*dim] tensors behind any spelling of the head split, the scale from the
/// numbers, and the mask either as a 0/1 graph input (recorded in attribute "key_mask_input" for pack_tokens) or as a
/// tensor added to the scores. Three layers that feed one attention from the same input are merged into one.
void fuse_attention(Graph& graph, Witness& witness, std::vector<FusionNote>& notes);

}  // namespace assay
