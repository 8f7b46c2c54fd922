#include "quant/decide.h"

#include <algorithm>

#include "base/nearest.h"

namespace assay::quant {
namespace {

// Which structures each node is part of.
std::map<NodeId, std::vector<Pattern>> tags_of(const Graph& g) {
  std::map<NodeId, std::vector<Pattern>> out;
  for (Pattern p : {Pattern::kLayerNorm, Pattern::kGelu, Pattern::kResidual, Pattern::kGather, Pattern::kSoftmax})
    for (const PatternMatch& m : find_pattern(g, p))
      for (NodeId id : m.nodes)
        if (auto& tags = out[id]; std::find(tags.begin(), tags.end(), p) == tags.end()) tags.push_back(p);
  return out;
}

// The exclusion that covers a node, or "".
std::string excluded_by(const QuantScheme& scheme, const std::string& name, const std::vector<Pattern>& tags) {
  for (const std::string& x : scheme.exclude_nodes) {
    if (name == x) return "excluded by name";
    if (glob_match(x, name)) return fmt::format("excluded by '{}'", x);
  }
  for (Pattern p : tags)
    if (std::find(scheme.exclude_patterns.begin(), scheme.exclude_patterns.end(), p) != scheme.exclude_patterns.end())
      return fmt::format("excluded: part of {}", to_string(p));
  return "";
}

std::string not_asked_for(const QuantScheme& scheme, const Node& n) {
  const auto known = known_operators(scheme.approach);
  if (n.domain.empty() && std::find(known.begin(), known.end(), n.op_type) != known.end())
    return "not in operators_to_quantize";
  if (scheme.approach == Approach::kDynamic) return fmt::format("{} has no dynamic integer form", n.op_type);
  return fmt::format("{} has no quantized form", n.op_type);
}

// What Optimum and ONNX Runtime pass over in silence.
void say_aloud(const QuantScheme& scheme, Decisions& out) {
  const auto known = known_operators(scheme.approach);
  std::set<std::string> present, names;
  for (const NodePlan& n : out.plan.nodes) {
    present.insert(n.op_type);
    names.insert(n.node);
  }
  for (const std::string& op : scheme.operators) {
    if (std::find(known.begin(), known.end(), op) == known.end()) {
      if (scheme.approach == Approach::kDynamic)
        out.plan.notes.push_back(fmt::format(
            "{} has no integer form in dynamic quantization: listing it changes nothing (Optimum ignores it silently)",
            op));
      else
        out.plan.notes.push_back(
            fmt::format("{} has no quantized form: listing it changes nothing{}", op, nearest_hint(op, known)));
    } else if (present.count(op) == 0) {
      out.plan.notes.push_back(fmt::format("the model has no {} node", op));
    }
  }
  const std::vector<std::string> all(names.begin(), names.end());
  for (const std::string& x : scheme.exclude_nodes)
    if (std::none_of(all.begin(), all.end(), [&](const std::string& n) { return n == x || glob_match(x, n); }))
      out.plan.notes.push_back(fmt::format("exclusion '{}' fits no node{}", x, nearest_hint(x, all)));
  for (Pattern p : scheme.exclude_patterns)
    if (std::none_of(out.plan.nodes.begin(), out.plan.nodes.end(), [&](const NodePlan& n) {
          return std::find(n.tags.begin(), n.tags.end(), to_string(p)) != n.tags.end();
        }))
      out.plan.notes.push_back(
          fmt::format("exclusion '{}' fits no node: the model has no such structure", to_string(p)));
  if (scheme.approach == Approach::kDynamic && (!scheme.exclude_nodes.empty() || !scheme.exclude_patterns.empty()))
    out.plan.notes.push_back("exclusions hold in dynamic quantization too (Optimum ignores them there)");
}

}  // namespace

WeightUse weight_behind(const Prepared& prepared, Scope& scope, ValueId operand) {
  if (operand == kNoValue) return {};
  Located at = prepared.locate(scope, operand);
  if (prepared.constant(at) != nullptr) return {at, false};
  const Node* n = at.scope->graph->producer(at.value);
  if (n == nullptr || !n->is("Transpose")) return {};
  const auto perm = n->get_ints("perm");
  if (!perm.empty() && perm != std::vector<int64_t>{1, 0}) return {};
  at = prepared.locate(*at.scope, n->input(0));
  const Tensor* t = prepared.constant(at);
  if (t == nullptr || t->shape().rank() != 2) return {};
  return {at, true};
}

bool quantizable_weight(const Prepared& prepared, const WeightUse& use, std::string& why) {
  const Tensor& t = *prepared.constant(use.base);
  const std::string& name = use.base.scope->graph->value(use.base.value).name;
  if (t.dtype() != DType::kFloat32) {
    why = is_float(t.dtype())
              ? fmt::format("weight '{}' is {}: convert the model to float32 first", name, to_string(t.dtype()))
              : fmt::format("integer ({}) operand '{}'", to_string(t.dtype()), name);
    return false;
  }
  if (t.elements() == 0) {
    why = fmt::format("weight '{}' is empty", name);
    return false;
  }
  return true;
}

std::string describe(const WeightSpec& spec) {
  return fmt::format("{}{} weights {}{}", spec.reduced ? "7-bit " : "", to_string(spec.dtype),
                     spec.axis < 0 ? "per tensor" : fmt::format("per channel (axis {})", spec.axis),
                     spec.symmetric ? "" : ", asymmetric");
}

Decisions decide(Prepared& prepared, const QuantScheme& scheme) {
  Decisions out;
  out.plan.scheme = scheme;
  out.plan.notes = prepared.notes;
  const auto wanted = scheme.effective_operators();
  for (const auto& scope : prepared.scopes()) {
    const Graph& g = *scope->graph;
    const auto tags = tags_of(g);
    for (size_t i = 0; i < g.value_count(); ++i)
      if (const Tensor* t = g.constant(static_cast<ValueId>(i)); t != nullptr && is_float(t->dtype()))
        out.plan.constant_bytes += t->bytes();
    for (NodeId id : g.topological_order()) {
      const Node& n = g.node(id);
      NodePlan line;
      line.node = n.name.empty() ? n.label() : n.name;
      line.op_type = n.domain.empty() ? n.op_type : n.domain + "." + n.op_type;
      line.scope = scope->path;
      if (!n.outputs.empty() && n.outputs[0] != kNoValue) line.output = g.value(n.outputs[0]).name;
      static const std::vector<Pattern> kNone;
      const auto it = tags.find(id);
      const auto& node_tags = it == tags.end() ? kNone : it->second;
      for (Pattern p : node_tags) line.tags.emplace_back(to_string(p));
      for (ValueId v : n.inputs) {
        const WeightUse use = weight_behind(prepared, *scope, v);
        if (!use.found()) continue;
        const Tensor& t = *prepared.constant(use.base);
        if (!is_float(t.dtype()) || t.bytes() <= line.weight_bytes || t.elements() <= 1) continue;
        line.weight = use.base.scope->graph->value(use.base.value).name;
        line.weight_bytes = t.bytes();
      }
      if (!n.domain.empty() || std::find(wanted.begin(), wanted.end(), n.op_type) == wanted.end()) {
        line.reason = not_asked_for(scheme, n);
        if (n.is("Gather"))  // a tied table is only taken along when nobody said no
          if (auto excluded = excluded_by(scheme, line.node, node_tags); !excluded.empty()) line.reason = excluded;
      } else {
        line.reason = excluded_by(scheme, line.node, node_tags);
        if (line.reason.empty()) out.nodes.push_back({scope.get(), id, out.plan.nodes.size(), Action::kFloat, {}});
      }
      out.plan.nodes.push_back(std::move(line));
    }
  }
  if (scheme.approach == Approach::kDynamic)
    decide_dynamic(prepared, scheme, out);
  else
    decide_static(prepared, scheme, out);
  if (scheme.keep_tied) tie_gathers(prepared, out);
  say_aloud(scheme, out);
  return out;
}

}  // namespace assay::quant
