#include "models/huggingface.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace assay {
namespace {

constexpr int kOldestOpset = 17;  // where LayerNormalization begins
constexpr int kNewestOpset = 28;

std::vector<Architecture>& architectures() {
  static std::vector<Architecture> list;
  return list;
}

/// The float type that holds most bytes.
DType main_dtype(const Safetensors& weights) {
  std::map<DType, int64_t> bytes;
  for (const auto& [name, tensor] : weights.tensors())
    if (is_float(tensor.dtype())) bytes[tensor.dtype()] += tensor.bytes();
  const auto most =
      std::max_element(bytes.begin(), bytes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == bytes.end() ? DType::kUndefined : most->first;
}

bool probe(const Probe& p) {
  if (p.folder)
    return std::filesystem::exists(p.path / "config.json") &&
           (std::filesystem::exists(p.path / "model.safetensors") ||
            std::filesystem::exists(p.path / "model.safetensors.index.json"));
  return p.path.filename() == "model.safetensors" && std::filesystem::exists(p.path.parent_path() / "config.json");
}

LoadedModel load(const std::filesystem::path& path, const LoadOptions& options) {
  if (std::filesystem::is_directory(path)) return load_huggingface(path, options);
  return load_huggingface(path.parent_path().empty() ? "." : path.parent_path(), options);
}

const FormatRegistration kHuggingFace({"huggingface", "a folder with config.json and model.safetensors (or shards)", 10,
                                       probe, load});

}  // namespace

ArchitectureRegistration::ArchitectureRegistration(const Architecture& architecture) {
  architectures().push_back(architecture);
}

std::vector<std::string> supported_architectures() {
  std::vector<std::string> names;
  for (const auto& a : architectures()) names.emplace_back(a.model_type);
  std::sort(names.begin(), names.end());
  return names;
}

LoadedModel load_huggingface(const std::filesystem::path& folder, const LoadOptions& options) {
  require(options.opset >= kOldestOpset && options.opset <= kNewestOpset, ErrorCode::kInvalidArgument,
          "opset {} is outside {} to {}", options.opset, kOldestOpset, kNewestOpset);
  LoadedModel out;
  out.format = "huggingface";
  out.info = read_model_info(folder);
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".safetensors") out.data_files.push_back(entry.path());
  const auto config_path = folder / "config.json";
  const auto config = nlohmann::json::parse(read_text(config_path, size_t{1} << 24), nullptr, false);
  if (!config.is_object()) throw Error(ErrorCode::kBadFile, "is not a JSON object").at("file", config_path.string());
  try {
    require(!out.info.model_type.empty(), ErrorCode::kBadFile, "model_type is missing");
    const auto it = std::find_if(architectures().begin(), architectures().end(),
                                 [&](const Architecture& a) { return a.model_type == out.info.model_type; });
    require(it != architectures().end(), ErrorCode::kUnsupported, "model_type '{}' is not supported; supported: {}",
            out.info.model_type, fmt::join(supported_architectures(), ", "));
    require(!config.contains("quantization_config") || config["quantization_config"].is_null(), ErrorCode::kUnsupported,
            "quantization_config: the checkpoint is quantized already");
    const Safetensors weights = Safetensors::open_folder(folder);
    Model& m = out.model;
    m.graph = it->build({config, weights, options, out.info, out.notes});
    m.opsets[""] = options.opset;
    m.ir_version = options.opset >= 21 ? 10 : 8;
    m.producer_name = "assay";
    m.metadata["assay.source_dtype"] = to_string(main_dtype(weights));
  } catch (Error& e) {
    throw e.at("model", folder.string());
  }
  return out;
}

}  // namespace assay
