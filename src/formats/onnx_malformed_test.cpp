#include <gmock/gmock.h>
#include <onnx/onnx-ml.pb.h>

#include "formats/formats_test_util.h"
#include "formats/onnx_read.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using M = onnx::ModelProto;

onnx::NodeProto& add_node(onnx::GraphProto& g, const std::string& type, const std::string& name,
                          const std::vector<std::string>& in, const std::vector<std::string>& out) {
  auto& n = *g.add_node();
  n.set_op_type(type);
  n.set_name(name);
  for (const auto& v : in) n.add_input(v);
  for (const auto& v : out) n.add_output(v);
  return n;
}

void add_info(onnx::ValueInfoProto& info, const std::string& name, std::vector<int64_t> dims) {
  info.set_name(name);
  info.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  for (int64_t d : dims) info.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(d);
}

onnx::TensorProto& add_tensor(onnx::GraphProto& g, const std::string& name, std::vector<int64_t> dims, size_t bytes,
                              int32_t type = onnx::TensorProto::FLOAT) {
  auto& t = *g.add_initializer();
  t.set_name(name);
  t.set_data_type(type);
  for (int64_t d : dims) t.add_dims(d);
  t.set_raw_data(std::string(bytes, '\0'));
  return t;
}

void make_external(onnx::TensorProto& t, const std::string& location, const std::string& offset,
                   const std::string& length) {
  t.clear_raw_data();
  t.set_data_location(onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] :
       {std::pair<std::string, std::string>{"location", location}, {"offset", offset}, {"length", length}}) {
    if (value.empty()) continue;
    auto& e = *t.add_external_data();
    e.set_key(key);
    e.set_value(value);
  }
}

/// x [2,2] · w [2,2] → h → Relu → y, beside an If whose branch reads h.
M good_model() {
  M m;
  m.set_ir_version(8);
  auto& opset = *m.add_opset_import();
  opset.set_version(17);
  auto& g = *m.mutable_graph();
  g.set_name("g");
  add_info(*g.add_input(), "x", {2, 2});
  add_info(*g.add_output(), "y", {2, 2});
  add_info(*g.add_value_info(), "h", {2, 2});
  add_tensor(g, "w", {2, 2}, 16);
  add_tensor(g, "cond", {}, 1, onnx::TensorProto::BOOL);
  add_node(g, "MatMul", "mm", {"x", "w"}, {"h"});
  auto& relu = add_node(g, "LeakyRelu", "relu", {"h"}, {"y"});
  auto& alpha = *relu.add_attribute();
  alpha.set_name("alpha");
  alpha.set_type(onnx::AttributeProto::FLOAT);
  alpha.set_f(0.1f);
  auto& branch = add_node(g, "If", "choose", {"cond"}, {"z"});
  for (const char* key : {"then_branch", "else_branch"}) {
    auto& a = *branch.add_attribute();
    a.set_name(key);
    a.set_type(onnx::AttributeProto::GRAPH);
    auto& sub = *a.mutable_g();
    sub.set_name(key);
    add_node(sub, "Neg", std::string("neg_") + key, {"h"}, {"n"});
    sub.add_output()->set_name("n");
  }
  return m;
}

struct Defect {
  std::string name;
  void (*make)(M&);
  ErrorCode code;
  std::vector<std::string> words;
};

constexpr ErrorCode kBad = ErrorCode::kBadFile;
constexpr ErrorCode kNo = ErrorCode::kUnsupported;

onnx::GraphProto& graph(M& m) { return *m.mutable_graph(); }
onnx::TensorProto& w(M& m) { return *m.mutable_graph()->mutable_initializer(0); }
onnx::NodeProto& node(M& m, int i) { return *m.mutable_graph()->mutable_node(i); }
onnx::GraphProto& branch(M& m) { return *node(m, 2).mutable_attribute(0)->mutable_g(); }

