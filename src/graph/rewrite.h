#pragma once

#include "graph/graph.h"
#include "graph/witness.h"

namespace assay {

/// One rewrite that a pass made or nearly made, for `inspect` and reports.
struct FusionNote {
  std::string pass;
  std::string node;  ///< label of the node it starts from
  bool matched = false;
  std::string reason;  ///< what was fused, or the first node that differed
};

/// Adds `node` with one fresh output that takes over every use, the name and the type of `old`. What only fed `old` is
/// dead afterwards (Graph::remove_dead). `witness` may be null.
ValueId replace_value(Graph& graph, ValueId old, Node node, Witness* witness);

/// The only node that reads a value, or kNoNode when there are several, none, or it is a graph output.
NodeId sole_user(const Graph& graph, ValueId value);

/// The single element of a constant float tensor of one element, or nothing.
std::optional<float> scalar_constant(const Graph& graph, ValueId value);

}  // namespace assay
