#include "quant/quantizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "quant/quant_test_util.h"
#include "quant/sensitivity.h"

namespace assay::quant {
namespace {

// huggingface/transformers.js#527: a product of two activations beside one with a constant.
TEST(Dynamic, MatMulOfTwoActivationsIsNamedAndTheOtherQuantized) {
  Net net;
  const ValueId x = net.input("x", {{-1, "batch"}, {8, ""}});
  const ValueId a = net.op("MatMul", {x, net.weight("w", {8, 8})}, "dense");
  net.g.add_output(net.op("MatMul", {a, a}, "scores"));
  const Tensor in = net.random({8, 8});
  QuantPlan plan;
  const Model q = quantize_dynamic(net.m, with({"MatMul"}), &plan);
  EXPECT_EQ(line(plan, "dense").action, Action::kIntegerMatMul);
  EXPECT_NE(line(plan, "scores").reason.find("B is not constant"), std::string::npos);
  EXPECT_EQ(count(q.graph, "MatMulInteger"), 1);
  EXPECT_GT(snr(run(net.m, {in})[0], run(q, {in})[0]), 25.0);
  EXPECT_EQ(q.metadata.at("assay.activation_scale"), "row");
  EXPECT_EQ(q.graph.value(q.graph.inputs[0]).type.dims->at(0).symbol, "batch");
  QuantScheme both = with({"MatMul"});
  both.matmul_const_b_only = false;
  const Model r = quantize_dynamic(net.m, both);
  EXPECT_EQ(count(r.graph, "MatMulInteger"), 2);
  EXPECT_EQ(count(r.graph, "DynamicQuantizeLinear"), 2);  // a is quantized once for both its sides
  EXPECT_GT(snr(run(net.m, {in})[0], run(r, {in})[0]), 20.0);
}

TEST(Dynamic, AddAndExclusionsAreSaidAloud) {
  Net net;
  const ValueId x = net.input("x", {{-1, ""}, {8, ""}});
  const ValueId a = net.op("MatMul", {x, net.weight("w", {8, 8})}, "encoder/0/dense");
  net.g.add_output(net.op("Add", {a, net.weight("b", {8})}, "encoder/0/bias"));
  QuantPlan plan;
  Model q = quantize_dynamic(net.m, with({"Add"}), &plan);
  EXPECT_EQ(count(q.graph, "Add"), 1);
  EXPECT_NE(line(plan, "encoder/0/bias").reason.find("no integer form"), std::string::npos);
  EXPECT_TRUE(std::any_of(plan.notes.begin(), plan.notes.end(),
                          [](const std::string& n) { return n.find("Optimum ignores it silently") != n.npos; }));
  QuantScheme scheme = with({"MatMul"});
  scheme.add_exclusion("encoder/*/dense");
  scheme.add_exclusion("nowhere");
  q = quantize_dynamic(net.m, scheme, &plan);
  EXPECT_EQ(count(q.graph, "MatMul"), 1);
  EXPECT_EQ(line(plan, "encoder/0/dense").reason, "excluded by 'encoder/*/dense'");
  EXPECT_TRUE(std::any_of(plan.notes.begin(), plan.notes.end(),
                          [](const std::string& n) { return n.find("'nowhere' fits no node") != n.npos; }));
}

// microsoft/onnxruntime#21277: Gather(W) and MatMul(x, Transpose(W)) keep one storage, a quarter of the float one.
TEST(Dynamic, TiedTableIsStoredOnce) {
  for (const bool per_channel : {false, true}) {
    Net net;
    TensorType ids_type;
    ids_type.dtype = DType::kInt64;
    const ValueId ids = net.g.add_input("ids", ids_type);
    const ValueId w = net.weight("table", {64, 8});
    const ValueId h = net.op("Gather", {w, ids}, "embed");
    const ValueId wt = net.op("Transpose", {w}, "turn", {{"perm", std::vector<int64_t>{1, 0}}});
    net.g.add_output(net.op("MatMul", {h, wt}, "head"));
    const Tensor in = Tensor::from<int64_t>({3}, {5, 0, 63});
    QuantPlan plan;
    const Model q = quantize_dynamic(net.m, with({"MatMul"}, per_channel), &plan);
    EXPECT_EQ(line(plan, "embed").action, Action::kCodeGather);
    EXPECT_NE(line(plan, "embed").reason.find("tied"), std::string::npos);
    EXPECT_LT(constant_bytes(q.graph), constant_bytes(net.m.graph) / 4 + 64 * 10);
    EXPECT_GT(snr(run(net.m, {in})[0], run(q, {in})[0]), 25.0);
    QuantScheme scheme = with({"MatMul"}, per_channel);
    scheme.add_exclusion("embed");
    const Model r = quantize_dynamic(net.m, scheme, &plan);
    EXPECT_NE(line(plan, "embed").reason.find("float copy"), std::string::npos);
    EXPECT_GT(snr(run(net.m, {in})[0], run(r, {in})[0]), 25.0);
  }
}

// microsoft/onnxruntime#13358: a weight behind Identity, or a transpose of its own.
TEST(Dynamic, WeightsBehindOtherOperatorsAreFound) {
  Net net;
  const ValueId x = net.input("x", {{-1, ""}, {8, ""}});
  const ValueId a = net.op("MatMul", {x, net.op("Identity", {net.weight("w", {8, 4})}, "same")}, "one");
  const ValueId turned = net.op("Transpose", {net.weight("v", {6, 4})}, "turn");
  net.g.add_output(net.op("MatMul", {a, turned}, "two"));
  const Tensor in = net.random({5, 8});
  QuantPlan plan;
  const Model q = quantize_dynamic(net.m, with({"MatMul"}, true), &plan);
  EXPECT_EQ(count(q.graph, "MatMulInteger"), 2);
  EXPECT_EQ(count(q.graph, "Transpose"), 0);
  EXPECT_GT(snr(run(net.m, {in})[0], run(q, {in})[0]), 25.0);
}

// microsoft/onnxruntime#19997: a weight that is a graph output, too.
TEST(Dynamic, WeightThatIsAnOutputStaysAndIsQuantized) {
  Net net;
  const ValueId x = net.input("x", {{-1, ""}, {8, ""}});
  const ValueId w = net.weight("w", {8, 4});
  net.g.add_output(net.op("MatMul", {x, w}, "dense"));
  net.g.add_output(w);
  const Tensor in = net.random({2, 8});
  const Model q = quantize_dynamic(net.m, with({"MatMul"}, true));
  EXPECT_EQ(count(q.graph, "MatMulInteger"), 1);
  const auto a = run(net.m, {in}), b = run(q, {in});
  EXPECT_EQ(snr(a[1], b[1]), std::numeric_limits<double>::infinity());
  EXPECT_GT(snr(a[0], b[0]), 25.0);
}

TEST(Dynamic, GemmInEveryOrientation) {
  for (const bool transposed : {false, true})
    for (const float alpha : {1.0f, 0.5f}) {
      Net net;
      const ValueId x = net.input("x", {{-1, ""}, {8, ""}});
      const ValueId w = transposed ? net.weight("w", {4, 8}) : net.weight("w", {8, 4});
      net.g.add_output(
          net.op("Gemm", {x, w, net.weight("b", {4})}, "fc", {{"transB", int64_t{transposed}}, {"alpha", alpha}}));
      const Tensor in = net.random({3, 8});
      for (const bool per_channel : {false, true}) {
        const Model q = quantize_dynamic(net.m, with({"Gemm"}, per_channel));
        EXPECT_EQ(count(q.graph, "MatMulInteger"), 1);
        EXPECT_GT(snr(run(net.m, {in})[0], run(q, {in})[0]), 25.0);
      }
    }
}

// microsoft/onnxruntime#19418: both branches of an If use the same outer weight: quantized once, outside.
TEST(Dynamic, BranchesShareTheOuterWeight) {
  Net net;
  const ValueId cond = net.flag("cond");
  const ValueId x = net.input("x", {{-1, ""}, {8, ""}});
  const ValueId w = net.weight("w", {8, 4});
  const auto branch = [&](const std::string& name) {
    auto body = std::make_shared<Graph>();
    const ValueId bx = body->add_value("x", net.g.value(x).type), bw = body->add_value("w", net.g.value(w).type);
    body->captures = {{x, bx}, {w, bw}};
    ValueId y = body->node(body->add_node("MatMul", {bx, bw}, 1, name, "", 13)).outputs[0];
    if (name == "else") {
      const ValueId one = body->add_constant(Tensor::scalar<float>(1), "one");
      y = body->node(body->add_node("Add", {y, one}, 1, "plus", "", 13)).outputs[0];
    }
    body->add_output(y);
    return body;
  };
  net.g.add_output(net.op("If", {cond}, "choose", {{"then_branch", branch("then")}, {"else_branch", branch("else")}}));
  QuantPlan plan;
  const Model q = quantize_dynamic(net.m, with({"MatMul"}), &plan);
  q.graph.verify();
  EXPECT_EQ(count(q.graph, "MatMulInteger"), 2);
  EXPECT_LT(constant_bytes(q.graph), 8 * 4 + 64);  // one set of codes, no float weight
  EXPECT_EQ(line(plan, "then").scope, "If 'choose'/body 1");
  const Tensor in = net.random({2, 8});
  for (const bool c : {false, true}) {
    const Tensor flag_in = Tensor::scalar<bool>(c);
    EXPECT_GT(snr(run(net.m, {flag_in, in})[0], run(q, {flag_in, in})[0]), 25.0);
  }
}

TEST(Dynamic, ConvAndGather) {
  Net net;
  const ValueId x = net.input("x", {{1, ""}, {3, ""}, {-1, "h"}, {6, ""}});
  net.g.add_output(net.op("Conv", {x, net.weight("w", {5, 3, 3, 3}), net.weight("b", {5})}, "conv",
                          {{"pads", std::vector<int64_t>{1, 1, 1, 1}}}));
  const Tensor in = net.random({1, 3, 7, 6});
  for (const bool per_channel : {false, true}) {
    const Model q = quantize_dynamic(net.m, with({"Conv"}, per_channel));
    EXPECT_EQ(count(q.graph, "ConvInteger"), 1);
    EXPECT_GT(snr(run(net.m, {in})[0], run(q, {in})[0]), 25.0);
  }
  EXPECT_EQ(count(quantize_dynamic(net.m, QuantScheme{}).graph, "Conv"), 1);  // not by default
}

TEST(Static, QuantizedReadersOnlyAndTheirErrorsBound) {
  Net net;
  const ValueId x = net.input("x", {{-1, "batch"}, {8, ""}});
  const ValueId h = net.op("MatMul", {x, net.weight("w", {8, 8})}, "dense");
  const ValueId b = net.op("Add", {h, net.weight("b", {8})}, "bias");
  const ValueId r = net.op("Relu", {b}, "relu");
  net.g.add_output(net.op("MatMul", {r, net.weight("v", {8, 4})}, "out"));
  net.g.add_output(net.op("Add", {r, x}, "kept"));
  const Tensor in = net.random({6, 8});
  for (const bool per_channel : {false, true})
    for (const DType type : {DType::kUint8, DType::kInt8}) {
      QuantScheme s = with({"MatMul", "Relu"}, per_channel, Approach::kStatic);
      s.activation_type = type;
      QuantPlan plan;
      const Model q = make_static(net, s, {in}, &plan);
      EXPECT_EQ(count(q.graph, "QuantizeLinear"), 2);  // x and the Relu's result
      EXPECT_EQ(line(plan, "relu").action, Action::kQdqClip);
      const auto exact = run(net.m, {in}), got = run(q, {in});
      EXPECT_GT(snr(exact[0], got[0]), 25.0);
      // "kept" is no quantized node: of its operands only the product before differs.
      EXPECT_GT(snr(exact[1], got[1]), 28.0);
      for (NodeId id : q.graph.topological_order())
        if (q.graph.node(id).name == "kept") {
          for (ValueId v : q.graph.node(id).inputs) {
            const Node* p = q.graph.producer(v);
            EXPECT_TRUE(p == nullptr || p->op_type == "Relu");
          }
        }
    }
}

// intel/neural-compressor#819: per-channel QDQ below opset 13 is never quietly per tensor.
TEST(Static, PerChannelRaisesTheOpsetAndSaysSo) {
  Net net(10);
  const ValueId x = net.input("x", {{1, ""}, {3, ""}, {4, ""}, {4, ""}});
  const ValueId c = net.op("Conv", {x, net.weight("w", {5, 3, 1, 1}), net.weight("b", {5})}, "conv");
  net.g.add_output(net.op("Clip", {c}, "clip", {{"min", 0.0f}, {"max", 6.0f}}));
  const Tensor in = net.random({1, 3, 4, 4});
  QuantPlan plan;
  const Model q = make_static(net, with({"Conv"}, true, Approach::kStatic), {in}, &plan);
  EXPECT_EQ(q.opsets.at(""), 13);
  EXPECT_NE(plan.notes[0].find("opset raised from 10 to 13"), std::string::npos);
  int axes = 0;
  for (NodeId id : q.graph.topological_order()) {
    const Node& n = q.graph.node(id);
    EXPECT_EQ(n.version, 13) << n.label();
    if (n.op_type != "DequantizeLinear" || q.graph.value(n.inputs[1]).constant.shape().rank() == 0) continue;
    EXPECT_TRUE(n.has("axis")) << n.label();  // microsoft/onnxruntime#17718: the axis is always written
    ++axes;
  }
  EXPECT_EQ(axes, 2);  // weight and bias
  EXPECT_GT(snr(run(net.m, {in})[0], run(q, {in})[0]), 25.0);
}

// microsoft/onnxruntime#19694: channels of ConvTranspose lie on axis 1.
TEST(Static, ConvTransposeChannelsAreOnAxisOne) {
  Net net;
  const ValueId x = net.input("x", {{1, ""}, {3, ""}, {4, ""}, {4, ""}});
  net.g.add_output(net.op("ConvTranspose", {x, net.weight("w", {3, 8, 2, 2})}, "up"));
  const Tensor in = net.random({1, 3, 4, 4});
  Quantizer quantizer(net.m, with({"ConvTranspose"}, true, Approach::kStatic));
  Calibration c;
  c.ranges["x"] = {-1, 1, 1, 0};
  const Model q = quantizer.quantize(&c);
  bool seen = false;
  for (NodeId id : q.graph.topological_order()) {
    const Node& n = q.graph.node(id);
    if (n.op_type != "DequantizeLinear" || !n.has("axis")) continue;
    EXPECT_EQ(n.get_int("axis", -1), 1);
    EXPECT_EQ(q.graph.value(n.inputs[1]).constant.elements(), 8);
    seen = true;
  }
  EXPECT_TRUE(seen);
}

// microsoft/onnxruntime#7507: two Convs share a bias: two sets of codes, since their scales differ.
TEST(Static, SharedBiasIsQuantizedForEach) {
  Net net;
  const ValueId x = net.input("x", {{1, ""}, {3, ""}, {4, ""}, {4, ""}});
  const ValueId b = net.weight("b", {5});
  net.g.add_output(net.op("Conv", {x, net.weight("w1", {5, 3, 1, 1}), b}, "one"));
  net.g.add_output(net.op("Conv", {x, net.g.add_constant(net.random({5, 3, 1, 1}, 10.0f), "w2"), b}, "two"));
  const Tensor in = net.random({1, 3, 4, 4});
  const Model q = make_static(net, with({"Conv"}, false, Approach::kStatic), {in});
  int biases = 0;
  for (size_t i = 0; i < q.graph.value_count(); ++i)
    if (const Tensor* t = q.graph.constant(static_cast<ValueId>(i))) {
      biases += t->dtype() == DType::kInt32;
      EXPECT_NE(q.graph.value(static_cast<ValueId>(i)).name, "b");
    }
  EXPECT_EQ(biases, 2);
  const auto exact = run(net.m, {in}), got = run(q, {in});
  EXPECT_GT(snr(exact[0], got[0]), 25.0);
  EXPECT_GT(snr(exact[1], got[1]), 25.0);
}

// microsoft/onnxruntime#21000: a bias that would overflow int32 raises the weight scale of its channel.
TEST(Static, BiasThatOverflowsRaisesTheWeightScale) {
  Net net;
  const ValueId x = net.input("x", {{1, ""}, {2, ""}, {1, ""}, {1, ""}});
  const ValueId w = net.g.add_constant(Tensor::from<float>({2, 2, 1, 1}, {1e-7f, -1e-7f, 1, 0.5f}), "w");
  const ValueId b = net.g.add_constant(Tensor::from<float>({2}, {5, -4.5f}), "b");
  net.g.add_output(net.op("Conv", {x, w, b}, "conv"));
  const Tensor in = Tensor::from<float>({1, 2, 1, 1}, {100, -60});
  QuantPlan plan;
  const Model q = make_static(net, with({"Conv"}, true, Approach::kStatic), {in}, &plan);
  EXPECT_NE(line(plan, "conv").reason.find("weight scale of 1 channel raised"), std::string::npos);
  const auto exact = run(net.m, {in})[0], got = run(q, {in})[0];
  for (size_t i = 0; i < 2; ++i)
    EXPECT_NEAR(exact.values<float>()[i], got.values<float>()[i], 0.8f);  // a step of x is 0.63
}

TEST(Static, MoversShareTheScaleAndSoftmaxHasTheUnitRange) {
  Net net;
  const ValueId x = net.input("x", {{-1, ""}, {8, ""}});
  const ValueId s = net.op("Softmax", {x}, "soft", {{"axis", int64_t{-1}}});
  const ValueId t = net.op("Transpose", {s}, "turn", {{"perm", std::vector<int64_t>{1, 0}}});
  net.g.add_output(net.op("MatMul", {t, net.weight("w", {4, 4})}, "out"));
  const Tensor in = net.random({4, 8});
  Quantizer probe(net.m, with({"MatMul", "Softmax", "Transpose"}, false, Approach::kStatic));
  EXPECT_EQ(probe.tensors_to_observe(), std::vector<std::string>{"x"});
  const Model q = make_static(net, with({"MatMul", "Softmax", "Transpose"}, false, Approach::kStatic), {in});
  int unit = 0;
  for (NodeId id : q.graph.topological_order()) {
    const Node& n = q.graph.node(id);
    if (n.op_type == "QuantizeLinear" && q.graph.value(n.inputs[1]).constant.values<float>()[0] == 1.0f / 255.0f)
      ++unit;
  }
  EXPECT_EQ(unit, 2);
  EXPECT_GT(snr(run(net.m, {in})[0], run(q, {in})[0]), 25.0);
}

TEST(Static, IntegerArithmeticAndMissingRangesAreNamed) {
  Net net;
  TensorType ids;
  ids.dtype = DType::kInt64;
  const ValueId i = net.g.add_input("i", ids);
  net.g.add_output(net.op("Add", {i, i}, "index"));
  const ValueId x = net.input("x", {{-1, ""}, {8, ""}});
  net.g.add_output(net.op("Add", {x, x}, "twice"));
  Quantizer q(net.m, with({"Add"}, false, Approach::kStatic));
  EXPECT_NE(line(q.plan(), "index").reason.find("integer (int64)"), std::string::npos);
  const Calibration empty;
  try {
    q.quantize(&empty);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kNotFound);
    EXPECT_NE(std::string(e.what()).find("'x'"), std::string::npos);
  }
  EXPECT_THROW(Quantizer(net.m, with({"Add"}, false, Approach::kStatic)).quantize(), Error);
}

TEST(Noise, NamesTheNodeWhoseActivationIsCrushed) {
  Net net;
  const ValueId x = net.input("x", {{-1, ""}, {8, ""}});
  const ValueId big = net.op("Concat", {x, net.g.add_constant(Tensor::from<float>({4, 1}, {3e4f, 0, 0, 0}), "spike")},
                             "join", {{"axis", int64_t{1}}});
  const ValueId a = net.op("MatMul", {x, net.weight("w", {8, 8})}, "fine");
  net.g.add_output(net.op("Add", {a, x}, "end"));
  const Tensor weight = net.random({9, 8}, 0.1f);
  net.g.add_output(net.op("MatMul", {big, net.g.add_constant(weight, "v")}, "crushed"));
  const Tensor in = net.random({4, 8});
  Quantizer q(net.m, with({"MatMul"}, true, Approach::kStatic));
  q.measure_weights();
  Model exact = q.float_model();
  exact.graph = exact.graph.clone();
  Progress silent;
  bool given = false;
  const Calibration c = calibrate(
      exact, q.tensors_to_observe(),
      [&](Sample& s) {
        s = {in};
        return !std::exchange(given, true);
      },
      {}, silent);
  const Model rounded = q.quantize(&c);
  const auto noise = measure_noise(exact, rounded, q.plan(), {{in}}, {}, silent);
  ASSERT_EQ(noise.size(), 2u);
  for (const NodeNoise& n : noise) EXPECT_TRUE(n.weight_sqnr_db && n.activation_sqnr_db);
  const auto fine = std::find_if(noise.begin(), noise.end(), [](const NodeNoise& n) { return n.node == "fine"; });
  EXPECT_GT(fine->output_sqnr_db, 30.0);
  EXPECT_EQ(fine->activation, "x");
  // Three of four rows are lost in the step that the spike in the fourth dictates.
  const NodeNoise worst = worst_nodes(noise, 1).at(0);
  EXPECT_EQ(worst.node, "crushed");
  EXPECT_EQ(worst.activation, "join_out");
  EXPECT_LT(*worst.activation_sqnr_db, 3.0);
  EXPECT_LT(worst.output_sqnr_db, 3.0);
  EXPECT_LT(to_json(worst)["output_sqnr_db"].get<double>(), 3.0);
}

TEST(Scheme, JsonRoundTripGlobsAndRefusals) {
  QuantScheme s = with({"MatMul", "Add"}, true, Approach::kStatic);
  s.add_exclusion("gelu");
  s.add_exclusion("layer.[0-2]*");
  s.activation_type = DType::kInt8;
  EXPECT_EQ(to_json(scheme_from_json(to_json(s))), to_json(s));
  EXPECT_TRUE(glob_match("layer.[0-2]*", "layer.1/MatMul"));
  EXPECT_FALSE(glob_match("layer.[!0-2]*", "layer.1/MatMul"));
  EXPECT_TRUE(glob_match("*a?c*", "xxabc"));
  EXPECT_FALSE(glob_match("a*b", "ac"));
  EXPECT_THROW(scheme_from_json({{"aproach", "static"}}), Error);
  EXPECT_THROW(scheme_from_json({{"approach", 3}}), Error);
  s.weight_type = DType::kUint8;
  EXPECT_THROW(s.check(), Error);
  s.approach = Approach::kDynamic;
  EXPECT_THROW(s.check(), Error);
}

}  // namespace
}  // namespace assay::quant
