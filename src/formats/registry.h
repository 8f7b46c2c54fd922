#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/model_info.h"
#include "graph/graph.h"

namespace assay {

struct LoadOptions {
  int opset = 17;  ///< of the graph built for a checkpoint that brings none; 17 or more
};

/// A model, what its folder says about it, and what was left out or noticed on the way.
struct LoadedModel {
  Model model;
  ModelInfo info;
  std::string format;  ///< name of the format that read it
  std::vector<std::string> notes;
  std::vector<std::filesystem::path> data_files;  ///< where the weights are, besides the file that was named
};

/// What a format's probe sees: the path, whether it is a folder, and the first bytes of a file.
struct Probe {
  const std::filesystem::path& path;
  bool folder = false;
  std::span<const std::byte> head;  ///< at most 64 bytes
};

/// A kind of model file or folder. Probes look at content, in the order of `rank` (lower first), so that a format
/// without a signature can come after those that have one.
struct Format {
  std::string_view name;     ///< "onnx"
  std::string_view accepts;  ///< for messages: "an .onnx file, or a folder with model.onnx"
  int rank = 0;
  bool (*probe)(const Probe&) = nullptr;
  LoadedModel (*load)(const std::filesystem::path&, const LoadOptions&) = nullptr;
};

/// Adds a format; made as a static object in the format's own file.
class FormatRegistration {
 public:
  explicit FormatRegistration(const Format& format);
};

/// Every format, by rank and name.
std::vector<Format> registered_formats();

/// Loads a model from a file or folder, whatever its format. NotFound when nothing is there; Unsupported says what was
/// found and what is accepted; otherwise what the format's reader throws.
LoadedModel load_model(const std::filesystem::path& path, const LoadOptions& options = {});

}  // namespace assay
