#include <gmock/gmock.h>
#include <onnx/onnx-ml.pb.h>

#include <fstream>

#include "formats/formats_test_util.h"
#include "formats/onnx_read.h"
#include "formats/onnx_tensor.h"
#include "formats/onnx_write.h"
#include "graph/passes/inline_functions.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class Onnx : public FolderTest {};

TensorType floats(std::vector<Dim> dims) { return {DType::kFloat32, std::move(dims), {}}; }

/// x [batch, n] · w [n, n] + b.
Model linear_model(int64_t n) {
  Model m;
  m.opsets[""] = 17;
  m.ir_version = 8;
  Graph& g = m.graph;
  g.name = "g";
  const ValueId x = g.add_input("x", floats({{-1, "batch"}, {n, ""}}));
  Tensor w(DType::kFloat32, Shape{n, n});
  for (int64_t i = 0; i < n * n; ++i) w.mutable_view().as<float>()[i] = static_cast<float>(i % 13) - 6.0f;
  const ValueId mm = g.node(g.add_node("MatMul", {x, g.add_constant(w, "w")}, 1, "/mm", "", 17)).outputs[0];
  const ValueId b = g.add_constant(Tensor(DType::kFloat32, Shape{n}), "b");
  const ValueId y = g.node(g.add_node("Add", {mm, b}, 1, "/add", "", 17)).outputs[0];
  g.value(mm).type = floats({{-1, "batch"}, {n, ""}});
  g.value(y).name = "y";
  g.value(y).type = floats({{-1, "batch"}, {n, ""}});
  g.add_output(y);
  return m;
}

Model reread(const Model& m) {
  const std::string bytes = onnx_bytes(m);
  return read_onnx(std::as_bytes(std::span(bytes)), {});
}

TEST_F(Onnx, KeepsSymbolsNamesVersionsAndMetadata) {
  Model m = linear_model(2);
  m.metadata = {{"k", "v"}, {"a", ""}};
  m.producer_name = "p";
  m.model_version = 4;
  const Model back = reread(m);
  EXPECT_EQ(onnx_bytes(back), onnx_bytes(m));
  EXPECT_EQ(back.metadata, m.metadata);
  EXPECT_EQ(back.graph.value(back.graph.inputs[0]).type.dims->at(0).symbol, "batch");
  EXPECT_EQ(back.graph.node(0).version, 17);
  const ValueId hidden = back.graph.node(0).outputs[0];
  EXPECT_EQ(back.graph.value(hidden).type.dims->at(0).symbol, "batch");
  EXPECT_EQ(back.graph.value(hidden).name, "/mm_output_0");
  back.graph.verify();
}

TEST_F(Onnx, FreshNamesNeverCollide) {
  Model m;
  m.opsets[""] = 17;
  Graph& g = m.graph;
  const ValueId x = g.add_input("Neg_output_0", floats({{2, ""}}));
  ValueId v = x;
  for (int i = 0; i < 3; ++i) v = g.node(g.add_node("Neg", {v}, 1, i > 0 ? "same" : "", "", 17)).outputs[0];
  g.value(v).name = "Neg_output_0";  // taken by the input
  g.add_output(v);
  g.add_output(v);  // listed twice: needs a producer of its own
  g.add_output(x);
  onnx::ModelProto p;
  ASSERT_TRUE(p.ParseFromString(onnx_bytes(m)));
  std::set<std::string> names = {p.graph().input(0).name()};
  for (const auto& n : p.graph().node())
    for (const auto& o : n.output()) EXPECT_TRUE(names.insert(o).second) << o;
  EXPECT_EQ(p.graph().node(0).name(), "");
  EXPECT_EQ(p.graph().node(1).name(), "same");
  EXPECT_EQ(p.graph().node(2).name(), "same_1");
  EXPECT_EQ(p.graph().input(0).name(), "Neg_output_0");
  EXPECT_EQ(p.graph().output_size(), 3);
  EXPECT_NE(p.graph().output(0).name(), p.graph().output(1).name());
  reread(m).graph.verify();
}

