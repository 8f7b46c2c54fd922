#include "graph/index_bound.h"

#include <algorithm>

namespace assay {
namespace {

int64_t bound_of(const Graph& graph, ValueId v, int depth) {
  int64_t bound = 0;
  const auto merge = [&](int64_t b) {
    if (b > 0) bound = bound == 0 ? b : std::min(bound, b);
  };
  for (const NodeId u : graph.value(v).users) {
    const Node& n = graph.node(u);
    if (n.is("Gather") && n.input(1) == v) {
      if (const Tensor* table = graph.constant(n.inputs[0]); table != nullptr && table->shape().rank() > 0)
        merge(table->shape()[normalize_axis(n.get_int("axis", 0), table->shape().rank())]);
      const Node* dq = graph.producer(n.inputs[0]);  // a quantized table
      if (dq != nullptr && !dq->inputs.empty())
        if (const Tensor* table = graph.constant(dq->inputs[0]); table != nullptr && table->shape().rank() > 0)
          merge(table->shape()[0]);
    } else if (depth < 3 &&
               (n.is("Cast") || n.is("Identity") || n.is("Reshape") || n.is("Unsqueeze") || n.is("Squeeze")) &&
               n.input(0) == v && !n.outputs.empty()) {
      merge(bound_of(graph, n.outputs[0], depth + 1));
    }
  }
  return bound;
}

}  // namespace

int64_t index_bound(const Graph& graph, ValueId input) { return bound_of(graph, input, 0); }

}  // namespace assay
