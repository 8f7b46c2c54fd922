#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "tensor/tensor.h"

namespace assay {

/// The tensors of a safetensors checkpoint, mapped: reading one costs nothing until its pages are touched.
/// Layout: https://github.com/huggingface/safetensors (u64 header length, JSON header, data).
class Safetensors {
 public:
  /// One file. BadFile for anything the format forbids: a header that is cut, too long, not JSON or with a key twice,
  /// an unknown type, sizes that disagree, a gap or overlap between tensors, bytes missing (with the tensors they
  /// belong to) or left over. Unsupported for types narrower than a byte.
  static Safetensors open(const std::filesystem::path& path);
  /// The same from memory that `keeper` keeps alive.
  static Safetensors parse(std::span<const std::byte> bytes, std::shared_ptr<const void> keeper);
  /// A model folder: model.safetensors, or the shards named by model.safetensors.index.json, which must all be there
  /// and hold exactly the tensors that the index gives them. NotFound says what was looked for.
  static Safetensors open_folder(const std::filesystem::path& folder);
  /// A sharded checkpoint by its index file.
  static Safetensors open_index(const std::filesystem::path& index);

  const std::map<std::string, Tensor>& tensors() const { return tensors_; }
  /// `__metadata__`, of all shards together.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// The files read, in order.
  const std::vector<std::filesystem::path>& files() const { return files_; }

 private:
  std::map<std::string, Tensor> tensors_;
  std::map<std::string, std::string> metadata_;
  std::vector<std::filesystem::path> files_;
};

/// Writes one file as the reference writer lays it out: wider types first, then by name; header padded with spaces to a
/// multiple of 8. Whole or not at all; the same input gives the same bytes. Unsupported for a type the format lacks.
void write_safetensors(const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors,
                       const std::map<std::string, std::string>& metadata = {{"format", "pt"}});

}  // namespace assay
