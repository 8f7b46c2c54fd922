#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace assay {

struct OnnxReadOptions {
  /// Receives a line for whatever the file holds that the Model has no place for (quantization annotations, training
  /// graphs, per-node metadata) or that this build does not know (a newer opset or IR version). May be null.
  std::vector<std::string>* notes = nullptr;
  /// Receives the files of external data. May be null.
  std::vector<std::filesystem::path>* data_files = nullptr;
};

/// Reads an ONNX model: every node with the opset version that gives it meaning, functions and subgraphs kept, outer
/// names of subgraphs as captures. Initializers and Constant nodes become constants; external data is mapped, not
/// copied, and must lie in the model's folder. A graph input that is also an initializer is a default: from IR 4 on it
/// stays among the inputs and carries the constant; before that, when every initializer had to be listed, it is a plain
/// constant (as ONNX Runtime has it).
/// Throws NotFound; BadFile naming file, node, value or tensor for anything malformed (truncated, cyclic, defined
/// twice, missing, out of range); Unsupported for what is valid but has no place here (float6, rank above 8).
Model read_onnx(const std::filesystem::path& path, const OnnxReadOptions& options = {});

/// The same from memory; `base_dir` is where external data is looked for.
Model read_onnx(std::span<const std::byte> bytes, const std::filesystem::path& base_dir,
                const OnnxReadOptions& options = {});

}  // namespace assay
