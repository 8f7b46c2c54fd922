#pragma once

#include "graph/rewrite.h"

namespace assay {

/// Cuts padding: where every attention was proved to be masked by the same 0/1 input, the part of the graph that works
/// token by token runs on [tokens, features] with row splits. Outputs at masked positions become 0. Does nothing (and
/// says why) for models with a scale per whole tensor, whose result depends on the padding by definition.
void pack_tokens(Graph& graph, Witness& witness, std::vector<FusionNote>& notes);

}  // namespace assay
