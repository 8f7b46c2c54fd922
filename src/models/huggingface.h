#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "formats/registry.h"
#include "formats/safetensors.h"

namespace assay {

/// What an architecture builds from.
struct Checkpoint {
  const nlohmann::json& config;
  const Safetensors& weights;
  const LoadOptions& options;
  ModelInfo& info;                  ///< read from the folder; the architecture corrects what it knows better
  std::vector<std::string>& notes;  ///< tensors left out and why
};

/// One `model_type` of config.json. Throws Unsupported for a setting it does not have, BadFile for a missing, extra or
/// misshapen tensor, naming it.
struct Architecture {
  std::string_view model_type;
  Graph (*build)(const Checkpoint&) = nullptr;
};

/// Adds an architecture; made as a static object in the architecture's own file.
class ArchitectureRegistration {
 public:
  explicit ArchitectureRegistration(const Architecture& architecture);
};

/// Every model_type that can be built, sorted.
std::vector<std::string> supported_architectures();

/// Reads a Hugging Face folder (config.json + safetensors, single or sharded) as an ONNX graph of opset
/// `options.opset`: float32 weights under their checkpoint names, linear weights stored [in, out], symbolic dims batch
/// and sequence. metadata "assay.source_dtype" tells the float type the checkpoint had. Unsupported lists the model
/// types there are.
LoadedModel load_huggingface(const std::filesystem::path& folder, const LoadOptions& options = {});

}  // namespace assay
