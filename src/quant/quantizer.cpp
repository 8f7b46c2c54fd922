#include "quant/quantizer.h"

#include <algorithm>
#include <set>

#include "quant/decide.h"
#include "quant/rewrite.h"

namespace assay::quant {
namespace {

// Inputs with a default value that nobody reads any more.
void drop_unread_defaults(Graph& g, std::vector<std::string>& notes) {
  for (ValueId v : g.inputs)
    if (g.constant(v) != nullptr && g.value(v).users.empty())
      notes.push_back(
          fmt::format("input '{}' had a default that is quantized now: it can be given no more", g.value(v).name));
  g.inputs.erase(std::remove_if(g.inputs.begin(), g.inputs.end(),
                                [&](ValueId v) { return g.constant(v) != nullptr && g.value(v).users.empty(); }),
                 g.inputs.end());
}

void clean(Graph& g, std::vector<std::string>& notes) {
  for (NodeId id : g.topological_order()) {
    for (Graph* body : subgraphs(g.node(id))) clean(*body, notes);
  }
  drop_unread_defaults(g, notes);
  g.remove_dead();
}

// Captures nobody inside a body reads any more keep outer constants alive.
void drop_unread_captures(Graph& g) {
  for (NodeId id : g.topological_order())
    for (Graph* body : subgraphs(g.node(id))) {
      drop_unread_captures(*body);
      auto& captures = body->captures;
      for (size_t i = captures.size(); i-- > 0;) {
        const Capture c = captures[i];
        if (!body->value(c.inner).users.empty() || body->is_output(c.inner)) continue;
        auto& users = g.value(c.outer).users;
        users.erase(std::find(users.begin(), users.end(), id));
        captures.erase(captures.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
}

}  // namespace

struct Quantizer::State {
  QuantScheme scheme;
  Prepared prepared;
  Decisions decisions;
  bool done = false;

  State(const Model& model, const QuantScheme& s) : scheme(s), prepared(model, s), decisions(decide(prepared, s)) {}
};

Quantizer::Quantizer(const Model& model, const QuantScheme& scheme) {
  scheme.check();
  state_ = std::make_unique<State>(model, scheme);
}
Quantizer::~Quantizer() = default;

const QuantPlan& Quantizer::plan() const { return state_->decisions.plan; }
const Model& Quantizer::float_model() const { return state_->prepared.model; }

std::vector<std::string> Quantizer::tensors_to_observe() const {
  const Decisions& d = state_->decisions;
  const Graph& g = state_->prepared.model.graph;
  std::set<std::string> names;
  for (ValueId v : d.quantized_values) {
    ValueId root = v;
    for (auto it = d.shares_scale_of.find(root); it != d.shares_scale_of.end(); it = d.shares_scale_of.find(root))
      root = it->second;
    if (d.unit_range.count(root) == 0) names.insert(g.value(root).name);
  }
  return {names.begin(), names.end()};
}

Model Quantizer::quantize(const Calibration* calibration, int threads) {
  State& s = *state_;
  require(!s.done, ErrorCode::kInvalidArgument, "this quantizer has given its model already");
  if (s.scheme.approach == Approach::kDynamic) {
    rewrite_dynamic(s.prepared, s.decisions, threads);
  } else {
    require(calibration != nullptr, ErrorCode::kInvalidArgument,
            "static quantization needs calibration data: give --calibration-data, or use --approach dynamic");
    rewrite_static(s.prepared, s.decisions, *calibration, threads);
  }
  s.done = true;
  Model& m = s.prepared.model;
  clean(m.graph, s.decisions.plan.notes);
  drop_unread_captures(m.graph);
  clean(m.graph, s.decisions.plan.notes);
  m.producer_name = "assay";
  return m;
}

void Quantizer::measure_weights(int threads) {
  State& s = *state_;
  require(!s.done, ErrorCode::kInvalidArgument, "weights are measured before quantizing");
  for (const Decision& d : s.decisions.nodes) {
    if (d.action == Action::kFloat) continue;
    for (const OperandPlan& o : d.operands) {
      if (o.kind != OperandPlan::Kind::kWeight) continue;
      const Tensor& w = *s.prepared.constant(o.weight.base);
      const Tensor back = dequantize(quantize_tensor(w, o.spec, threads));
      s.decisions.plan.nodes[d.line].weight_sqnr_db =
          sqnr_db(w.values<float>().data(), back.values<float>().data(), w.elements());
    }
  }
}

Model quantize_dynamic(const Model& model, const QuantScheme& scheme, QuantPlan* plan, int threads) {
  require(scheme.approach == Approach::kDynamic, ErrorCode::kInvalidArgument, "the scheme is not dynamic");
  Quantizer quantizer(model, scheme);
  Model out = quantizer.quantize(nullptr, threads);
  if (plan != nullptr) *plan = quantizer.plan();
  return out;
}

}  // namespace assay::quant
