#include "graph/passes/pack_tokens.h"

#include <algorithm>
#include <set>

namespace assay {
namespace {

bool works_on_rows(const Node& n) {
  static const std::set<std::string, std::less<>> kUnary = {"Relu", "Gelu", "Tanh", "Erf", "Sigmoid",
                                                            "Sqrt", "Exp",  "Neg",  "Abs", "Identity"};
  static const std::set<std::string, std::less<>> kBinary = {"Add", "Sub", "Mul", "Div", "Pow"};
  if (n.domain == "assay") return n.op_type == "Linear" || n.op_type == "LinearInt8" || n.op_type == "Attention";
  if (!n.domain.empty()) return false;
  return kUnary.contains(n.op_type) || kBinary.contains(n.op_type) || n.op_type == "LayerNormalization" ||
         n.op_type == "QuantizeLinear" || n.op_type == "DequantizeLinear";
}

/// A constant operand works on rows when it broadcasts over tokens: at most one dimension that is not 1, the last.
bool broadcasts_over_tokens(const Tensor& t) {
  for (int i = 0; i + 1 < t.shape().rank(); ++i)
    if (t.shape()[i] != 1) return false;
  return true;
}

bool can_pack(const Graph& g, const Witness& w, const Node& n) {
  if (!works_on_rows(n) || n.outputs.size() != 1 || !w.per_token(n.outputs[0])) return false;
  const int rank = w.rank(n.outputs[0]);
  if (rank < 3) return false;  // masks and ids, not features
  if (n.is("LayerNormalization") && n.get_int("axis", -1) != -1 && n.get_int("axis", -1) != rank - 1) return false;
  if ((n.is("QuantizeLinear") || n.is("DequantizeLinear")) &&
      (g.constant(n.input(1)) == nullptr || g.constant(n.input(1))->elements() != 1))
    return false;
  const bool shaped_constants = n.domain == "assay" || n.is("LayerNormalization");
  // An attention's splits and bias are replaced, its queries, keys and values must be rows.
  const size_t row_inputs = n.is("Attention", "assay") ? std::min<size_t>(3, n.inputs.size()) : n.inputs.size();
  return std::all_of(n.inputs.begin(), n.inputs.begin() + static_cast<std::ptrdiff_t>(row_inputs), [&](ValueId v) {
    if (v == kNoValue) return true;
    if (const Tensor* t = g.constant(v)) return shaped_constants || broadcasts_over_tokens(*t);
    return w.per_token(v) && w.rank(v) == rank;
  });
}

/// Operators that may read an unpacked tensor: they move elements without mixing a real token with what stands at
/// padding.
bool only_moves(const Node& n) {
  static const std::set<std::string, std::less<>> kMoves = {"Split",     "Squeeze", "Unsqueeze", "Slice",    "Gather",
                                                            "Transpose", "Reshape", "Shape",     "Identity", "Cast"};
  return n.domain.empty() && kMoves.contains(n.op_type);
}

/// Attentions and all that depends on one.
std::set<NodeId> reached_from_attention(const Graph& g, const std::vector<NodeId>& order) {
  std::set<NodeId> reached;
  for (const NodeId id : order) {
    const Node& n = g.node(id);
    const bool feeds = std::any_of(n.inputs.begin(), n.inputs.end(), [&](ValueId v) {
      return v != kNoValue && g.value(v).producer != kNoNode && reached.contains(g.value(v).producer);
    });
    if (feeds || n.is("Attention", "assay")) reached.insert(id);
  }
  return reached;
}

}  // namespace

void pack_tokens(Graph& graph, Witness& witness, std::vector<FusionNote>& notes) {
  ValueId mask = kNoValue;
  std::string why;
  std::vector<NodeId> region;
  const auto order = graph.topological_order();
  for (const NodeId id : order) {
    const Node& n = graph.node(id);
    if (n.is("Attention", "assay")) {
      const auto m = static_cast<ValueId>(n.get_int("key_mask_input", kNoValue));
      if (m == kNoValue) why = "the mask of " + n.label() + " is not a 0/1 input";
      if (mask != kNoValue && m != mask) why = "attentions use different masks";
      mask = m;
    }
    if (n.is("LinearInt8", "assay") && n.get_string("activation_scale", "") == "tensor")
      why = n.label() + " takes one scale over the whole batch, padding included, as DynamicQuantizeLinear is defined";
    if (n.is("DynamicQuantizeLinear")) why = n.label() + " takes one range over the whole batch, padding included";
    if (n.is("Softmax")) why = n.label() + " was not fused";
    if (can_pack(graph, witness, n)) region.push_back(id);
  }
  // Reverse order, so that a node left out leaves out what feeds only it. Before any attention a node may simply stay
  // padded; behind one, its padded positions would hold zeros where the model holds numbers.
  std::set<NodeId> inside(region.begin(), region.end());
  const std::set<NodeId> behind = reached_from_attention(graph, order);
  for (auto it = region.rbegin(); it != region.rend(); ++it)
    for (const NodeId u : graph.value(graph.node(*it).outputs[0]).users) {
      if (inside.contains(u) || only_moves(graph.node(u))) continue;
      if (behind.contains(*it) && why.empty())
        why = graph.node(u).label() + " may mix what stands at padded positions into its result";
      inside.erase(*it);
    }
  std::erase_if(region, [&](NodeId id) { return !inside.contains(id); });
  if (mask == kNoValue && why.empty()) return;  // no attention: nothing to pack
  if (!why.empty()) {
    notes.push_back({"pack_tokens", "graph", false, why});
    return;
  }

  Node plan;
  plan.domain = "assay";
  plan.op_type = "PackPlan";
  plan.version = 1;
  plan.inputs = {mask};
  const ValueId rows = graph.add_value();
  const ValueId splits = graph.add_value();
  plan.outputs = {rows, splits};
  graph.add_node(std::move(plan));

  const auto row_node = [&](std::string op, std::vector<ValueId> in) {
    return graph.node(graph.add_node(std::move(op), std::move(in), 1, {}, "assay", 1)).outputs[0];
  };
  std::map<ValueId, ValueId> packed;  // outside values, packed once
  for (const NodeId id : region) {
    const Node copy = graph.node(id);
    for (size_t i = 0; i < copy.inputs.size(); ++i) {
      const ValueId v = copy.inputs[i];
      if (v == kNoValue) continue;
      if (const Tensor* t = graph.constant(v)) {
        if (copy.domain.empty() && !copy.is("LayerNormalization") && t->shape().rank() > 1) {
          const int64_t last = t->shape()[t->shape().rank() - 1];
          graph.set_input(id, i, graph.add_constant(t->reshaped(Shape{last})));
        }
        continue;
      }
      const NodeId producer = graph.value(v).producer;
      if (producer != kNoNode && inside.contains(producer)) continue;
      if (!packed.contains(v)) packed[v] = row_node("PackRows", {v, rows});
      graph.set_input(id, i, packed[v]);
    }
    if (copy.is("Attention", "assay")) {
      graph.set_input(id, 3, splits);
      graph.set_input(id, 4, kNoValue);
    }
    if (copy.is("LayerNormalization")) graph.node(id).attributes["axis"] = int64_t{-1};
  }
  for (const NodeId id : region) {
    const ValueId v = graph.node(id).outputs[0];
    std::vector<NodeId> outside;
    for (const NodeId u : graph.value(v).users)
      if (!inside.contains(u)) outside.push_back(u);
    if (outside.empty() && !graph.is_output(v)) continue;
    const ValueId unpacked = row_node("UnpackRows", {v, rows, mask});
    for (const NodeId u : outside)
      for (size_t i = 0; i < graph.node(u).inputs.size(); ++i)
        if (graph.node(u).inputs[i] == v) graph.set_input(u, i, unpacked);
    if (graph.is_output(v)) {
      auto outs = graph.outputs();
      std::replace(outs.begin(), outs.end(), v, unpacked);
      graph.set_outputs(std::move(outs));
      std::swap(graph.value(v).name, graph.value(unpacked).name);
    }
  }
  graph.remove_dead();
  notes.push_back(
      {"pack_tokens", "graph", true,
       fmt::format("{} nodes run on packed tokens, padding cut by mask '{}'", region.size(), graph.value(mask).name)});
}

}  // namespace assay
