#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "quant/calibration.h"
#include "quant/plan.h"
#include "quant/scheme.h"

namespace assay::quant {

/// Quantizes one model by one scheme, in the order: look at the plan, calibrate (static), quantize.
class Quantizer {
 public:
  /// Prepares the model and decides about every node. InvalidArgument for a scheme that contradicts itself, Unsupported
  /// when the model's opset cannot be raised to what the scheme needs.
  Quantizer(const Model& model, const QuantScheme& scheme);
  ~Quantizer();

  const QuantPlan& plan() const;
  /// The float model that calibration runs: what will be quantized, with every value named.
  const Model& float_model() const;
  /// Static: names of the tensors whose ranges quantize() needs. Empty when dynamic.
  std::vector<std::string> tensors_to_observe() const;

  /// The quantized model; once. A static scheme needs `calibration` (InvalidArgument without, NotFound naming a tensor
  /// it lacks). `threads` >= 1.
  Model quantize(const Calibration* calibration = nullptr, int threads = 1);
  /// Signal to quantization noise of each weight, into the plan: reads all weights again. Before quantize().
  void measure_weights(int threads = 1);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Dynamic quantization in one call.
Model quantize_dynamic(const Model& model, const QuantScheme& scheme, QuantPlan* plan = nullptr, int threads = 1);

}  // namespace assay::quant
