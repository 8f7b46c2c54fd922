#pragma once

#include "engine/program.h"
#include "graph/witness.h"

namespace assay {

/// Runs the graph as it stands on a few tiny made-up inputs and records every value. Free sizes are a batch of 2 and 3
/// with lengths 5 and 7; integer inputs are indices within what they index, or 0/1 masks with padding at the end of a
/// row. No runs, and the reason in `why`, when the graph cannot be run so.
Witness take_witness(const Graph& graph, Isa isa, std::string& why);

}  // namespace assay
