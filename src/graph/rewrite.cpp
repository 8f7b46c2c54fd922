#include "graph/rewrite.h"

namespace assay {

ValueId replace_value(Graph& graph, ValueId old, Node node, Witness* witness) {
  const ValueId fresh = graph.add_value(graph.value(old).name, graph.value(old).type);
  graph.value(old).name.clear();
  node.outputs = {fresh};
  graph.replace_uses(old, fresh);
  graph.add_node(std::move(node));
  if (witness != nullptr) witness->same(fresh, old);
  return fresh;
}

NodeId sole_user(const Graph& graph, ValueId value) {
  if (graph.is_output(value)) return kNoNode;
  const auto& users = graph.value(value).users;
  return users.size() == 1 ? users[0] : kNoNode;
}

std::optional<float> scalar_constant(const Graph& graph, ValueId value) {
  const Tensor* t = graph.constant(value);
  if (t == nullptr || t->elements() != 1 || t->dtype() != DType::kFloat32) return std::nullopt;
  return t->values<float>()[0];
}

}  // namespace assay
