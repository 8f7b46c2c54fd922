#include "formats/onnx_message.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/wire_format_lite.h>

#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"

namespace assay {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;
using Bytes = std::span<const std::byte>;

/// One field as it lies in a message: all of it, and what it holds when it is length-delimited.
struct WireField {
  int number = 0;
  bool delimited = false;
  Bytes whole, body;
};

/// Calls fn(field) for every field of a message; false when it is malformed or fn says so.
template <typename Fn>
bool each_field(Bytes message, const Fn& fn) {
  const auto* data = reinterpret_cast<const uint8_t*>(message.data());
  CodedInputStream in(data, static_cast<int>(message.size()));
  for (;;) {
    const int begin = in.CurrentPosition();
    const uint32_t tag = in.ReadTag();
    if (tag == 0) return begin == static_cast<int>(message.size());
    WireField f;
    f.number = WireFormatLite::GetTagFieldNumber(tag);
    f.delimited = WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    if (f.delimited) {
      uint32_t length = 0;
      if (!in.ReadVarint32(&length) || length > message.size()) return false;
      const int body = in.CurrentPosition();
      if (!in.Skip(static_cast<int>(length))) return false;
      f.body = message.subspan(static_cast<size_t>(body), length);
    } else if (!WireFormatLite::SkipField(&in, tag)) {
      return false;
    }
    f.whole = message.subspan(static_cast<size_t>(begin), static_cast<size_t>(in.CurrentPosition() - begin));
    if (!fn(f)) return false;
  }
}

void append(std::string& to, Bytes bytes) { to.append(reinterpret_cast<const char*>(bytes.data()), bytes.size()); }

void append_delimited(std::string& to, int number, const std::string& body) {
  const uint32_t tag = WireFormatLite::MakeTag(number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  uint8_t head[2 * 10];
  uint8_t* end = CodedOutputStream::WriteVarint32ToArray(tag, head);
  end = CodedOutputStream::WriteVarint64ToArray(body.size(), end);
  to.append(reinterpret_cast<const char*>(head), static_cast<size_t>(end - head));
  to += body;
}

/// A TensorProto without its raw_data, where that is large and given once.
std::optional<std::string> without_raw(Bytes tensor, Bytes& raw) {
  std::string rest;
  const bool whole = each_field(tensor, [&](const WireField& f) {
    if (f.number == onnx::TensorProto::kRawDataFieldNumber && f.delimited && f.body.size() >= kLargeRawBytes) {
      if (!raw.empty()) return false;
      raw = f.body;
    } else {
      if (f.number == onnx::TensorProto::kRawDataFieldNumber && !raw.empty()) return false;
      append(rest, f.whole);
    }
    return true;
  });
  if (!whole) return std::nullopt;
  return rest;
}

/// The message without its large weights, or nothing when it is not laid out as writers lay it out: then protobuf has
/// the word, on what it means and on what is wrong with it.
std::optional<std::string> without_weights(Bytes model, std::vector<Bytes>& raw) {
  std::string rest, graph;
  int graphs = 0;
  const bool whole = each_field(model, [&](const WireField& f) {
    if (f.number != onnx::ModelProto::kGraphFieldNumber || !f.delimited) {
      append(rest, f.whole);
      return true;
    }
    if (++graphs > 1) return false;  // protobuf merges them
    return each_field(f.body, [&](const WireField& g) {
      if (g.number != onnx::GraphProto::kInitializerFieldNumber || !g.delimited) {
        append(graph, g.whole);
        return true;
      }
      raw.emplace_back();
      const auto tensor = without_raw(g.body, raw.back());
      if (tensor) append_delimited(graph, onnx::GraphProto::kInitializerFieldNumber, *tensor);
      return tensor.has_value();
    });
  });
  if (!whole || graphs == 0) return std::nullopt;
  append_delimited(rest, onnx::ModelProto::kGraphFieldNumber, graph);
  return rest;
}

/// Tag, length and body of a delimited field.
size_t field_size(int number, size_t body) {
  return WireFormatLite::TagSize(number, WireFormatLite::TYPE_BYTES) + CodedOutputStream::VarintSize64(body) + body;
}

void write_head(CodedOutputStream& out, int number, size_t body) {
  out.WriteTag(WireFormatLite::MakeTag(number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED));
  out.WriteVarint64(body);
}

size_t tensor_size(const onnx::TensorProto& tensor, Bytes raw) {
  return tensor.ByteSizeLong() + (raw.empty() ? 0 : field_size(onnx::TensorProto::kRawDataFieldNumber, raw.size()));
}

}  // namespace

size_t OnnxMessage::bytes() const {
  size_t total = proto.ByteSizeLong();
  for (size_t i = 0; i < raw.size(); ++i)
    if (!raw[i].empty()) total += field_size(onnx::TensorProto::kRawDataFieldNumber, raw[i].size()) + 16;
  return total;
}

void OnnxMessage::write(std::ostream& stream) {
  const std::unique_ptr<onnx::GraphProto> graph(proto.release_graph());
  google::protobuf::RepeatedPtrField<onnx::TensorProto> tensors;
  tensors.Swap(graph->mutable_initializer());
  size_t graph_size = graph->ByteSizeLong();
  for (int i = 0; i < tensors.size(); ++i)
    graph_size += field_size(onnx::GraphProto::kInitializerFieldNumber, tensor_size(tensors[i], raw_of(i)));
  bool good = true;
  {
    constexpr int kBlock = 1 << 20;
    google::protobuf::io::OstreamOutputStream blocks(&stream, kBlock);
    CodedOutputStream out(&blocks);
    good = proto.SerializeToCodedStream(&out);
    write_head(out, onnx::ModelProto::kGraphFieldNumber, graph_size);
    good = good && graph->SerializeToCodedStream(&out);
    for (int i = 0; good && i < tensors.size(); ++i) {
      const Bytes bytes = raw_of(i);
      write_head(out, onnx::GraphProto::kInitializerFieldNumber, tensor_size(tensors[i], bytes));
      good = tensors[i].SerializeToCodedStream(&out);
      if (bytes.empty()) continue;
      write_head(out, onnx::TensorProto::kRawDataFieldNumber, bytes.size());
      out.WriteRaw(bytes.data(), static_cast<int>(bytes.size()));
    }
    good = good && !out.HadError();
  }
  tensors.Swap(graph->mutable_initializer());
  *proto.mutable_graph() = std::move(*graph);
  require(good && stream.good(), ErrorCode::kResourceExhausted, "the disk did not take the whole file");
}

OnnxMessage parse_onnx_message(Bytes bytes) {
  require(!bytes.empty(), ErrorCode::kBadFile, "is empty");
  require(bytes.size() <= std::numeric_limits<int>::max(), ErrorCode::kUnsupported,
          "is one message of {} bytes; beyond 2 GB the weights must be external data", bytes.size());
  OnnxMessage m;
  bool parsed = false;
  if (const auto rest = without_weights(bytes, m.raw)) {
    parsed = m.proto.ParseFromString(*rest);
  } else {
    m.raw.clear();
    parsed = m.proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  }
  require(parsed, ErrorCode::kBadFile, "is not an ONNX model, or is cut short or nested too deep");
  return m;
}

}  // namespace assay
