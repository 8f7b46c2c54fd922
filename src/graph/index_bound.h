#pragma once

#include "graph/graph.h"

namespace assay {

/// The number of rows of the smallest table that an integer input's values index through a Gather, possibly behind
/// casts and reshapes: a valid input is below it. 0 when the input indexes nothing.
int64_t index_bound(const Graph& graph, ValueId input);

}  // namespace assay
