#include <algorithm>

#include "base/file.h"
#include "formats/onnx_read.h"
#include "formats/registry.h"

namespace assay {
namespace {

/// The ONNX file meant by a folder: model.onnx, or the only .onnx file there. Empty when there is none or a choice.
std::filesystem::path file_in(const std::filesystem::path& folder) {
  if (std::filesystem::exists(folder / "model.onnx")) return folder / "model.onnx";
  std::filesystem::path found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".onnx") continue;
    if (!found.empty()) return {};
    found = entry.path();
  }
  return found;
}

/// ONNX has no signature. A file called .onnx is taken at its word (the reader then says what is wrong with it);
/// another one must start as a serialized ModelProto does, with the ir_version field.
bool probe(const Probe& p) {
  if (p.folder) return !file_in(p.path).empty();
  if (p.path.extension() == ".onnx") {
    const std::string_view lfs = "version https://git-lfs";
    return p.head.size() < lfs.size() || !std::equal(lfs.begin(), lfs.end(), p.head.begin(), [](char a, std::byte b) {
             return static_cast<std::byte>(a) == b;
           });
  }
  return p.head.size() > 2 && p.head[0] == std::byte{0x08} && p.head[1] < std::byte{0x40};
}

LoadedModel load(const std::filesystem::path& path, const LoadOptions&) {
  const auto file = std::filesystem::is_directory(path) ? file_in(path) : path;
  LoadedModel out;
  OnnxReadOptions options;
  options.notes = &out.notes;
  options.data_files = &out.data_files;
  out.model = read_onnx(file, options);
  out.info = read_model_info(file.parent_path().empty() ? "." : file.parent_path());
  return out;
}

const FormatRegistration kOnnx({"onnx", "an .onnx file, or a folder with model.onnx", 20, probe, load});

}  // namespace
}  // namespace assay