TEST_F(Onnx, AllElementTypesKeepTheirBytes) {
  Model m;
  m.opsets[""] = 25;
  for (int code = 1; code <= 26; ++code) {
    const auto dtype = *dtype_from_onnx(code);
    Tensor t = dtype == DType::kString ? Tensor::strings(Shape{3}, {"a", "", std::string("\0\xff", 2)})
                                       : Tensor(dtype, Shape{3});
    if (dtype != DType::kString) {
      auto* bytes = static_cast<unsigned char*>(t.mutable_view().data);
      for (int64_t i = 0; i < t.bytes(); ++i)
        bytes[i] = static_cast<unsigned char>(dtype == DType::kBool ? i % 2 : 17 * i + code);
    }
    m.graph.add_constant(t, std::string(to_string(dtype)));
  }
  const Model back = reread(m);
  for (int code = 1; code <= 26; ++code) {
    const Tensor& a = m.graph.value(code - 1).constant;
    const Tensor& b = back.graph.value(code - 1).constant;
    ASSERT_EQ(a.dtype(), b.dtype());
    EXPECT_EQ(a.shape(), b.shape());
    for (int64_t i = 0; a.dtype() == DType::kString && i < 3; ++i) EXPECT_EQ(a.string_at(i), b.string_at(i));
    if (a.dtype() != DType::kString) {
      EXPECT_EQ(std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())), 0) << to_string(a.dtype());
    }
  }
}

TEST_F(Onnx, TypedFieldsAndConstantNodesBecomeTheirValues) {
  onnx::ModelProto p;
  p.add_opset_import()->set_version(17);
  auto& g = *p.mutable_graph();
  const auto tensor = [&](const char* name, int type, int n) -> onnx::TensorProto& {
    auto& t = *g.add_initializer();
    t.set_name(name);
    t.set_data_type(type);
    t.add_dims(n);
    return t;
  };
  auto& half = tensor("half", onnx::TensorProto::FLOAT16, 2);
  half.add_int32_data(0x3c00);
  half.add_int32_data(0xc000);
  auto& nibbles = tensor("int4", onnx::TensorProto::INT4, 3);
  nibbles.add_int32_data(0x21);
  nibbles.add_int32_data(-1);  // as a writer that sign-extends has it
  tensor("u32", onnx::TensorProto::UINT32, 1).add_uint64_data(4000000000u);
  tensor("i8", onnx::TensorProto::INT8, 1).add_int32_data(-128);
  auto& odd = tensor("bool", onnx::TensorProto::BOOL, 2);
  odd.set_raw_data(std::string("\x02\x00", 2));
  const auto constant = [&](const char* name, onnx::AttributeProto::AttributeType type) -> onnx::AttributeProto& {
    auto& n = *g.add_node();
    n.set_op_type("Constant");
    n.add_output(name);
    auto& a = *n.add_attribute();
    a.set_name(name);
    a.set_type(type);
    return a;
  };
  constant("value_float", onnx::AttributeProto::FLOAT).set_f(1.5f);
  for (int64_t v : {3, 4})
    (g.node_size() < 2 ? constant("value_ints", onnx::AttributeProto::INTS) : *g.mutable_node(1)->mutable_attribute(0))
        .add_ints(v);
  constant("value_string", onnx::AttributeProto::STRING).set_s("text");
  const std::string bytes = p.SerializeAsString();
  const Model m = read_onnx(std::as_bytes(std::span(bytes)), {});
  const auto value = [&](const char* name) -> const Tensor& {
    return m.graph.value(m.graph.find_value(name)).constant;
  };
  EXPECT_EQ(static_cast<float>(value("half").values<Float16>()[1]), -2.0f);
  EXPECT_EQ(static_cast<const uint8_t*>(value("int4").data())[0], 0x21);
  EXPECT_EQ(static_cast<const uint8_t*>(value("int4").data())[1], 0xff);
  EXPECT_EQ(value("u32").values<uint32_t>()[0], 4000000000u);
  EXPECT_EQ(value("i8").values<int8_t>()[0], -128);
  EXPECT_THAT(value("bool").values<bool>(), ElementsAre(true, false));
  EXPECT_EQ(value("value_float").shape().rank(), 0);
  EXPECT_EQ(value("value_float").values<float>()[0], 1.5f);
  EXPECT_THAT(value("value_ints").values<int64_t>(), ElementsAre(3, 4));
  EXPECT_EQ(value("value_string").string_at(0), "text");
  EXPECT_EQ(m.graph.node_slots(), 0u);
}

