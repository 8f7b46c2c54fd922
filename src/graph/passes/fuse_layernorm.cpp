#include "graph/passes/fuse_layernorm.h"

#include <cmath>

#include "graph/patterns.h"

namespace assay {
namespace {

struct Norm {
  bool rms = false;
  float eps = 0;
  ValueId gamma = kNoValue, beta = kNoValue;
};

/// Whether every recorded output is the normalisation of the recorded input.
bool explains(const Graph& g, const Witness& w, ValueId x, ValueId y, const Norm& norm) {
  for (size_t r = 0; r < w.runs.size(); ++r) {
    const Tensor* in = w.value(r, x);
    const Tensor* out = w.value(r, y);
    if (in == nullptr || out == nullptr || in->dtype() != DType::kFloat32 || out->dtype() != DType::kFloat32 ||
        !(in->shape() == out->shape()) || in->shape().rank() < 1)
      return false;
    const int64_t n = in->shape()[in->shape().rank() - 1];
    const auto vector_at = [&](ValueId v, int64_t i, double otherwise) {
      return v == kNoValue ? otherwise : static_cast<double>(g.constant(v)->values<float>()[static_cast<size_t>(i)]);
    };
    if ((norm.gamma != kNoValue && g.constant(norm.gamma)->elements() != n) ||
        (norm.beta != kNoValue && g.constant(norm.beta)->elements() != n))
      return false;
    const float* a = in->values<float>().data();
    const float* b = out->values<float>().data();
    for (int64_t row = 0; row < in->elements(); row += n) {
      double mean = 0, square = 0;
      for (int64_t i = 0; i < n; ++i) mean += a[row + i];
      mean = norm.rms ? 0 : mean / static_cast<double>(n);
      for (int64_t i = 0; i < n; ++i) square += (a[row + i] - mean) * (a[row + i] - mean);
      const double scale = 1 / std::sqrt(square / static_cast<double>(n) + norm.eps);
      for (int64_t i = 0; i < n; ++i) {
        const double want = (a[row + i] - mean) * scale * vector_at(norm.gamma, i, 1) + vector_at(norm.beta, i, 0);
        if (!(std::fabs(want - b[row + i]) <= 1e-4 * (1 + std::fabs(want)))) return false;
      }
    }
  }
  return !w.runs.empty();
}

double gelu(double x, bool tanh_form) {
  return tanh_form ? 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)))
                   : 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
}

bool explains_gelu(const Witness& w, ValueId x, ValueId y, bool tanh_form) {
  for (size_t r = 0; r < w.runs.size(); ++r) {
    const Tensor* in = w.value(r, x);
    const Tensor* out = w.value(r, y);
    if (in == nullptr || out == nullptr || in->dtype() != DType::kFloat32 || out->dtype() != DType::kFloat32 ||
        in->elements() != out->elements())
      return false;
    for (int64_t i = 0; i < in->elements(); ++i) {
      const double v = in->values<float>()[static_cast<size_t>(i)];
      if (!(std::fabs(gelu(v, tanh_form) - out->values<float>()[static_cast<size_t>(i)]) <= 2e-6 * (1 + std::fabs(v))))
        return false;
    }
  }
  return !w.runs.empty();
}

void note_misses(const Graph& graph, std::string_view pass, const std::vector<PatternMiss>& misses,
                 std::vector<FusionNote>& notes) {
  for (const PatternMiss& m : misses)
    notes.push_back({std::string(pass), m.node != kNoNode && graph.alive(m.node) ? graph.node(m.node).label() : "graph",
                     false, m.reason});
}

}  // namespace

