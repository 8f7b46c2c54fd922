#pragma once

#include "app/command.h"
#include "quant/scheme.h"

namespace assay::app {

/// The options that say what is quantized and how, shared by `quantize` and `inspect`.
struct SchemeArguments {
  std::string approach = "dynamic";
  std::vector<std::string> operators, exclude;
  bool per_channel = false, reduce_range = false, all_outputs = false;
  bool activation_symmetric = false, asymmetric_weights = false;
  std::string activation = "uint8", weights = "int8", activation_scale = "row";

  void declare(CLI::App& command);
  /// InvalidArgument for values that contradict each other.
  quant::QuantScheme scheme() const;
};

}  // namespace assay::app
