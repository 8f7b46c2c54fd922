#pragma once

#include <onnx/onnx-ml.pb.h>

#include <cstddef>
#include <ostream>
#include <span>
#include <vector>

namespace assay {

/// A ModelProto whose large weights lie beside it: protobuf copies what it parses and what it serializes, twice the
/// size of the file in memory and most of the time that loading or writing a model takes.
struct OnnxMessage {
  onnx::ModelProto proto;
  /// By initializer of the main graph: its raw_data, or empty where that is in `proto`. Views: the caller keeps the
  /// bytes.
  std::vector<std::span<const std::byte>> raw;

  /// raw_data of initializer `i`, or nothing.
  std::span<const std::byte> raw_of(int i) const {
    return static_cast<size_t>(i) < raw.size() ? raw[static_cast<size_t>(i)] : std::span<const std::byte>();
  }
  /// Bytes of the serialized message.
  size_t bytes() const;
  /// Writes the message, weights in their places. The main graph's initializers come after its other fields.
  void write(std::ostream& out);
};

/// Raw data from this size on is kept out of the message.
inline constexpr size_t kLargeRawBytes = size_t{64} << 10;

/// Parses a model of at most 2 GB; the weights point into `bytes`. BadFile when it is not a ModelProto.
OnnxMessage parse_onnx_message(std::span<const std::byte> bytes);

}  // namespace assay
