// What a quantized model keeps on its way through a file: symbolic dimensions, inputs whose type an operator fixes, and
// weights beside the message wherever they stood.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "engine/session.h"
#include "formats/onnx_read.h"
#include "formats/onnx_write.h"
#include "kernels/isa.h"
#include "quant/quant_test_util.h"
#include "session_run.h"

namespace assay {
namespace {

using quant::Approach;
using quant::Net;

Model quantized(const Net& net, const std::vector<std::string>& operators, bool per_channel, Approach approach,
                const std::vector<Tensor>& in) {
  const auto scheme = quant::with(operators, per_channel, approach);
  return approach == Approach::kDynamic ? quant::quantize_dynamic(net.m, scheme) : quant::make_static(net, scheme, in);
}

Model through_a_file(const Model& m) {
  const std::string bytes = onnx_bytes(m);
  return read_onnx(std::as_bytes(std::span(bytes.data(), bytes.size())), {});
}

std::vector<Tensor> session_run(const Model& m, const std::vector<Tensor>& inputs, kernels::Isa isa) {
  SessionOptions options;
  options.isa = isa;
  return session_run(m, inputs, options);
}

// microsoft/onnxruntime#8169: a model with symbolic batch and length, calibrated at one size, runs at all of them, and
// the file names the same symbols; with every operator that could freeze a shape beside the product.
TEST(QuantizedFile, KeepsSymbolicDimensionsAndRunsAtEverySize) {
  for (const Approach approach : {Approach::kDynamic, Approach::kStatic})
    for (const bool per_channel : {false, true})
      for (const int opset : {10, 13, 17}) {
        SCOPED_TRACE(testing::Message() << to_string(approach) << " per channel " << per_channel << " opset " << opset);
        Net net(opset);
        const ValueId x = net.input("x", {{-1, "batch"}, {-1, "length"}, {8, ""}});
        const ValueId a = net.op("MatMul", {x, net.weight("w", {8, 6})}, "one");
        const ValueId b = net.op("Relu", {net.op("Add", {a, net.weight("b", {6})}, "bias")}, "relu");
        const ValueId t = net.op("Transpose", {b}, "turn", {{"perm", std::vector<int64_t>{0, 2, 1}}});
        const ValueId back = net.op("Transpose", {t}, "turn_back", {{"perm", std::vector<int64_t>{0, 2, 1}}});
        const ValueId y = net.op("MatMul", {back, net.weight("v", {6, 4})}, "two");
        net.g.value(y).type = net.g.value(x).type;
        net.g.value(y).type.dims->at(2) = {4, ""};
        net.g.add_output(y);
        const Tensor sample = net.random({2, 50, 8});
        const Model q =
            through_a_file(quantized(net, {"MatMul", "Add", "Relu", "Transpose"}, per_channel, approach, {sample}));
        for (const auto& ports : {q.graph.inputs, q.graph.outputs()})
          for (const ValueId port : ports) {
            const auto& dims = *q.graph.value(port).type.dims;
            ASSERT_EQ(dims.size(), 3u);
            EXPECT_EQ(dims[0].symbol, "batch");
            EXPECT_EQ(dims[1].symbol, "length");
          }
        for (const auto& [batch, length] : {std::pair{1, 1}, std::pair{3, 7}, std::pair{6, 35}}) {
          const Tensor in = net.random({batch, length, 8});
          const Tensor exact = quant::run(net.m, {in})[0], got = session_run(q, {in}, kernels::best_isa())[0];
          EXPECT_EQ(got.shape().str(), (Shape{batch, length, 4}).str());
          EXPECT_GT(quant::snr(exact, got), 20.0) << batch << " x " << length;
        }
      }
}

// microsoft/onnxruntime#9789, #1782: inputs whose type the operator's schema fixes are never quantized or rounded, and
// stay float32 in the file: the scales and region of Resize, also of those that an opset upgrade writes.
TEST(QuantizedFile, ScalesOfResizeStayAsTheyAre) {
  for (const int opset : {9, 10, 11, 13, 19}) {
    SCOPED_TRACE(opset);
    Net net(opset);
    const ValueId x = net.input("x", {{1, ""}, {3, ""}, {4, ""}, {4, ""}});
    const std::vector<float> factors{1, 1, 2.5f, 1.5f};
    const ValueId scales = net.g.add_constant(Tensor::from<float>({4}, std::span<const float>(factors)), "factors");
    std::vector<ValueId> inputs{x, scales};
    if (opset >= 11) inputs = {x, net.g.add_constant(Tensor(DType::kFloat32, Shape{0}), "region"), scales};
    std::map<std::string, Attribute, std::less<>> attributes{{"mode", std::string("nearest")}};
    const ValueId big = net.op(opset == 9 ? "Upsample" : "Resize", inputs, "grow", std::move(attributes));
    net.g.add_output(net.op("Conv", {big, net.weight("w", {4, 3, 1, 1})}, "conv"));
    const std::vector<Tensor> in{net.random({1, 3, 4, 4})};
    for (const bool per_channel : {false, true}) {
      const Model q = through_a_file(quantized(net, {"Conv", "Resize"}, per_channel, Approach::kStatic, in));
      int seen = 0;
      for (NodeId id : q.graph.topological_order()) {
        const Node& n = q.graph.node(id);
        if (n.op_type != "Resize") continue;
        ++seen;
        const Tensor* kept = q.graph.constant(n.input(2));
        ASSERT_NE(kept, nullptr);
        ASSERT_EQ(kept->dtype(), DType::kFloat32);
        EXPECT_TRUE(std::equal(factors.begin(), factors.end(), kept->values<float>().begin()));
      }
      EXPECT_EQ(seen, 1);
      const Tensor got = session_run(q, in, kernels::best_isa())[0];
      EXPECT_EQ(got.shape().str(), "[1,4,10,6]");
      EXPECT_GT(quant::snr(session_run(through_a_file(quantized(net, {"Conv"}, per_channel, Approach::kDynamic, in)),
                                       in, kernels::best_isa())[0],
                           got),
                25.0);
    }
  }
}

// microsoft/onnxruntime#17944, #11072, #7017: what a model holds in Constant nodes, in the main graph and in bodies,
// goes beside the message like any initializer, before quantizing and after.
TEST(QuantizedFile, ConstantNodesGoBesideTheMessage) {
  Net net;
  const ValueId cond = net.flag("cond");
  const ValueId x = net.input("x", {{-1, ""}, {32, ""}});
  const auto constant = [&](Graph& g, const std::string& name) {
    Node n;
    n.op_type = "Constant";
    n.name = name;
    n.version = 13;
    n.attributes = {{"value", net.random({32, 32})}};
    n.outputs = {g.add_value(name + "_out")};
    const ValueId out = n.outputs[0];
    g.add_node(std::move(n));
    return out;
  };
  const auto body = [&](const std::string& name) {
    auto b = std::make_shared<Graph>();
    const ValueId bx = b->add_value("x_" + name, net.g.value(x).type);
    b->captures = {{x, bx}};
    const ValueId w = constant(*b, name + "_weight");
    b->add_output(b->node(b->add_node("MatMul", {bx, w}, 1, name, "", 13)).outputs[0]);
    return b;
  };
  const ValueId chosen = net.op("If", {cond}, "choose", {{"then_branch", body("a")}, {"else_branch", body("b")}});
  net.g.add_output(net.op("MatMul", {chosen, constant(net.g, "outer")}, "last"));
  const auto path = std::filesystem::path(testing::TempDir()) / "assay_constants.onnx";
  const auto data = std::filesystem::path(path.string() + ".data");
  OnnxWriteOptions options;
  options.inline_limit_bytes = 1024;
  options.external_threshold_bytes = 1024;
  const Tensor value = net.random({3, 32});
  for (const bool quantize : {false, true}) {
    SCOPED_TRACE(quantize);
    const Model m = quantize ? quantized(net, {"MatMul"}, false, Approach::kDynamic, {}) : through_a_file(net.m);
    write_onnx(m, path, options);
    EXPECT_EQ(std::filesystem::file_size(data) / 1024, quantize ? 3u : 12u);  // three weights, nothing twice
    EXPECT_LT(std::filesystem::file_size(path), 6000u);
    const Model back = read_onnx(path);
    for (const bool c : {false, true}) {
      const std::vector<Tensor> in{Tensor::scalar<bool>(c), value};
      EXPECT_GT(quant::snr(quant::run(net.m, in)[0], session_run(back, in, kernels::best_isa())[0]), 20.0);
    }
  }
  std::filesystem::remove(path);
  std::filesystem::remove(data);
}

// microsoft/onnxruntime#16105, #6004: a quantized file gives the same integers on every level this machine has: u8
// activations near 255, weights near +-127, channel counts that fill no tile, stride 2.
TEST(QuantizedFile, SameAnswersOnEveryInstructionSet) {
  for (const Approach approach : {Approach::kDynamic, Approach::kStatic})
    for (const bool per_channel : {false, true})
      for (const bool conv : {false, true}) {
        SCOPED_TRACE(testing::Message() << to_string(approach) << " per channel " << per_channel << " conv " << conv);
        Net net;
        const Shape in_shape = conv ? Shape{2, 3, 9, 9} : Shape{5, 131};
        const ValueId x =
            conv ? net.input("x", {{2, ""}, {3, ""}, {9, ""}, {9, ""}}) : net.input("x", {{-1, ""}, {131, ""}});
        Tensor w(DType::kFloat32, conv ? Shape{21, 3, 3, 3} : Shape{131, 21});
        for (float& v : w.mutable_view().values<float>()) v = net.next() > -0.3f ? 0.9f + 0.1f * net.next() : -1.0f;
        const ValueId b = net.weight("b", {21});
        std::map<std::string, Attribute, std::less<>> attributes;
        if (conv) attributes = {{"strides", std::vector<int64_t>{2, 2}}, {"pads", std::vector<int64_t>{1, 1, 1, 1}}};
        net.g.add_output(
            net.op(conv ? "Conv" : "Gemm", {x, net.g.add_constant(std::move(w), "w"), b}, "node", attributes));
        Tensor in = net.random(in_shape);
        for (float& v : in.mutable_view().values<float>()) v = v > -0.6f ? 3.0f + 0.1f * v : v;
        const Model q = through_a_file(quantized(net, {"Conv", "Gemm"}, per_channel, approach, {in}));
        const Tensor exact = quant::run(net.m, {in})[0];
        const Tensor scalar = session_run(q, {in}, kernels::Isa::kScalar)[0];
        EXPECT_GT(quant::snr(exact, scalar), 30.0);
        for (const kernels::Isa isa : kernels::supported_isas()) {
          const Tensor got = session_run(q, {in}, isa)[0];
          // The integers are equal bit by bit; what is float in the graph may be rounded otherwise.
          EXPECT_GT(quant::snr(scalar, got), 110.0) << to_string(isa);
        }
      }
}

}  // namespace
}  // namespace assay
