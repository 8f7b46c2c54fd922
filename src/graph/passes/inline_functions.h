#pragma once

#include "graph/graph.h"

namespace assay {

/// Replaces every call of a model-local function by the function's nodes, in subgraphs and nested calls too, and
/// empties model.functions. Attribute references take the call's value, else the function's default, else the attribute
/// is left out. Inlined nodes are named "<call>/<node>" and keep the opset versions of their function. Returns how many
/// calls were replaced. BadFile for a function that calls itself or a call that does not fit; ResourceExhausted when
/// the calls unfold beyond 250,000 nodes.
int inline_functions(Model& model);

}  // namespace assay
