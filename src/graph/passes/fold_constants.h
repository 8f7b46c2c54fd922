#pragma once

#include "graph/evaluator.h"

namespace assay {

struct FoldOptions {
  bool dequantize = true;                ///< also fold DequantizeLinear (off while integer weights are still wanted)
  int64_t max_bytes = int64_t{1} << 28;  ///< leave a node whose outputs would be larger
};

/// Replaces nodes whose inputs are all constant by their values. Nodes the evaluator cannot run stay. Returns how many
/// went.
int fold_constants(Graph& graph, const Evaluator& evaluator, const FoldOptions& options = {});

}  // namespace assay
