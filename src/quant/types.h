#pragma once

#include "graph/graph.h"

namespace assay::quant {

/// Fills in the element types of values that have none, by following operators forward (subgraphs too). What an unknown
/// operator makes stays unknown.
void infer_element_types(Graph& graph);

}  // namespace assay::quant
