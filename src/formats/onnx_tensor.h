#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "tensor/tensor.h"

namespace onnx {
class SparseTensorProto;
class TensorProto;
}  // namespace onnx

namespace assay {

/// A TensorProto in a file of its own (the ONNX backend tests' input_0.pb). BadFile naming file and tensor.
Tensor read_tensor_proto(const std::filesystem::path& path);
/// A SequenceProto of tensors in a file of its own.
std::vector<Tensor> read_sequence_proto(const std::filesystem::path& path);
/// An OptionalProto in a file of its own: nothing, a tensor (a list of one), or a sequence.
struct OptionalContent {
  bool present = false;
  bool sequence = false;
  std::vector<Tensor> tensors;
};
OptionalContent read_optional_proto(const std::filesystem::path& path);

/// The external data files of one model, each mapped once. They must lie, links resolved, in the model's folder or in
/// `real_dir`, the folder of the file that the model's own path links to (download caches keep links to a blob store).
class ExternalFiles {
 public:
  explicit ExternalFiles(std::filesystem::path base_dir, std::filesystem::path real_dir = {})
      : base_dir_(std::move(base_dir)), real_dir_(std::move(real_dir)) {}
  /// BadFile when `location` leaves the folder, NotFound when nothing is there.
  std::shared_ptr<const MappedFile> open(const std::string& location);
  /// The files opened so far.
  std::vector<std::filesystem::path> paths() const;

 private:
  std::filesystem::path base_dir_, real_dir_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
};

/// Raw data that lies beside its TensorProto, and the file it is in (null: it is copied).
struct RawData {
  std::span<const std::byte> bytes;
  std::shared_ptr<const MappedFile> keeper;
};

/// The tensor of a TensorProto; raw data is taken out of `proto` rather than copied, external data is a window on the
/// mapped file. `files` may be null where external data is not allowed. BadFile when sizes, type or shape disagree.
Tensor tensor_from_proto(onnx::TensorProto& proto, ExternalFiles* files, const RawData& beside = {});
/// The dense tensor of a SparseTensorProto; ResourceExhausted when it is out of proportion to what is stored.
Tensor tensor_from_proto(onnx::SparseTensorProto& proto, ExternalFiles* files);
/// Type and shape into `proto`.
void type_and_shape_to_proto(const Tensor& tensor, onnx::TensorProto& proto);
/// Type, shape and content into `proto` (raw data, or strings).
void tensor_to_proto(const Tensor& tensor, onnx::TensorProto& proto);

}  // namespace assay
