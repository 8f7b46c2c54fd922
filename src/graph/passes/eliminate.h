#pragma once

#include "graph/graph.h"

namespace assay {

/// Removes nodes that hand their input on: Identity, Dropout in inference, Cast to the type the value already has.
/// Returns how many went.
int eliminate_identities(Graph& graph);

}  // namespace assay
