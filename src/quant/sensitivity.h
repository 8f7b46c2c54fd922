#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.h"
#include "quant/calibrator.h"
#include "quant/plan.h"

namespace assay::quant {

/// How far a quantized node's numbers are from the float model's, as signal to noise in dB (of the mean over rows of
/// noise energy over signal energy, each row counting at most 1): 40 is hardly felt, below 20 answers suffer, 0 is all
/// noise.
struct NodeNoise {
  std::string node;
  std::string op_type;
  /// Its result in the quantized model against the float model's: its own noise and all before it.
  double output_sqnr_db = 0.0;
  /// Its worst quantized activation, rounded against not, both in the quantized model: its own noise alone. Static
  /// only.
  std::optional<double> activation_sqnr_db;
  std::string activation;                ///< name of that tensor
  std::optional<double> weight_sqnr_db;  ///< from the plan
};

struct NoiseOptions {
  int threads = 1;
  size_t tensors_at_once = 24;  ///< bounds the memory: this many float tensors are kept while a sample runs
  bool trim_padding = true;
};

/// Runs `samples` through the float model and the quantized one, node by node. `float_model` is
/// Quantizer::float_model() as it was before quantize() (a copy), `plan` the quantizer's. Nodes of the main graph in
/// running order.
std::vector<NodeNoise> measure_noise(const Model& float_model, const Model& quantized, const QuantPlan& plan,
                                     const std::vector<Sample>& samples, const NoiseOptions& options,
                                     Progress& progress);

/// The nodes that did it: those whose own activation or weight is noisiest, worst first, at most `count`.
std::vector<NodeNoise> worst_nodes(std::vector<NodeNoise> nodes, size_t count);

nlohmann::json to_json(const NodeNoise& noise);

}  // namespace assay::quant
