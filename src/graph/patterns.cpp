#include "graph/patterns.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "graph/patterns_internal.h"

namespace assay {
namespace patterns {

View::View(const Graph& g) : graph_(g), order_(g.topological_order()) {
  place_.assign(g.node_slots(), 0);
  for (size_t i = 0; i < order_.size(); ++i) place_[static_cast<size_t>(order_[i])] = static_cast<int>(i);
  constant_.assign(g.value_count(), -1);
  for (NodeId id : order_) {  // in order, so that inputs are known first
    const Node& n = g.node(id);
    const bool random = n.op_type.rfind("Random", 0) == 0 || n.op_type == "Multinomial" || n.op_type == "Bernoulli";
    const bool known = !random && subgraphs(n).empty() && std::all_of(n.inputs.begin(), n.inputs.end(), [&](ValueId v) {
      return v == kNoValue || is_constant(v);
    });
    for (ValueId v : n.outputs)
      if (v != kNoValue) constant_[static_cast<size_t>(v)] = known;
  }
}

bool View::is_constant(ValueId v) const {
  if (v == kNoValue) return false;
  signed char& c = constant_[static_cast<size_t>(v)];
  if (c < 0) c = graph_.constant(v) != nullptr;
  return c > 0;
}

const Node* View::producer_is(ValueId v, std::string_view type) const {
  const Node* n = graph_.producer(v);
  return n != nullptr && n->is(type) ? n : nullptr;
}

std::optional<double> View::scalar(ValueId v, int depth) const {
  if (v == kNoValue || depth == 0) return std::nullopt;
  if (const Tensor* t = graph_.constant(v)) {
    if (t->elements() != 1) return std::nullopt;
    if (!assay::is_float(t->dtype()) && !is_integer(t->dtype())) return std::nullopt;
    if (bits_of(t->dtype()) < 8 || (assay::is_float(t->dtype()) && bits_of(t->dtype()) == 8)) return std::nullopt;
    return static_cast<double>(to_float32(*t).values<float>()[0]);
  }
  const Node* n = graph_.producer(v);
  if (n == nullptr || !n->domain.empty()) return std::nullopt;
  if (n->op_type == "Constant") {
    if (n->has("value_float")) return static_cast<double>(n->get_float("value_float", 0));
    if (n->has("value_int")) return static_cast<double>(n->get_int("value_int", 0));
    const Tensor* t = n->get_tensor("value");
    if (t == nullptr || t->elements() != 1 || t->dtype() == DType::kString) return std::nullopt;
    return static_cast<double>(to_float32(*t).values<float>()[0]);
  }
  static const std::set<std::string, std::less<>> kSame{"Cast",    "Identity", "Unsqueeze", "Squeeze",
                                                        "Reshape", "Expand",   "CastLike"};
  if (kSame.count(n->op_type) > 0) return scalar(n->input(0), depth - 1);
  if (n->op_type == "Sqrt" || n->op_type == "Reciprocal" || n->op_type == "Neg") {
    const auto a = scalar(n->input(0), depth - 1);
    if (!a) return a;
    if (n->op_type == "Sqrt") return std::sqrt(*a);
    return n->op_type == "Neg" ? -*a : 1.0 / *a;
  }
  if (n->op_type == "Mul" || n->op_type == "Div" || n->op_type == "Add" || n->op_type == "Sub") {
    const auto a = scalar(n->input(0), depth - 1);
    if (!a) return a;
    const auto b = scalar(n->input(1), depth - 1);
    if (!b) return b;
    if (n->op_type == "Mul") return *a * *b;
    if (n->op_type == "Add") return *a + *b;
    if (n->op_type == "Sub") return *a - *b;
    return *b == 0.0 ? std::nullopt : std::optional(*a / *b);
  }
  return std::nullopt;
}

ValueId View::strip(ValueId v) const {
  for (const Node* n = graph_.producer(v); n != nullptr && passes_through(*n); n = graph_.producer(v)) v = n->input(0);
  return v;
}

bool View::is_float(ValueId v) const {
  if (v == kNoValue) return false;
  const DType t = graph_.constant(v) != nullptr ? graph_.constant(v)->dtype() : graph_.value(v).type.dtype;
  return t == DType::kUndefined || assay::is_float(t);
}

bool passes_through(const Node& n) {
  return n.domain.empty() && !n.inputs.empty() && n.input(0) != kNoValue &&
         (n.op_type == "Cast" || n.op_type == "Identity" || n.op_type == "Dropout" || n.op_type == "CastLike");
}

std::string spelling_of(const View& view, std::vector<NodeId> nodes) {
  std::sort(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) { return view.place(a) < view.place(b); });
  std::string out;
  std::set<std::string> seen;
  for (NodeId id : nodes)
    if (const auto& type = view.graph().node(id).op_type; seen.insert(type).second)
      out += (out.empty() ? "" : "/") + type;
  return out;
}

namespace {

std::vector<PatternMatch> find_residual(const View& view) {
  const Graph& g = view.graph();
  std::set<NodeId> inner;  // Adds inside a GELU's polynomial or a normalisation join a value with its function, too
  std::vector<PatternMiss> unused;
  for (const auto& m : find_gelu(view, unused)) inner.insert(m.nodes.begin(), m.nodes.end());
  for (const auto& m : find_layernorm(view, unused)) inner.insert(m.nodes.begin(), m.nodes.end());
  std::vector<PatternMatch> out;
  const auto computed_from = [&](ValueId v, ValueId ancestor) {
    std::vector<ValueId> stack{v};
    std::set<NodeId> seen;
    const NodeId from = view.producer(ancestor);
    const int floor = from == kNoNode ? -1 : view.place(from);
    while (!stack.empty()) {
      const ValueId at = stack.back();
      stack.pop_back();
      if (at == ancestor) return true;
      const NodeId p = view.producer(at);
      if (p == kNoNode || view.place(p) <= floor || !seen.insert(p).second) continue;
      for (ValueId in : g.node(p).inputs)
        if (in != kNoValue) stack.push_back(in);
    }
    return false;
  };
  for (NodeId id : view.order()) {
    const Node& n = g.node(id);
    if (!n.domain.empty() && n.op_type.rfind("Skip", 0) == 0) {
      out.push_back({Pattern::kResidual, {id}, n.input(0), n.output(0), "fused " + n.op_type});
      continue;
    }
    if (!n.is("Add") || n.inputs.size() != 2) continue;
    const ValueId a = n.input(0), b = n.input(1);
    if (!view.is_float(a) || !view.is_float(b)) continue;
    if (view.producer_is(a, "Add") != nullptr || view.producer_is(b, "Add") != nullptr) {
      out.push_back({Pattern::kResidual, {id}, kNoValue, n.output(0), "Add of an Add"});
      continue;
    }
    if (view.is_constant(a) || view.is_constant(b) || inner.count(id) > 0) continue;
    const ValueId sa = view.strip(a), sb = view.strip(b);
    if (sa != sb && (computed_from(sa, sb) || computed_from(sb, sa)))
      out.push_back({Pattern::kResidual, {id}, kNoValue, n.output(0), "skip connection"});
  }
  return out;
}

// The Gather behind a value, through casts and reshapes; kNoNode when there is none.
NodeId gather_behind(const View& view, ValueId v) {
  static const std::set<std::string, std::less<>> kReshaping{"Reshape", "Unsqueeze", "Squeeze", "Flatten", "Expand"};
  for (int step = 0; step < 8; ++step) {
    v = view.strip(v);
    const NodeId p = view.producer(v);
    if (p == kNoNode) return kNoNode;
    const Node& n = view.graph().node(p);
    if (n.is("Gather")) return p;
    if (!n.domain.empty() || kReshaping.count(n.op_type) == 0) return kNoNode;
    v = n.input(0);
  }
  return kNoNode;
}

std::vector<PatternMatch> find_gather(const View& view) {
  const Graph& g = view.graph();
  std::vector<PatternMatch> out;
  for (NodeId id : view.order()) {
    const Node& n = g.node(id);
    if (!n.domain.empty() && n.op_type == "EmbedLayerNormalization") {
      out.push_back({Pattern::kGather, {id}, n.input(0), n.output(0), "fused " + n.op_type});
      continue;
    }
    if (!n.is("Add")) continue;
    PatternMatch m{Pattern::kGather, {id}, kNoValue, n.output(0), "Add of a Gather"};
    for (ValueId v : n.inputs)
      if (const NodeId gather = gather_behind(view, v); gather != kNoNode) m.nodes.push_back(gather);
    if (m.nodes.size() == 1) continue;
    std::sort(m.nodes.begin(), m.nodes.end());
    m.nodes.erase(std::unique(m.nodes.begin(), m.nodes.end()), m.nodes.end());
    out.push_back(std::move(m));
  }
  return out;
}

// What masks the scores before a softmax: the Adds, Subs and Wheres directly before it, with the casts between.
void add_masks(const View& view, ValueId v, int depth, std::set<NodeId>& nodes) {
  const NodeId p = view.producer(v);
  if (p == kNoNode || depth == 0 || view.is_constant(v)) return;
  const Node& n = view.graph().node(p);
  if (passes_through(n)) {
    std::set<NodeId> before;
    add_masks(view, n.input(0), depth, before);
    if (before.empty()) return;
    nodes.insert(p);
    nodes.insert(before.begin(), before.end());
  } else if (n.is("Add") || n.is("Sub")) {
    nodes.insert(p);
    for (ValueId in : n.inputs) add_masks(view, in, depth - 1, nodes);
  } else if (n.is("Where")) {
    nodes.insert(p);
    add_masks(view, n.input(1), depth - 1, nodes);
    add_masks(view, n.input(2), depth - 1, nodes);
  }
}

std::vector<PatternMatch> find_softmax(const View& view) {
  const Graph& g = view.graph();
  std::vector<PatternMatch> out;
  for (NodeId id : view.order()) {
    const Node& n = g.node(id);
    std::set<NodeId> nodes{id};
    PatternMatch m;
    m.pattern = Pattern::kSoftmax;
    if (n.is("Softmax")) {
      m.input = n.input(0);
      m.spelling = "Softmax";
    } else if (n.is("Div")) {
      const ValueId e = view.strip(n.input(0));
      const Node* sum = view.producer_is(view.strip(n.input(1)), "ReduceSum");
      const Node* exp = view.producer_is(e, "Exp");
      if (exp == nullptr || sum == nullptr || view.strip(sum->input(0)) != e) continue;
      nodes.insert({view.producer(e), view.producer(view.strip(n.input(1)))});
      m.input = exp->input(0);
      m.spelling = "Exp/ReduceSum/Div";
      const Node* sub = view.producer_is(view.strip(m.input), "Sub");
      const Node* max = sub == nullptr ? nullptr : view.producer_is(view.strip(sub->input(1)), "ReduceMax");
      if (max != nullptr && view.strip(max->input(0)) == view.strip(sub->input(0))) {
        nodes.insert({view.producer(view.strip(m.input)), view.producer(view.strip(sub->input(1)))});
        m.input = sub->input(0);
        m.spelling = "ReduceMax/Sub/Exp/ReduceSum/Div";
      }
    } else {
      continue;
    }
    m.output = n.output(0);
    const size_t own = nodes.size();
    add_masks(view, m.input, 4, nodes);
    if (nodes.size() > own) m.spelling += ", masked";
    for (NodeId user : g.value(m.output).users) {  // rows masked as a whole: Where(IsNaN(p), 0, p)
      if (!g.node(user).is("IsNaN")) continue;
      for (NodeId guard : g.value(g.node(user).outputs[0]).users)
        if (g.node(guard).is("Where")) nodes.insert({user, guard});
    }
    m.nodes.assign(nodes.begin(), nodes.end());
    out.push_back(std::move(m));
  }
  return out;
}

}  // namespace
}  // namespace patterns