const std::vector<Defect>& defects() {
  static const std::vector<Defect> kDefects = {
      {"no_graph", [](M& m) { m.clear_graph(); }, kBad, {"no graph"}},
      {"cycle", [](M& m) { node(m, 0).set_input(0, "y"); }, kBad, {"cycle", "mm"}},
      {"cycle_through_capture", [](M& m) { node(m, 0).set_input(0, "z"); }, kBad, {"cycle"}},
      {"self_cycle", [](M& m) { node(m, 1).set_input(0, "y"); }, kBad, {"cycle", "relu"}},
      {"output_twice", [](M& m) { node(m, 1).set_output(0, "h"); }, kBad, {"'h'", "twice", "relu"}},
      {"node_overwrites_input", [](M& m) { node(m, 1).set_output(0, "x"); }, kBad, {"'x'", "twice", "relu"}},
      {"node_overwrites_initializer", [](M& m) { node(m, 1).set_output(0, "w"); }, kBad, {"'w'", "twice"}},
      {"initializer_twice",
       [](M& m) { *graph(m).add_initializer() = M(m).graph().initializer(0); },
       kBad,
       {"'w'", "twice"}},
      {"input_twice", [](M& m) { add_info(*graph(m).add_input(), "x", {1}); }, kBad, {"'x'", "twice"}},
      {"input_without_name", [](M& m) { add_info(*graph(m).add_input(), "", {1}); }, kBad, {"input", "no name"}},
      {"missing_node_input", [](M& m) { node(m, 0).set_input(1, "ghost"); }, kBad, {"'ghost'", "mm"}},
      {"missing_graph_output", [](M& m) { graph(m).mutable_output(0)->set_name("ghost"); }, kBad, {"'ghost'"}},
      {"missing_name_in_subgraph",
       [](M& m) { branch(m).mutable_node(0)->set_input(0, "ghost"); },
       kBad,
       {"'ghost'", "neg_then_branch", "then_branch", "choose"}},
      {"missing_subgraph_output",
       [](M& m) { branch(m).mutable_output(0)->set_name("ghost"); },
       kBad,
       {"'ghost'", "choose"}},
      {"inner_name_seen_outside", [](M& m) { node(m, 1).set_input(0, "n"); }, kBad, {"'n'", "relu"}},
      {"no_op_type", [](M& m) { node(m, 0).clear_op_type(); }, kBad, {"type", "mm"}},
      {"dtype_unknown", [](M& m) { w(m).set_data_type(99); }, kBad, {"99", "'w'"}},
      {"dtype_undefined", [](M& m) { w(m).set_data_type(0); }, kBad, {"'w'"}},
      {"dtype_float6", [](M& m) { w(m).set_data_type(27); }, kNo, {"FLOAT6E2M3", "'w'"}},
      {"negative_size", [](M& m) { w(m).set_dims(0, -2); }, kBad, {"-2", "'w'"}},
      {"size_overflow",
       [](M& m) {
         w(m).set_dims(0, int64_t{1} << 40);
         w(m).set_dims(1, int64_t{1} << 40);
       },
       ErrorCode::kResourceExhausted,
       {"overflow", "'w'"}},
      {"size_beyond_data", [](M& m) { w(m).set_dims(0, int64_t{1} << 40); }, kBad, {"16 bytes", "'w'"}},
      {"raw_short", [](M& m) { w(m).mutable_raw_data()->resize(15); }, kBad, {"15 bytes", "16", "'w'"}},
      {"raw_long", [](M& m) { w(m).mutable_raw_data()->resize(17); }, kBad, {"17 bytes", "'w'"}},
      {"no_data", [](M& m) { w(m).clear_raw_data(); }, kBad, {"float_data", "0 values", "'w'"}},
      {"float_data_count",
       [](M& m) {
         w(m).clear_raw_data();
         w(m).add_float_data(1);
       },
       kBad,
       {"float_data", "1 values", "'w'"}},
      {"int8_out_of_range",
       [](M& m) {
         w(m).clear_raw_data();
         w(m).set_data_type(onnx::TensorProto::INT8);
         for (int v : {1, 2, 3, 200}) w(m).add_int32_data(v);
       },
       kBad,
       {"200", "int8", "'w'"}},
      {"string_with_raw_data", [](M& m) { w(m).set_data_type(onnx::TensorProto::STRING); }, kBad, {"string", "'w'"}},
      {"string_count",
       [](M& m) {
         w(m).clear_raw_data();
         w(m).set_data_type(onnx::TensorProto::STRING);
         w(m).add_string_data("a");
       },
       kBad,
       {"string_data", "'w'"}},
      {"rank_nine",
       [](M& m) {
         for (int i = 0; i < 7; ++i) w(m).add_dims(1);
       },
       kNo,
       {"rank 9", "'w'"}},
      {"segment", [](M& m) { w(m).mutable_segment()->set_begin(0); }, kNo, {"segments", "'w'"}},
      {"input_type_against_initializer",
       [](M& m) { add_info(*graph(m).add_input(), "cond", {}); },
       kBad,
       {"'cond'", "float32", "bool"}},
      {"value_type_unknown",
       [](M& m) { graph(m).mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(77); },
       kBad,
       {"77", "'x'"}},
      {"value_size_negative",
       [](M& m) {
         graph(m)
             .mutable_value_info(0)
             ->mutable_type()
             ->mutable_tensor_type()
             ->mutable_shape()
             ->mutable_dim(0)
             ->set_dim_value(-5);
       },
       kBad,
       {"-5", "'h'"}},
      {"attribute_without_value",
       [](M& m) {
         node(m, 1).mutable_attribute(0)->clear_f();
         node(m, 1).mutable_attribute(0)->clear_type();
       },
       kBad,
       {"alpha", "relu"}},
      {"attribute_twice",
       [](M& m) { *node(m, 1).add_attribute() = M(m).graph().node(1).attribute(0); },
       kBad,
       {"alpha", "twice", "relu"}},
      {"attribute_without_name",
       [](M& m) { node(m, 1).mutable_attribute(0)->clear_name(); },
       kBad,
       {"no name", "relu"}},
      {"opset_zero", [](M& m) { m.mutable_opset_import(0)->set_version(0); }, kBad, {"opset version 0"}},
      {"opset_huge", [](M& m) { m.mutable_opset_import(0)->set_version(int64_t{1} << 40); }, kBad, {"out of range"}},
      {"opset_twice",
       [](M& m) {
         auto& o = *m.add_opset_import();
         o.set_domain("ai.onnx");
         o.set_version(13);
       },
       kBad,
       {"17", "13"}},
      {"function_twice",
       [](M& m) {
         for (int i = 0; i < 2; ++i) m.add_functions()->set_name("f");
       },
       kBad,
       {"'f'", "twice"}},
      {"function_output_missing",
       [](M& m) {
         auto& f = *m.add_functions();
         f.set_name("f");
         f.add_output("ghost");
       },
       kBad,
       {"'ghost'", "'f'"}},
      {"constant_with_unknown_attribute",
       [](M& m) {
         auto& a = *add_node(graph(m), "Constant", "c", {}, {"c"}).add_attribute();
         a.set_name("valeu");
         a.set_type(onnx::AttributeProto::INT);
       },
       kBad,
       {"valeu", "'c'"}},
      {"sparse_index_outside",
       [](M& m) {
         auto& s = *graph(m).add_sparse_initializer();
         s.add_dims(4);
         s.mutable_values()->set_name("s");
         s.mutable_values()->set_data_type(onnx::TensorProto::FLOAT);
         s.mutable_values()->add_dims(1);
         s.mutable_values()->add_float_data(1);
         s.mutable_indices()->set_data_type(onnx::TensorProto::INT64);
         s.mutable_indices()->add_dims(1);
         s.mutable_indices()->add_int64_data(4);
       },
       kBad,
       {"index 4", "'s'"}},
      {"sparse_out_of_proportion",
       [](M& m) {
         auto& s = *graph(m).add_sparse_initializer();
         s.add_dims(int64_t{1} << 40);
         s.mutable_values()->set_name("s");
         s.mutable_values()->set_data_type(onnx::TensorProto::FLOAT);
         s.mutable_values()->add_dims(0);
         s.mutable_indices()->set_data_type(onnx::TensorProto::INT64);
         s.mutable_indices()->add_dims(0);
       },
       ErrorCode::kResourceExhausted,
       {"'s'"}},
      {"external_without_location", [](M& m) { make_external(w(m), "", "0", "16"); }, kBad, {"location", "'w'"}},
      {"external_missing",
       [](M& m) { make_external(w(m), "absent.data", "0", "16"); },
       ErrorCode::kNotFound,
       {"absent.data", "'w'"}},
      {"external_climbs", [](M& m) { make_external(w(m), "../escape.data", "0", "16"); }, kBad, {"outside", "'w'"}},
      {"external_absolute", [](M& m) { make_external(w(m), "/etc/hostname", "0", "16"); }, kBad, {"outside", "'w'"}},
      {"external_link", [](M& m) { make_external(w(m), "link.data", "0", "16"); }, kBad, {"outside", "'w'"}},
      {"external_short",
       [](M& m) { make_external(w(m), "short.data", "4", "16"); },
       kBad,
       {"short.data", "10 bytes short", "'w'"}},
      {"external_offset_overflow",
       [](M& m) { make_external(w(m), "short.data", "9223372036854775807", "16"); },
       ErrorCode::kResourceExhausted,
       {"'w'"}},
      {"external_offset_text", [](M& m) { make_external(w(m), "short.data", "4k", "16"); }, kBad, {"offset", "4k"}},
      {"external_offset_negative", [](M& m) { make_external(w(m), "short.data", "-4", "16"); }, kBad, {"offset", "-4"}},
      {"external_length", [](M& m) { make_external(w(m), "short.data", "0", "8"); }, kBad, {"8 bytes", "16", "'w'"}},
  };
  return kDefects;
}

