#include "graph/passes/eliminate.h"

namespace assay {
namespace {

bool hands_on(const Graph& graph, const Node& node) {
  if (node.is("Identity")) return true;
  if (node.is("Dropout")) {
    const ValueId mask = node.output(1);
    if (mask != kNoValue && (!graph.value(mask).users.empty() || graph.is_output(mask))) return false;
    if (node.get_int("is_test", 1) == 0) return false;
    const ValueId training = node.input(2);
    if (training == kNoValue) return true;
    const Tensor* t = graph.constant(training);
    return t != nullptr && t->dtype() == DType::kBool && t->elements() == 1 && !t->values<bool>()[0];
  }
  if (node.is("Cast"))
    return graph.value(node.inputs[0]).type.dtype != DType::kUndefined &&
           static_cast<int64_t>(graph.value(node.inputs[0]).type.dtype) == node.get_int("to", 0);
  return false;
}

}  // namespace

int eliminate_identities(Graph& graph) {
  int removed = 0;
  for (const NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    if (node.inputs.empty() || node.outputs.empty() || !hands_on(graph, node)) continue;
    const ValueId in = node.inputs[0];
    const ValueId out = node.outputs[0];
    if (graph.value(in).type.other.size() + graph.value(out).type.other.size() > 0) continue;  // sequences, optionals
    if (graph.is_output(out) && (graph.is_input(in) || graph.is_output(in) || graph.constant(in) != nullptr)) continue;
    if (graph.is_output(out)) std::swap(graph.value(in).name, graph.value(out).name);
    graph.replace_uses(out, in);
    graph.erase_node(id);
    ++removed;
  }
  return removed;
}

}  // namespace assay
