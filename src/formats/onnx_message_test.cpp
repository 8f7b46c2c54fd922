// Weights that stay beside the message: what is read and written is what protobuf alone would read and write.
#include "formats/onnx_message.h"

#include <gtest/gtest.h>

#include <cstring>
#include <sstream>
#include <string>

#include "base/error.h"

namespace assay {
namespace {

std::span<const std::byte> bytes_of(const std::string& s) { return std::as_bytes(std::span(s)); }

std::string filled(size_t bytes, char first) {
  std::string s(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) s[i] = static_cast<char>(first + static_cast<char>(i % 97));
  return s;
}

onnx::ModelProto model_of(std::initializer_list<size_t> sizes) {
  onnx::ModelProto m;
  m.set_ir_version(10);
  m.mutable_graph()->set_name("g");
  char first = 1;
  for (size_t bytes : sizes) {
    auto& t = *m.mutable_graph()->add_initializer();
    t.set_name("w" + std::to_string(m.graph().initializer_size()));
    t.set_data_type(onnx::TensorProto::UINT8);
    t.add_dims(static_cast<int64_t>(bytes));
    t.set_raw_data(filled(bytes, first++));
  }
  m.mutable_graph()->add_node()->set_op_type("Identity");
  return m;
}

std::string text_of(const OnnxMessage& m, int i) {
  const auto raw = m.raw_of(i);
  if (!raw.empty()) return {reinterpret_cast<const char*>(raw.data()), raw.size()};
  return m.proto.graph().initializer(i).raw_data();
}

/// What protobuf makes of the bytes, for comparison.
onnx::ModelProto plain(const std::string& bytes) {
  onnx::ModelProto m;
  EXPECT_TRUE(m.ParseFromString(bytes));
  return m;
}

/// A length-delimited field as it lies in a message.
std::string delimited(int number, const std::string& body) {
  std::string out(1, static_cast<char>(number << 3 | 2));
  size_t length = body.size();
  for (; length >= 128; length >>= 7) out += static_cast<char>(length | 128);
  return out + static_cast<char>(length) + body;
}

TEST(OnnxMessage, LargeWeightsAreViewsAndSmallOnesAreInside) {
  const std::string file =
      model_of({10, kLargeRawBytes, kLargeRawBytes - 1, 3 * kLargeRawBytes, 0}).SerializeAsString();
  const OnnxMessage m = parse_onnx_message(bytes_of(file));
  for (int i = 0; i < 5; ++i) {
    const auto raw = m.raw_of(i);
    EXPECT_EQ(!raw.empty(), i == 1 || i == 3);
    if (!raw.empty()) {
      const auto* at = reinterpret_cast<const char*>(raw.data());
      EXPECT_TRUE(at > file.data() && at + raw.size() <= file.data() + file.size());
      EXPECT_FALSE(m.proto.graph().initializer(i).has_raw_data());
    }
    EXPECT_EQ(text_of(m, i), plain(file).graph().initializer(i).raw_data());
  }
  EXPECT_EQ(m.proto.graph().node_size(), 1);
}

TEST(OnnxMessage, WrittenBytesAreTheWholeModel) {
  const onnx::ModelProto whole = model_of({10, kLargeRawBytes, 5 * kLargeRawBytes + 3});
  const std::string file = whole.SerializeAsString();
  OnnxMessage m = parse_onnx_message(bytes_of(file));
  std::ostringstream out;
  m.write(out);
  EXPECT_EQ(plain(out.str()).SerializeAsString(), file);
  EXPECT_GE(m.bytes(), file.size());
  EXPECT_EQ(m.proto.graph().initializer_size(), 3) << "writing leaves the message as it was";
}

TEST(OnnxMessage, AnyOtherLayoutMeansWhatProtobufSays) {
  const std::string one = model_of({kLargeRawBytes}).SerializeAsString();
  const std::string two = model_of({kLargeRawBytes + 5, 7}).SerializeAsString();
  onnx::TensorProto again;
  again.set_raw_data(filled(kLargeRawBytes + 9, 5));
  const onnx::ModelProto first = model_of({kLargeRawBytes});
  const std::string tensor = first.graph().initializer(0).SerializeAsString() + again.SerializeAsString();
  // A tensor whose raw_data comes twice: the last counts.
  const std::string twice =
      delimited(onnx::ModelProto::kGraphFieldNumber, delimited(onnx::GraphProto::kInitializerFieldNumber, tensor));
  for (const std::string& file : {one + two, two + one, twice}) {
    const OnnxMessage m = parse_onnx_message(bytes_of(file));
    const onnx::ModelProto expected = plain(file);
    ASSERT_EQ(m.proto.graph().initializer_size(), expected.graph().initializer_size());
    for (int i = 0; i < expected.graph().initializer_size(); ++i)
      EXPECT_EQ(text_of(m, i), expected.graph().initializer(i).raw_data());
  }
}

TEST(OnnxMessage, EveryCutIsRefusedOrReadsAsProtobufReadsIt) {
  const std::string file = model_of({kLargeRawBytes, 20}).SerializeAsString();
  for (size_t cut = 1; cut < file.size(); cut += cut < 300 || cut + 300 > file.size() ? 1 : 997) {
    const std::string part = file.substr(0, cut);
    onnx::ModelProto expected;
    if (expected.ParseFromString(part)) {
      EXPECT_EQ(parse_onnx_message(bytes_of(part)).proto.graph().initializer_size(),
                expected.graph().initializer_size());
    } else {
      EXPECT_THROW(parse_onnx_message(bytes_of(part)), Error) << cut;
    }
  }
  EXPECT_THROW(parse_onnx_message({}), Error);
}

}  // namespace
}  // namespace assay