class OnnxMalformed : public FolderTest {};

TEST_F(OnnxMalformed, TheModelWithoutADefectIsRead) {
  const std::string bytes = good_model().SerializeAsString();
  read_onnx(std::as_bytes(std::span(bytes)), folder_).graph.verify();
}

TEST_F(OnnxMalformed, EveryDefectIsNamed) {
  write_text(folder_ / "model/short.data", "only ten b");
  write_text(folder_ / "escape.data", std::string(16, '\0'));
  std::filesystem::create_symlink(folder_ / "escape.data", folder_ / "model/link.data");
  for (const Defect& d : defects()) {
    SCOPED_TRACE(d.name);
    M m = good_model();
    d.make(m);
    const auto path = folder_ / "model" / (d.name + ".onnx");
    write_text(path, m.SerializeAsString());
    try {
      read_onnx(path);
      ADD_FAILURE() << "accepted";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), d.code) << e.what();
      for (const auto& word : d.words) EXPECT_THAT(e.what(), HasSubstr(word));
      EXPECT_THAT(e.what(), HasSubstr(path.filename().string()));
    }
  }
}

TEST_F(OnnxMalformed, AFileCutAnywhereIsRefusedOrStillAWholeModel) {
  const std::string bytes = good_model().SerializeAsString();
  int refused = 0;
  for (size_t n = 0; n < bytes.size(); ++n) {
    try {
      read_onnx(std::as_bytes(std::span(bytes).first(n)), folder_).graph.verify();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::kBadFile) << n << ": " << e.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, static_cast<int>(bytes.size()) - 8);  // cuts between trailing fields leave a valid message
}

TEST_F(OnnxMalformed, GraphsNestedWithoutEndAreRefused) {
  onnx::GraphProto g;
  for (int depth = 0; depth < 400; ++depth) {
    onnx::GraphProto outer;
    auto& a = *add_node(outer, "If", "n", {}, {"o"}).add_attribute();
    a.set_name("then_branch");
    a.set_type(onnx::AttributeProto::GRAPH);
    a.mutable_g()->Swap(&g);
    g.Swap(&outer);
  }
  M m = good_model();
  m.mutable_graph()->Swap(&g);
  const std::string bytes = m.SerializeAsString();
  try {
    read_onnx(std::as_bytes(std::span(bytes)), folder_);
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("nested too deep"));
  }
}

}  // namespace
}  // namespace assay
