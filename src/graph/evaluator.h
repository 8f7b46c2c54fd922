#pragma once

#include <vector>

#include "graph/graph.h"

namespace assay {

/// Computes a small graph on given inputs: what constant folding and the passes that match by meaning (probe values in,
/// expected values out) need from an engine without knowing one.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  /// Values of graph.outputs() for `inputs` (one per graph.inputs). Throws what the operators throw, Unsupported for an
  /// operator it does not have.
  virtual std::vector<Tensor> evaluate(const Graph& graph, const std::vector<Tensor>& inputs) const = 0;
};

}  // namespace assay
