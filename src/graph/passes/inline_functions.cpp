#include "graph/passes/inline_functions.h"

#include <set>
#include <tuple>

namespace assay {
namespace {

constexpr size_t kNodeLimit = 250'000;

using Key = std::tuple<std::string, std::string, std::string>;
using Attributes = std::map<std::string, Attribute, std::less<>>;

/// Puts the call's attributes where the body refers to them.
void substitute(Attributes& attributes, const Node& call, const Function& f);

void substitute(Graph& g, const Node& call, const Function& f) {
  for (size_t i = 0; i < g.node_slots(); ++i)
    if (g.alive(static_cast<NodeId>(i))) substitute(g.node(static_cast<NodeId>(i)).attributes, call, f);
}

void substitute(Attributes& attributes, const Node& call, const Function& f) {
  for (auto it = attributes.begin(); it != attributes.end();) {
    if (const auto* ref = std::get_if<AttributeRef>(&it->second)) {
      const auto given = call.attributes.find(ref->name);
      const auto fallback = f.defaults.find(ref->name);
      if (given != call.attributes.end()) {
        Attribute value = given->second;
        it->second = std::move(value);
      } else if (fallback != f.defaults.end()) {
        it->second = fallback->second;
      } else {
        it = attributes.erase(it);
        continue;
      }
    } else if (auto* g = std::get_if<std::shared_ptr<Graph>>(&it->second)) {
      substitute(**g, call, f);
    } else if (auto* list = std::get_if<std::vector<std::shared_ptr<Graph>>>(&it->second)) {
      for (auto& sub : *list) substitute(*sub, call, f);
    }
    ++it;
  }
}

/// What a Constant node holds once its attribute is known, or an empty tensor when that is not known yet.
Tensor constant_of(const Node& n) {
  if (!n.is("Constant") || n.attributes.size() != 1) return {};
  const Attribute& a = n.attributes.begin()->second;
  if (const auto* t = std::get_if<Tensor>(&a)) return *t;
  if (const auto* i = std::get_if<int64_t>(&a)) return Tensor::scalar(*i);
  if (const auto* f = std::get_if<float>(&a)) return Tensor::scalar(*f);
  if (const auto* s = std::get_if<std::string>(&a)) return Tensor::strings(Shape{}, {*s});
  if (const auto* v = std::get_if<std::vector<int64_t>>(&a))
    return Tensor::from<int64_t>(Shape{static_cast<int64_t>(v->size())}, *v);
  if (const auto* v = std::get_if<std::vector<float>>(&a))
    return Tensor::from<float>(Shape{static_cast<int64_t>(v->size())}, *v);
  if (const auto* v = std::get_if<std::vector<std::string>>(&a))
    return Tensor::strings(Shape{static_cast<int64_t>(v->size())}, *v);
  return {};
}

class Inliner {
 public:
  explicit Inliner(Model& model) : model_(model) {
    for (size_t i = 0; i < model.functions.size(); ++i) {
      const Function& f = model.functions[i];
      known_.emplace(Key{f.domain, f.name, f.overload}, i);
    }
    state_.resize(model.functions.size(), State::kUntouched);
  }

  int run() {
    calls(model_.graph);
    model_.functions.clear();
    return count_;
  }

 private:
  enum class State { kUntouched, kOpen, kDone };

  void calls(Graph& g) {
    const size_t slots = g.node_slots();
    for (size_t i = 0; i < slots; ++i) {
      const auto id = static_cast<NodeId>(i);
      if (!g.alive(id)) continue;
      for (Graph* sub : subgraphs(g.node(id))) calls(*sub);
      const auto it = known_.find(Key{g.node(id).domain, g.node(id).op_type, g.node(id).overload});
      if (it == known_.end()) continue;
      const std::string label = g.node(id).label();
      try {
        unfold(g, id, prepared(it->second));
      } catch (Error& e) {
        throw e.at("node", label);
      }
    }
  }

  /// The function with its own calls already unfolded.
  const Function& prepared(size_t i) {
    Function& f = model_.functions[i];
    require(state_[i] != State::kOpen, ErrorCode::kBadFile, "function '{}' calls itself", f.name);
    if (state_[i] == State::kUntouched) {
      state_[i] = State::kOpen;
      calls(f.body);
      state_[i] = State::kDone;
    }
    return f;
  }

