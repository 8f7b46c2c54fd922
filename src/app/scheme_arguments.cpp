#include "app/scheme_arguments.h"

#include <CLI/CLI.hpp>

namespace assay::app {

void SchemeArguments::declare(CLI::App& c) {
  c.add_option("--approach", approach,
               "dynamic (integer operators, scales found while running) or static (QDQ, needs calibration)")
      ->check(CLI::IsMember({"dynamic", "static"}))
      ->capture_default_str();
  c.add_option("--operators", operators,
               "operator types, comma separated, e.g. Add,MatMul (default: those the approach is good for)")
      ->delimiter(',');
  c.add_option("--exclude", exclude,
               "layernorm, gelu, residual, gather, softmax, or node names and globs, comma separated")
      ->delimiter(',');
  c.add_flag("--per-channel", per_channel, "one weight scale per output channel");
  c.add_flag("--reduce-range", reduce_range, "weights on 7 bits");
  c.add_option("--weights", weights, "int8 or uint8")->check(CLI::IsMember({"int8", "uint8"}))->capture_default_str();
  c.add_flag("--asymmetric-weights", asymmetric_weights, "weights with a zero point");
  c.add_option("--activation", activation, "static: uint8 or int8")
      ->check(CLI::IsMember({"int8", "uint8"}))
      ->capture_default_str();
  c.add_flag("--activation-symmetric", activation_symmetric, "static: activations without a zero point");
  c.add_option("--activation-scale", activation_scale,
               "dynamic: row (this engine scales each token on its own) or tensor (as other runtimes do)")
      ->check(CLI::IsMember({"row", "tensor"}))
      ->capture_default_str();
  c.add_flag("--all-outputs", all_outputs,
             "static: also quantize results that no quantized node reads, as ONNX Runtime does");
}

quant::QuantScheme SchemeArguments::scheme() const {
  quant::QuantScheme s;
  s.approach = approach == "static" ? quant::Approach::kStatic : quant::Approach::kDynamic;
  s.operators = operators;
  for (const std::string& e : exclude) s.add_exclusion(e);
  s.per_channel = per_channel;
  s.reduce_range = reduce_range;
  s.weight_type = weights == "int8" ? DType::kInt8 : DType::kUint8;
  if (asymmetric_weights) s.weight_symmetric = false;
  s.activation_type = activation == "int8" ? DType::kInt8 : DType::kUint8;
  s.activation_symmetric = activation_symmetric;
  s.activation_scale = activation_scale == "row" ? quant::ActivationScale::kRow : quant::ActivationScale::kTensor;
  s.quantize_all_outputs = all_outputs;
  s.check();
  return s;
}

}  // namespace assay::app
