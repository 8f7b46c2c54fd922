#include "graph/passes/fold_constants.h"

#include <algorithm>

namespace assay {
namespace {

bool foldable(const Graph& graph, const Node& node, const FoldOptions& options) {
  if (node.inputs.empty() && node.op_type != "Constant") return false;  // Random* and friends
  if (!subgraphs(node).empty() || node.domain == "assay") return false;
  if (!options.dequantize && (node.is("DequantizeLinear") || node.is("QuantizeLinear"))) return false;
  if (node.op_type.starts_with("Random") || node.is("Bernoulli") || node.is("Multinomial")) return false;
  if (node.is("Dropout") && node.inputs.size() > 2) return false;
  if (std::any_of(node.outputs.begin(), node.outputs.end(),
                  [&](ValueId v) { return v != kNoValue && graph.is_output(v); }))
    return false;
  return std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId v) { return v == kNoValue || graph.constant(v) != nullptr; });
}

}  // namespace

int fold_constants(Graph& graph, const Evaluator& evaluator, const FoldOptions& options) {
  int folded = 0;
  for (const NodeId id : graph.topological_order()) {
    const Node node = graph.node(id);
    if (!foldable(graph, node, options)) continue;
    Graph one;
    Node copy = node;
    for (ValueId& v : copy.inputs)
      if (v != kNoValue) v = one.add_constant(*graph.constant(v));
    for (ValueId& v : copy.outputs)
      if (v != kNoValue) {
        v = one.add_value();
        one.add_output(v);
      }
    one.add_node(std::move(copy));
    std::vector<Tensor> results;
    try {
      results = evaluator.evaluate(one, {});
    } catch (const Error&) {
      continue;  // stays as it is; running it will say what is wrong
    }
    if (std::any_of(results.begin(), results.end(), [&](const Tensor& t) { return t.bytes() > options.max_bytes; }))
      continue;
    size_t r = 0;
    for (const ValueId v : node.outputs) {
      if (v == kNoValue) continue;
      const ValueId constant = graph.add_constant(std::move(results[r++]), graph.value(v).name);
      graph.value(v).name.clear();
      graph.replace_uses(v, constant);
    }
    graph.erase_node(id);
    ++folded;
  }
  graph.remove_dead();
  return folded;
}

}  // namespace assay
