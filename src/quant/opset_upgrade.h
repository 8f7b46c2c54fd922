#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace assay::quant {

/// Rewrites a model of ONNX opset 7 to 12 so that it means the same at opset `target` (11 or 13): every node that
/// changed between gets its new spelling, in subgraphs too. Returns one note a kind of change; none when the model is
/// there already. Unsupported naming the first node that has no equal spelling, and what would fix it.
std::vector<std::string> upgrade_opset(Model& model, int target);

}  // namespace assay::quant
