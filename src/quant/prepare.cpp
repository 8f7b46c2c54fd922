#include "quant/prepare.h"

#include <algorithm>
#include <functional>
#include <map>

#include "engine/program.h"
#include "graph/passes/inline_functions.h"
#include "quant/opset_upgrade.h"
#include "quant/types.h"

namespace assay::quant {
namespace {

// Input slots that hold weights, per operator.
std::vector<size_t> weight_slots(const Node& n) {
  if (!n.domain.empty()) return {};
  if (n.op_type == "MatMul") return {0, 1};
  if (n.op_type == "Conv" || n.op_type == "ConvTranspose" || n.op_type == "Gemm") return {1, 2};
  if (n.op_type == "Gather") return {0};
  return {};
}

// A Transpose of a matrix: kept, since its codes can be transposed instead and a tied table stays one.
bool is_matrix_transpose(const Graph& g, const Node& n) {
  if (!n.is("Transpose")) return false;
  const Tensor* t = g.constant(n.input(0));
  if (t == nullptr || t->shape().rank() != 2) return false;
  const auto perm = n.get_ints("perm");
  return perm.empty() || perm == std::vector<int64_t>{1, 0};
}

Tensor constant_of(const Node& n) {
  if (const Tensor* t = n.get_tensor("value")) return *t;
  if (n.has("value_float")) return Tensor::scalar<float>(n.get_float("value_float", 0));
  if (n.has("value_int")) return Tensor::scalar<int64_t>(n.get_int("value_int", 0));
  if (n.has("value_floats")) {
    const auto v = n.get_floats("value_floats");
    return Tensor::from<float>({static_cast<int64_t>(v.size())}, std::span<const float>(v));
  }
  if (n.has("value_ints")) {
    const auto v = n.get_ints("value_ints");
    return Tensor::from<int64_t>({static_cast<int64_t>(v.size())}, std::span<const int64_t>(v));
  }
  return {};
}

// The constant takes the place, name and users of an output of `id`, which goes.
void become_constant(Graph& g, NodeId id, Tensor tensor) {
  const ValueId old = g.node(id).outputs[0];
  const ValueId made = g.add_constant(std::move(tensor), g.value(old).name);
  g.value(old).name.clear();
  g.replace_uses(old, made);
  g.erase_node(id);
}

std::string fresh(std::set<std::string, std::less<>>& taken, const std::string& base) {
  std::string name = base;
  for (int i = 1; !taken.insert(name).second; ++i) name = fmt::format("{}_{}", base, i);
  return name;
}

bool reads_outer_constant(const Node& n) {
  return std::any_of(n.inputs.begin(), n.inputs.end(), [](ValueId v) { return v != kNoValue; });
}

}  // namespace

int needed_opset(const QuantScheme& scheme) {
  if (scheme.approach == Approach::kDynamic) return 11;
  return scheme.per_channel ? 13 : 11;
}

Prepared::Prepared(Model original, const QuantScheme& scheme) : model(std::move(original)) {
  model.graph = model.graph.clone();
  if (!model.functions.empty()) {
    const int calls = inline_functions(model);
    notes.push_back(fmt::format("{} calls of model-local functions inlined", calls));
  }
  infer_element_types(model.graph);
  for (auto& note : upgrade_opset(model, needed_opset(scheme))) notes.push_back(std::move(note));
  model.ir_version = std::max<int64_t>(model.ir_version, 4);  // from 4 on, initializers need not be inputs
  fold_constant_nodes(model.graph);
  add_scopes(model.graph, nullptr, kNoNode, "");
  fold_weights(scheme);
  infer_element_types(model.graph);
  for (const auto& s : scopes_) {
    for (NodeId id : s->graph->topological_order()) node_names_.insert(s->graph->node(id).name);
    for (size_t i = 0; i < s->graph->value_count(); ++i) {
      const Value& v = s->graph->value(static_cast<ValueId>(i));
      if (!v.name.empty()) names_.insert(v.name);
    }
  }
  for (const auto& s : scopes_) name_values(*s->graph);
}

void Prepared::add_scopes(Graph& graph, Scope* parent, NodeId holder, std::string path) {
  scopes_.push_back(std::make_unique<Scope>(Scope{&graph, parent, holder, path}));
  Scope* self = scopes_.back().get();
  for (NodeId id : graph.topological_order()) {
    size_t i = 0;
    for (Graph* body : subgraphs(graph.node(id)))
      add_scopes(*body, self, id,
                 fmt::format("{}{}{}/body {}", path, path.empty() ? "" : "/", graph.node(id).label(), i++));
  }
}

void Prepared::fold_constant_nodes(Graph& graph) {
  for (NodeId id : graph.topological_order()) {
    for (Graph* body : subgraphs(graph.node(id))) fold_constant_nodes(*body);
    if (!graph.node(id).is("Constant") || graph.node(id).outputs.size() != 1) continue;
    Tensor t = constant_of(graph.node(id));
    if (t) become_constant(graph, id, std::move(t));
  }
}

void Prepared::fold_weights(const QuantScheme& scheme) {
  const auto wanted = scheme.effective_operators();
  const ProgramEvaluator evaluator(kernels::best_isa());
  for (const auto& scope : scopes_) {
    Graph& g = *scope->graph;
    std::map<std::pair<ValueId, std::string>, ValueId> made;  // one copy of the same Cast of the same weight
    // Folds the producer of a value when all it reads is (or folds to) a constant. Gives the value to use instead.
    const std::function<bool(ValueId, int)> fold = [&](ValueId v, int depth) -> bool {
      if (v == kNoValue || depth == 0) return false;
      if (g.constant(v) != nullptr) return true;
      const NodeId p = g.value(v).producer;
      if (p == kNoNode || !subgraphs(g.node(p)).empty() || !g.node(p).domain.empty() || g.is_output(v)) return false;
      const Node& n = g.node(p);
      if (n.outputs.size() != 1 || !reads_outer_constant(n) || n.op_type.rfind("Random", 0) == 0 ||
          n.op_type == "Bernoulli" || n.op_type == "DequantizeLinear" || n.op_type == "QuantizeLinear")
        return false;
      const auto inputs = n.inputs;
      for (ValueId in : inputs)
        if (in != kNoValue && !fold(in, depth - 1)) return false;
      const Node node = g.node(p);  // its inputs may have been replaced by folding
      if (is_matrix_transpose(g, node)) return false;
      Tensor result;
      if (node.op_type == "Identity") {
        result = *g.constant(node.input(0));
      } else {
        const auto key = std::pair(node.input(0), node.op_type);
        const auto known = node.op_type == "Cast" ? made.find(key) : made.end();
        if (known != made.end() && g.value(known->second).type.dtype == g.value(v).type.dtype) {
          result = g.value(known->second).constant;
        } else {
          Graph one;
          Node copy = node;
          for (ValueId& in : copy.inputs)
            if (in != kNoValue) in = one.add_constant(*g.constant(in));
          copy.outputs = {one.add_value()};
          one.add_output(copy.outputs[0]);
          one.add_node(std::move(copy));
          try {
            result = evaluator.evaluate(one, {}).at(0);
          } catch (const Error&) {
            return false;  // the plan will say that the weight is computed
          }
        }
      }
      notes.push_back(fmt::format("{} folded: it only makes a weight", node.label()));
      const ValueId base = node.input(0);
      const std::string type = node.op_type;
      const ValueId old = v;
      const ValueId now = g.add_constant(std::move(result), g.value(old).name);
      g.value(old).name.clear();
      g.replace_uses(old, now);
      g.erase_node(p);
      made[{base, type}] = now;
      return true;
    };
    for (NodeId id : g.topological_order()) {
      if (!g.alive(id)) continue;
      if (std::find(wanted.begin(), wanted.end(), g.node(id).op_type) == wanted.end()) continue;
      for (size_t slot : weight_slots(g.node(id))) fold(g.node(id).input(slot), 8);
    }
    g.remove_dead();
  }
}

void Prepared::name_values(Graph& graph) {
  const auto name_one = [&](ValueId v, const std::string& base) {
    if (v != kNoValue && graph.value(v).name.empty()) graph.value(v).name = fresh_name(base);
  };
  for (NodeId id : graph.topological_order()) {
    const Node& n = graph.node(id);
    const std::string base = n.name.empty() ? n.op_type : n.name;
    for (size_t i = 0; i < n.outputs.size(); ++i) name_one(n.outputs[i], fmt::format("{}_output_{}", base, i));
    for (size_t i = 0; i < n.inputs.size(); ++i) name_one(n.inputs[i], fmt::format("{}_input_{}", base, i));
  }
}

std::string Prepared::fresh_name(const std::string& base) { return fresh(names_, base); }
std::string Prepared::fresh_node_name(const std::string& base) { return fresh(node_names_, base); }

Located Prepared::locate(Scope& scope, ValueId value) const {
  Located at{&scope, value};
  while (at.scope->parent != nullptr) {
    const auto& captures = at.scope->graph->captures;
    const auto it =
        std::find_if(captures.begin(), captures.end(), [&](const Capture& c) { return c.inner == at.value; });
    if (it == captures.end()) break;
    at = {at.scope->parent, it->outer};
  }
  return at;
}

ValueId Prepared::import(const Located& from, Scope& scope) {
  if (from.scope == &scope) return from.value;
  require(scope.parent != nullptr, ErrorCode::kInternal, "value {} is not visible here", from.value);
  const ValueId outer = import(from, *scope.parent);
  Graph& g = *scope.graph;
  for (const Capture& c : g.captures)
    if (c.outer == outer) return c.inner;
  Value& source = scope.parent->graph->value(outer);
  const ValueId inner = g.add_value(source.name, source.type);
  g.captures.push_back({outer, inner});
  scope.parent->graph->value(outer).users.push_back(scope.holder);
  return inner;
}

}  // namespace assay::quant
