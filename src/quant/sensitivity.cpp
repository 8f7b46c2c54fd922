#include "quant/sensitivity.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/program.h"

namespace assay::quant {
namespace {

// Noise over signal, a mean over rows: a few rows of huge values do not hide that the others are lost.
struct RowNoise {
  double ratios = 0.0;
  int64_t rows = 0;
  void add(const TensorView& exact, const TensorView& got) {
    if (exact.dtype != DType::kFloat32 || got.dtype != DType::kFloat32 || !(exact.shape == got.shape)) return;
    const auto x = exact.values<float>(), y = got.values<float>();
    const int rank = exact.shape.rank();
    const auto width = static_cast<size_t>(rank == 0 ? 1 : exact.shape[rank - 1]);
    for (size_t row = 0; row + width <= x.size() && width > 0; row += width) {
      double signal = 0.0, noise = 0.0;
      for (size_t i = row; i < row + width; ++i) {
        if (!std::isfinite(x[i]) || !std::isfinite(y[i])) continue;  // masks of -infinity
        const double a = static_cast<double>(x[i]), d = a - static_cast<double>(y[i]);
        signal += a * a;
        noise += d * d;
      }
      if (signal > 0.0) ratios += std::min(noise / signal, 1.0);
      if (signal == 0.0 && noise > 0.0) ratios += 1.0;
      ++rows;
    }
  }
  double db() const {
    if (rows == 0 || ratios == 0.0) return std::numeric_limits<double>::infinity();
    return -10.0 * std::log10(ratios / static_cast<double>(rows));
  }
};

// A comparison of two tensors of the same sample.
struct Comparison {
  std::string exact, got;
  RowNoise noise;
};

// For a quantized activation: the tensor before its QuantizeLinear and the one after its DequantizeLinear.
std::vector<std::pair<std::string, std::string>> rounded_inputs(const Graph& g, const Node& n) {
  std::vector<std::pair<std::string, std::string>> out;
  for (ValueId v : n.inputs) {
    const Node* dq = g.producer(v);
    if (dq == nullptr || !dq->is("DequantizeLinear")) continue;
    const Node* q = g.producer(dq->input(0));
    if (q != nullptr && q->is("QuantizeLinear")) out.emplace_back(g.value(q->input(0)).name, g.value(v).name);
  }
  return out;
}

// Tensors kept while one sample runs.
using Kept = std::map<std::string, Tensor>;

void keep(ActivationSource& source, const std::vector<std::string>& names, const Sample& sample, Kept& kept) {
  source.watch(names);
  source.run(sample, [&](size_t i, const TensorView& value) { kept[names[i]] = copy_of(value); });
}

}  // namespace

std::vector<NodeNoise> measure_noise(const Model& float_model, const Model& quantized, const QuantPlan& plan,
                                     const std::vector<Sample>& samples, const NoiseOptions& options,
                                     Progress& progress) {
  require(!samples.empty(), ErrorCode::kInvalidArgument, "there is no sample to measure noise on");
  std::vector<NodeNoise> out;
  std::vector<Comparison> results;                   // of out[i]: float against quantized
  std::vector<std::vector<Comparison>> activations;  // of out[i]: before against after rounding
  std::map<std::string, NodeId> by_name;
  for (NodeId id : quantized.graph.topological_order()) by_name[quantized.graph.node(id).name] = id;
  for (const NodePlan& line : plan.nodes) {
    if (!line.quantized() || !line.scope.empty()) continue;
    out.push_back({line.node, line.op_type, 0.0, std::nullopt, {}, line.weight_sqnr_db});
    results.push_back({line.output, line.output, {}});
    activations.emplace_back();
    if (const auto it = by_name.find(line.node); it != by_name.end())
      for (auto& [before, after] : rounded_inputs(quantized.graph, quantized.graph.node(it->second)))
        activations.back().push_back({before, after, {}});
  }
  const auto exact = make_engine_source(float_model, options.threads);
  const auto rounded = make_engine_source(quantized, options.threads);
  progress.begin("measuring noise", static_cast<int64_t>(samples.size()));
  for (const Sample& given : samples) {
    require(!progress.interrupted(), ErrorCode::kDeadline, "measuring noise was interrupted");
    const Sample sample = options.trim_padding ? trim_padding(float_model, given) : given;
    const size_t step = std::max<size_t>(options.tensors_at_once, 1);
    for (size_t from = 0; from < out.size(); from += step) {
      const size_t to = std::min(out.size(), from + step);
      Kept kept_exact, kept_rounded;
      std::vector<std::string> want_exact, want_rounded;
      for (size_t i = from; i < to; ++i) {
        want_exact.push_back(results[i].exact);
        want_rounded.push_back(results[i].got);
        for (const Comparison& c : activations[i]) {
          want_rounded.push_back(c.exact);
          want_rounded.push_back(c.got);
        }
      }
      for (auto* names : {&want_exact, &want_rounded}) {
        std::sort(names->begin(), names->end());
        names->erase(std::unique(names->begin(), names->end()), names->end());
      }
      keep(*exact, want_exact, sample, kept_exact);
      keep(*rounded, want_rounded, sample, kept_rounded);
      for (size_t i = from; i < to; ++i) {
        results[i].noise.add(kept_exact[results[i].exact], kept_rounded[results[i].got]);
        for (Comparison& c : activations[i]) c.noise.add(kept_rounded[c.exact], kept_rounded[c.got]);
      }
    }
    progress.advance();
  }
  progress.end();
  for (size_t i = 0; i < out.size(); ++i) {
    out[i].output_sqnr_db = results[i].noise.db();
    for (const Comparison& c : activations[i])
      if (!out[i].activation_sqnr_db || c.noise.db() < *out[i].activation_sqnr_db) {
        out[i].activation_sqnr_db = c.noise.db();
        out[i].activation = c.exact;
      }
  }
  return out;
}

std::vector<NodeNoise> worst_nodes(std::vector<NodeNoise> nodes, size_t count) {
  const auto own = [](const NodeNoise& n) {
    const double none = std::numeric_limits<double>::infinity();
    const double local = std::min(n.activation_sqnr_db.value_or(none), n.weight_sqnr_db.value_or(none));
    return std::isinf(local) ? n.output_sqnr_db : local;
  };
  std::stable_sort(nodes.begin(), nodes.end(), [&](const NodeNoise& a, const NodeNoise& b) { return own(a) < own(b); });
  if (nodes.size() > count) nodes.resize(count);
  return nodes;
}

nlohmann::json to_json(const NodeNoise& n) {
  const auto number = [](double db) { return std::isfinite(db) ? nlohmann::json(db) : nlohmann::json(nullptr); };
  nlohmann::json out = {{"node", n.node}, {"op", n.op_type}, {"output_sqnr_db", number(n.output_sqnr_db)}};
  if (n.activation_sqnr_db) {
    out["activation_sqnr_db"] = number(*n.activation_sqnr_db);
    out["activation"] = n.activation;
  }
  if (n.weight_sqnr_db) out["weight_sqnr_db"] = number(*n.weight_sqnr_db);
  return out;
}

}  // namespace assay::quant