void fuse_layernorm(Graph& graph, Witness& witness, std::vector<FusionNote>& notes) {
  std::vector<PatternMiss> misses;
  for (const PatternMatch& match : find_pattern(graph, Pattern::kLayerNorm, &misses)) {
    if (match.nodes.size() < 2 || match.input == kNoValue || match.output == kNoValue) continue;
    const std::string label = graph.node(match.nodes[0]).label();
    // What the structure holds of constants: epsilons and, one element a feature, scale and shift.
    std::vector<float> epsilons = {0.0f};
    std::vector<ValueId> vectors = {kNoValue};
    for (const NodeId id : match.nodes)
      for (const ValueId v : graph.node(id).inputs) {
        const auto scalar = v == kNoValue ? std::nullopt : scalar_constant(graph, v);
        if (scalar && *scalar > 0 && *scalar <= 0.01f) epsilons.push_back(*scalar);
        const Tensor* t = graph.constant(v);
        if (t != nullptr && t->dtype() == DType::kFloat32 && t->elements() > 1) vectors.push_back(v);
      }
    std::optional<Norm> found;
    for (size_t e = epsilons.size(); e-- > 0 && !found;)  // the written epsilon before none
      for (const ValueId gamma : vectors)
        for (const ValueId beta : vectors)
          for (const bool rms : {false, true}) {
            const Norm norm{rms, epsilons[e], gamma, beta};
            if (!found && (gamma == kNoValue || gamma != beta) && !(rms && beta != kNoValue) &&
                explains(graph, witness, match.input, match.output, norm))
              found = norm;
          }
    if (!found) {
      notes.push_back({"layernorm", label, false, "the recorded values are not a normalisation over the last axis"});
      continue;
    }
    const Tensor* like = witness.value(0, match.input);
    ValueId gamma = found->gamma;
    const int64_t n = like->shape()[like->shape().rank() - 1];
    if (gamma == kNoValue) {
      Tensor ones(DType::kFloat32, {n});
      std::fill_n(ones.mutable_view().as<float>(), n, 1.0f);
      gamma = graph.add_constant(std::move(ones));
    } else if (graph.constant(gamma)->shape().rank() != 1) {
      gamma = graph.add_constant(graph.constant(gamma)->reshaped({n}));
    }
    ValueId beta = found->beta;
    if (beta != kNoValue && graph.constant(beta)->shape().rank() != 1)
      beta = graph.add_constant(graph.constant(beta)->reshaped({n}));
    Node fused;
    fused.name = graph.node(match.nodes.back()).name;
    fused.op_type = found->rms ? "RMSNormalization" : "LayerNormalization";
    fused.version = found->rms ? 23 : 17;
    fused.attributes["axis"] = int64_t{-1};
    fused.attributes["epsilon"] = found->eps;
    fused.inputs = {match.input, gamma};
    if (beta != kNoValue) fused.inputs.push_back(beta);
    replace_value(graph, match.output, std::move(fused), &witness);
    notes.push_back(
        {"layernorm", label, true,
         fmt::format("{} nodes, written as {}, epsilon {:g}", match.nodes.size(), match.spelling, found->eps)});
  }
  note_misses(graph, "layernorm", misses, notes);
  graph.remove_dead();
}

void fuse_gelu(Graph& graph, Witness& witness, std::vector<FusionNote>& notes) {
  std::vector<PatternMiss> misses;
  for (const PatternMatch& match : find_pattern(graph, Pattern::kGelu, &misses)) {
    if (match.nodes.size() < 2 || match.input == kNoValue || match.output == kNoValue) continue;
    const std::string label = graph.node(match.nodes[0]).label();
    const bool erf = explains_gelu(witness, match.input, match.output, false);
    if (!erf && !explains_gelu(witness, match.input, match.output, true)) {
      notes.push_back({"gelu", label, false, "the recorded values are neither the erf nor the tanh form"});
      continue;
    }
    Node fused;
    fused.name = graph.node(match.nodes.back()).name;
    fused.op_type = "Gelu";
    fused.version = 20;
    fused.attributes["approximate"] = std::string(erf ? "none" : "tanh");
    fused.inputs = {match.input};
    replace_value(graph, match.output, std::move(fused), &witness);
    notes.push_back({"gelu", label, true, fmt::format("{} nodes, {}", match.nodes.size(), erf ? "erf" : "tanh")});
  }
  note_misses(graph, "gelu", misses, notes);
  graph.remove_dead();
}

}  // namespace assay