  void unfold(Graph& g, NodeId id, const Function& f) {
    const Node call = g.node(id);
    const Graph& body = f.body;
    require(call.inputs.size() <= body.inputs.size() && call.outputs.size() <= body.outputs().size(),
            ErrorCode::kBadFile, "{} inputs and {} outputs, function '{}' has {} and {}", call.inputs.size(),
            call.outputs.size(), f.name, body.inputs.size(), body.outputs().size());
    const std::string prefix = call.name.empty() ? f.name + "/" : call.name + "/";
    std::vector<ValueId> map(body.value_count(), kNoValue);
    for (size_t i = 0; i < body.inputs.size(); ++i) map[static_cast<size_t>(body.inputs[i])] = call.input(i);
    for (size_t v = 0; v < body.value_count(); ++v) {
      const Value& value = body.value(static_cast<ValueId>(v));
      if (value.constant) map[v] = g.add_constant(value.constant, prefix + value.name);
    }
    for (NodeId b : body.topological_order()) add_copy(g, body, body.node(b), call, f, prefix, map);
    std::set<ValueId> claimed;
    for (size_t o = 0; o < call.outputs.size(); ++o) {
      const ValueId old = call.outputs[o];
      if (old == kNoValue) continue;
      ValueId made = map[static_cast<size_t>(body.outputs()[o])];
      require(made != kNoValue, ErrorCode::kBadFile, "output {} is an input that the call leaves out", o);
      // A name of its own needs a value of its own: not an input, a constant, or one that another output took.
      if (g.value(made).producer == kNoNode || is_argument(call, made) || !claimed.insert(made).second) {
        const int version = f.opsets.count("") != 0 ? f.opsets.at("") : 0;
        made = g.node(g.add_node("Identity", {made}, 1, prefix + "Identity", "", version)).outputs[0];
      }
      g.value(made).name = g.value(old).name;
      g.value(made).type = g.value(old).type;
      g.replace_uses(old, made);
      g.value(old).name.clear();
    }
    g.erase_node(id);
    ++count_;
  }

  static bool is_argument(const Node& call, ValueId v) {
    for (ValueId in : call.inputs)
      if (in == v) return true;
    return false;
  }

  void add_copy(Graph& g, const Graph& body, const Node& source, const Node& call, const Function& f,
                const std::string& prefix, std::vector<ValueId>& map) {
    require(++nodes_ <= kNodeLimit, ErrorCode::kResourceExhausted, "the functions unfold beyond {} nodes", kNodeLimit);
    Node n = source;
    for (auto& [key, attribute] : n.attributes) {
      if (auto* sub = std::get_if<std::shared_ptr<Graph>>(&attribute)) *sub = copy_subgraph(**sub, map);
      if (auto* list = std::get_if<std::vector<std::shared_ptr<Graph>>>(&attribute))
        for (auto& sub : *list) sub = copy_subgraph(*sub, map);
    }
    substitute(n.attributes, call, f);
    if (Tensor constant = constant_of(n)) {
      const ValueId out = n.outputs.at(0);
      map[static_cast<size_t>(out)] = g.add_constant(std::move(constant), prefix + body.value(out).name);
      return;
    }
    n.name = prefix + (n.name.empty() ? n.op_type : n.name);
    const int repeats = names_[n.name]++;
    if (repeats > 0) n.name += fmt::format("_{}", repeats);
    for (ValueId& v : n.inputs)
      if (v != kNoValue) v = map[static_cast<size_t>(v)];
    for (ValueId& v : n.outputs) {
      if (v == kNoValue) continue;
      const Value& old = body.value(v);
      const ValueId made = g.add_value(prefix + old.name, old.type);
      map[static_cast<size_t>(v)] = made;
      v = made;
    }
    g.add_node(std::move(n));
  }

  static std::shared_ptr<Graph> copy_subgraph(const Graph& sub, const std::vector<ValueId>& map) {
    auto copy = std::make_shared<Graph>(sub.clone());
    for (Capture& c : copy->captures) {
      c.outer = map[static_cast<size_t>(c.outer)];
      require(c.outer != kNoValue, ErrorCode::kUnsupported,
              "an input that the call leaves out is used inside a subgraph of the function");
    }
    return copy;
  }

  Model& model_;
  std::map<Key, size_t> known_;
  std::vector<State> state_;
  std::map<std::string, int> names_;  ///< how often a node name was given
  int count_ = 0;
  size_t nodes_ = 0;
};

}  // namespace

int inline_functions(Model& model) { return Inliner(model).run(); }

}  // namespace assay
