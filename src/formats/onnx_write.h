#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "graph/graph.h"

namespace assay {

struct OnnxWriteOptions {
  /// When all tensors together take more than this, those of `external_threshold_bytes` or more go to one file
  /// `<file name>.data` beside the model. A protobuf message cannot pass 2 GB.
  int64_t inline_limit_bytes = int64_t{1} << 30;
  int64_t external_threshold_bytes = 1024;
};

/// Writes an ONNX file, whole or not at all; the same model gives the same bytes. Nodes keep their order where it is a
/// valid one; every constant becomes an initializer (a Constant node inside a function, which has no other way); values
/// without a name, or whose name another one holds, get a fresh one, and so does a node whose name is taken; symbolic
/// dimensions and value types are kept. Throws InvalidArgument for a node whose opset version is not the model's,
/// ResourceExhausted when what must stay inside the message is beyond 2 GB.
void write_onnx(const Model& model, const std::filesystem::path& path, const OnnxWriteOptions& options = {});

/// The bytes write_onnx() would write with everything inside.
std::string onnx_bytes(const Model& model);

}  // namespace assay