TEST_F(Onnx, LargeTensorsGoToOneExternalFile) {
  Model m = linear_model(64);  // w: 16 KB, b: 256 bytes
  const ValueId twin = m.graph.add_constant(m.graph.value(1).constant, "w again");
  m.graph.set_outputs({m.graph.outputs()[0], m.graph.node(m.graph.add_node("Neg", {twin}, 1, "n", "", 17)).outputs[0]});
  OnnxWriteOptions options;
  options.inline_limit_bytes = 1024;
  write_onnx(m, folder_ / "big.onnx", options);
  EXPECT_LT(fs::file_size(folder_ / "big.onnx"), 2000u);
  EXPECT_EQ(fs::file_size(folder_ / "big.onnx.data"), 16384u);  // the same memory is stored once
  const Model back = read_onnx(folder_ / "big.onnx");
  EXPECT_EQ(onnx_bytes(back), onnx_bytes(m));
  write_onnx(back, folder_ / "big.onnx", options);  // over the file its tensors are mapped from
  EXPECT_EQ(onnx_bytes(read_onnx(folder_ / "big.onnx")), onnx_bytes(m));
  // Cut in half: the missing bytes and the tensor are named, nothing reads as zero.
  fs::resize_file(folder_ / "big.onnx.data", 8192);
  try {
    read_onnx(folder_ / "big.onnx");
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kBadFile);
    EXPECT_THAT(e.what(), HasSubstr("8192 bytes short"));
    EXPECT_THAT(e.what(), HasSubstr("'w'"));
    EXPECT_THAT(e.what(), HasSubstr("big.onnx.data"));
  }
}

TEST_F(Onnx, ConstantNodesCountForTheExternalFile) {
  onnx::ModelProto p;
  p.set_ir_version(8);
  p.add_opset_import()->set_version(17);
  auto& g = *p.mutable_graph();
  g.set_name("g");
  auto& n = *g.add_node();
  n.set_op_type("Constant");
  n.add_output("c");
  auto& a = *n.add_attribute();
  a.set_name("value");
  a.set_type(onnx::AttributeProto::TENSOR);
  a.mutable_t()->set_data_type(onnx::TensorProto::FLOAT);
  a.mutable_t()->add_dims(1024);
  a.mutable_t()->set_raw_data(std::string(4096, '\1'));
  g.add_output()->set_name("c");
  const std::string bytes = p.SerializeAsString();
  OnnxWriteOptions options;
  options.inline_limit_bytes = 1024;
  write_onnx(read_onnx(std::as_bytes(std::span(bytes)), {}), folder_ / "c.onnx", options);
  EXPECT_EQ(fs::file_size(folder_ / "c.onnx.data"), 4096u);
  EXPECT_LT(fs::file_size(folder_ / "c.onnx"), 1000u);
}

TEST_F(Onnx, ExternalDataBeyondTwoGigabytesIsMappedNotRead) {
  const int64_t bytes = 2'200'000'000;
  {
    std::ofstream out(folder_ / "weights.data");  // sparse: takes no disk
    out.seekp(bytes - 1);
    out.put('\7');
  }
  onnx::ModelProto p;
  p.add_opset_import()->set_version(17);
  auto& t = *p.mutable_graph()->add_initializer();
  t.set_name("w");
  t.set_data_type(onnx::TensorProto::UINT8);
  t.add_dims(bytes);
  t.set_data_location(onnx::TensorProto::EXTERNAL);
  auto& e = *t.add_external_data();
  e.set_key("location");
  e.set_value("weights.data");
  write_text(folder_ / "m.onnx", p.SerializeAsString());
  const Model m = read_onnx(folder_ / "m.onnx");
  EXPECT_EQ(m.graph.value(0).constant.elements(), bytes);
  EXPECT_EQ(m.graph.value(0).constant.values<uint8_t>().back(), 7);
  EXPECT_THROW(onnx_bytes(m), Error);  // one message cannot hold it
}