namespace {
constexpr std::array<std::string_view, 5> kNames{"layernorm", "gelu", "residual", "gather", "softmax"};
}  // namespace

std::string_view to_string(Pattern pattern) { return kNames[static_cast<size_t>(pattern)]; }

std::optional<Pattern> pattern_from_name(std::string_view name) {
  const auto it = std::find(kNames.begin(), kNames.end(), name);
  if (it == kNames.end()) return std::nullopt;
  return static_cast<Pattern>(it - kNames.begin());
}

std::string pattern_names() { return "layernorm, gelu, residual, gather, softmax"; }

std::vector<PatternMatch> find_pattern(const Graph& graph, Pattern pattern, std::vector<PatternMiss>* misses) {
  const patterns::View view(graph);
  std::vector<PatternMiss> found;
  std::vector<PatternMatch> out;
  switch (pattern) {
    case Pattern::kLayerNorm:
      out = patterns::find_layernorm(view, found);
      break;
    case Pattern::kGelu:
      out = patterns::find_gelu(view, found);
      break;
    case Pattern::kResidual:
      out = patterns::find_residual(view);
      break;
    case Pattern::kGather:
      out = patterns::find_gather(view);
      break;
    case Pattern::kSoftmax:
      out = patterns::find_softmax(view);
      break;
  }
  std::sort(out.begin(), out.end(),
            [](const PatternMatch& a, const PatternMatch& b) { return a.nodes.front() < b.nodes.front(); });
  if (misses != nullptr) *misses = std::move(found);
  return out;
}

}  // namespace assay