TEST_F(Onnx, InitializersThatAreInputsAreDefaults) {
  onnx::ModelProto p;
  p.set_ir_version(4);
  p.add_opset_import()->set_version(9);
  auto& g = *p.mutable_graph();
  auto& t = *g.add_initializer();
  t.set_name("w");
  t.set_data_type(onnx::TensorProto::FLOAT);
  t.add_dims(1);
  t.add_float_data(2);
  for (const char* name : {"x", "w"}) {
    auto& info = *g.add_input();
    info.set_name(name);
    info.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  }
  std::string bytes = p.SerializeAsString();
  Model m = read_onnx(std::as_bytes(std::span(bytes)), {});
  ASSERT_EQ(m.graph.inputs.size(), 2u);
  EXPECT_TRUE(m.graph.value(m.graph.inputs[1]).constant);
  p.set_ir_version(3);
  bytes = p.SerializeAsString();
  m = read_onnx(std::as_bytes(std::span(bytes)), {});
  ASSERT_EQ(m.graph.inputs.size(), 1u);
  onnx::ModelProto again;
  ASSERT_TRUE(again.ParseFromString(onnx_bytes(m)));
  EXPECT_EQ(again.graph().input_size(), 2);  // as IR 3 demands
}

TEST_F(Onnx, NestedSubgraphsCaptureThroughEachLevel) {
  onnx::ModelProto p;
  p.add_opset_import()->set_version(17);
  auto& g = *p.mutable_graph();
  g.add_input()->set_name("x");
  g.add_input()->set_name("c");
  onnx::GraphProto* at = &g;
  for (int level = 0; level < 3; ++level) {
    auto& n = *at->add_node();
    n.set_op_type("If");
    n.add_input("c");
    n.add_output(fmt::format("o{}", level));
    at->add_output()->set_name(fmt::format("o{}", level));
    auto& a = *n.add_attribute();
    a.set_name("then_branch");
    a.set_type(onnx::AttributeProto::GRAPH);
    at = a.mutable_g();
  }
  auto& neg = *at->add_node();
  neg.set_op_type("Neg");
  neg.add_input("x");
  neg.add_output("o3");
  at->add_output()->set_name("o3");
  const std::string bytes = p.SerializeAsString();
  const Model m = read_onnx(std::as_bytes(std::span(bytes)), {});
  m.graph.verify();
  const Graph* sub = &m.graph;
  for (int level = 0; level < 3; ++level) {
    sub = sub->node(0).get_graph("then_branch").get();
    ASSERT_EQ(sub->captures.size(), level < 2 ? 2u : 1u);
  }
  EXPECT_EQ(m.graph.value(m.graph.inputs[0]).users.size(), 1u);
  EXPECT_EQ(onnx_bytes(reread(m)), onnx_bytes(m));
}

TEST_F(Onnx, UnknownVersionsAreReportedAndKept) {
  Model m = linear_model(2);
  m.opsets[""] = 99;
  for (NodeId id : {0, 1}) m.graph.node(id).version = 99;
  m.ir_version = 77;
  m.opsets["com.example"] = 3;
  const std::string bytes = onnx_bytes(m);
  std::vector<std::string> notes;
  OnnxReadOptions options;
  options.notes = &notes;
  const Model back = read_onnx(std::as_bytes(std::span(bytes)), {}, options);
  EXPECT_EQ(onnx_bytes(back), bytes);
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_THAT(notes[0], HasSubstr("77"));
  EXPECT_THAT(notes[1], HasSubstr("99"));
}

TEST_F(Onnx, WritingRefusesANodeOfAnotherOpset) {
  Model m = linear_model(2);
  m.graph.node(1).version = 13;
  EXPECT_THROW(onnx_bytes(m), Error);
}

/// scale(x; alpha = 2) = x · alpha, twice(x; beta) = scale(scale(x; alpha = beta)), and a function with an If.
constexpr const char* kFunctions = R"(
import sys, onnx
m = onnx.parser.parse_model('''
<ir_version: 10, opset_import: ["" : 18, "local" : 1]>
main (float[N] x) => (float[N] y, float[N] z, float[N] u, float[N] v) {
  [first] y = local.twice <beta = 3.0> (x)
  [second] z = local.scale (y)
  [third] u = local.choose <limit = 1.5> (x)
  [fourth] v = local.pass (x)
}
<domain: "local", opset_import: ["" : 18]>
scale <alpha: float = 2.0> (x) => (y) {
  a = Constant <value_float: float = @alpha> ()
  y = Mul (x, a)
}
<domain: "local", opset_import: ["" : 18, "local" : 1]>
twice <beta> (x) => (y) {
  h = local.scale <alpha: float = @beta> (x)
  y = local.scale <alpha: float = @beta> (h)
}
<domain: "local", opset_import: ["" : 18, "local" : 1]>
choose <limit> (x) => (y) {
  s = ReduceSum <keepdims = 0> (x)
  l = Constant <value_float: float = @limit> ()
  c = Greater (s, l)
  y = If (c) <
    then_branch = t () => (p) { p = local.scale <alpha: float = @limit> (x) },
    else_branch = e () => (q) { k = Constant <value_float: float = @limit> () q = Sub (x, k) }
  >
}
<domain: "local", opset_import: ["" : 18]>
pass (x) => (y) { y = Identity (x) }
''')
onnx.save(m, sys.argv[1])
)";

TEST_F(Onnx, FunctionsAreKeptAndUnfoldToTheSameResult) {
  if (!fs::exists(kPython)) GTEST_SKIP() << "build/venv is absent: tools/setup.sh makes it";
  write_text(folder_ / "make.py", kFunctions);
  ASSERT_TRUE(python(folder_ / "make.py", {(folder_ / "a.onnx").string()}, folder_ / "log"));
  Model m = read_onnx(folder_ / "a.onnx");
  EXPECT_EQ(m.functions.size(), 4u);
  write_onnx(m, folder_ / "kept.onnx");
  EXPECT_TRUE(python("tests/formats/same_outputs.py", {(folder_ / "a.onnx").string(), (folder_ / "kept.onnx").string()},
                     folder_ / "log"));
  EXPECT_EQ(inline_functions(m), 7);  // two inside twice, one inside choose, four in the graph
  EXPECT_TRUE(m.functions.empty());
  m.graph.verify();
  for (size_t i = 0; i < m.graph.node_slots(); ++i)
    if (m.graph.alive(static_cast<NodeId>(i))) {
      EXPECT_EQ(m.graph.node(static_cast<NodeId>(i)).domain, "");
    }
  write_onnx(m, folder_ / "inlined.onnx");
  EXPECT_TRUE(python("tests/formats/same_outputs.py",
                     {(folder_ / "a.onnx").string(), (folder_ / "inlined.onnx").string()}, folder_ / "log"));
}

TEST_F(Onnx, FunctionsThatNeverEndAreRefused) {
  Model m;
  m.opsets = {{"", 18}, {"f", 1}};
  const auto function = [&](const std::string& name, const std::string& callee, int calls) {
    Function f;
    f.domain = "f";
    f.name = name;
    ValueId v = f.body.add_input("x", {});
    for (int i = 0; i < calls; ++i) v = f.body.node(f.body.add_node(callee, {v}, 1, "", "f", 1)).outputs[0];
    f.body.add_output(v);
    m.functions.push_back(std::move(f));
  };
  const ValueId x = m.graph.add_input("x", floats({{1, ""}}));
  m.graph.add_output(m.graph.node(m.graph.add_node("f0", {x}, 1, "call", "f", 1)).outputs[0]);
  function("f0", "f1", 1);
  function("f1", "f0", 1);
  Model loop = m;
  EXPECT_THROW(inline_functions(loop), Error);
  m.functions.clear();
  for (int i = 0; i < 12; ++i) function(fmt::format("f{}", i), fmt::format("f{}", i + 1), 10);  // 10^12 nodes
  m.functions.back().body = Graph{};
  const ValueId in = m.functions.back().body.add_input("x", {});
  m.functions.back().body.add_output(
      m.functions.back().body.node(m.functions.back().body.add_node("Neg", {in})).outputs[0]);
  try {
    inline_functions(m);
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kResourceExhausted);
  }
}

}  // namespace
}  // namespace assay
