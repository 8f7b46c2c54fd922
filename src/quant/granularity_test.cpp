// One scale a channel: along the right axis, said aloud in the file, never quietly given up, and wide enough for what
// shares it (the bias).
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

#include "quant/quant_test_util.h"

namespace assay::quant {
namespace {

// A net of one operator with a weight, its bias, and a sample; channels differ in magnitude by powers of ten.
struct OneOp {
  Net net;
  std::vector<Tensor> in;
  int channels = 0;
  Shape weight;
  int axis = 0;

  OneOp(const std::string& op, int opset, int64_t groups = 1, bool transposed = false) : net(opset) {
    const bool conv = op == "Conv" || op == "ConvTranspose";
    std::map<std::string, Attribute, std::less<>> attributes;
    if (op == "Conv") {
      weight = {6, 4 / groups, 1, 2};
    } else if (op == "ConvTranspose") {
      weight = {4, 6 / groups, 2, 2};
      axis = 1;
    } else {
      weight = transposed ? Shape{6, 4} : Shape{4, 6};
      axis = transposed ? 0 : 1;
    }
    if (groups != 1) attributes["group"] = groups;
    if (transposed) attributes["transB"] = int64_t{1};
    channels = static_cast<int>(weight[axis]);
    Tensor w = net.random(weight);
    const int64_t inner = weight.elements(axis + 1, weight.rank());
    for (int64_t i = 0; i < w.elements(); ++i)
      w.mutable_view().as<float>()[i] *= std::pow(10.0f, static_cast<float>(i / inner % channels - 3));
    const ValueId x = conv ? net.input("x", {{1, ""}, {4, ""}, {3, ""}, {3, ""}}) : net.input("x", {{-1, ""}, {4, ""}});
    std::vector<ValueId> inputs{x, net.g.add_constant(std::move(w), "w")};
    if (op != "MatMul") inputs.push_back(net.g.add_constant(net.random({6}, 0.001f), "b"));
    net.g.add_output(net.op(op, inputs, "node", attributes));
    in = {conv ? net.random({1, 4, 3, 3}) : net.random({5, 4})};
  }
};

// Signal to noise of the worst output channel (axis 1 of the result).
double worst_channel(const Tensor& exact, const Tensor& got) {
  EXPECT_EQ(exact.shape().str(), got.shape().str());
  const int64_t channels = exact.shape()[1], inner = exact.shape().elements(2, exact.shape().rank());
  double worst = std::numeric_limits<double>::infinity();
  for (int64_t c = 0; c < channels; ++c) {
    double signal = 0, noise = 0;
    for (int64_t i = 0; i < exact.elements(); ++i) {
      if (i / inner % channels != c) continue;
      const double x = static_cast<double>(exact.values<float>()[static_cast<size_t>(i)]);
      const double d = x - static_cast<double>(got.values<float>()[static_cast<size_t>(i)]);
      signal += x * x;
      noise += d * d;
    }
    worst = std::min(worst, sqnr_db(signal, noise));
  }
  return worst;
}

// microsoft/onnxruntime#17718, #19694, intel/neural-compressor#819: every operator that has channels, at every opset we
// read, straight, transposed and in groups: as many scales as the channel axis has entries, along that axis, and the
// opset raised aloud where the operators need it. Channels that differ by five orders of magnitude all stay accurate,
// which one scale for the tensor could not do.
TEST(PerChannel, IsKeptAtEveryOpsetForEveryOperator) {
  struct Spelling {
    std::string op;
    int64_t groups;
    bool transposed;
  };
  const Spelling spellings[] = {{"MatMul", 1, false},       {"Gemm", 1, false}, {"Gemm", 1, true},
                                {"Conv", 1, false},         {"Conv", 2, false}, {"ConvTranspose", 1, false},
                                {"ConvTranspose", 2, false}};
  for (const int opset : {7, 9, 10, 11, 12, 13, 17, 21})
    for (const Spelling& s : spellings) {
      SCOPED_TRACE(testing::Message() << s.op << " groups " << s.groups << " transB " << s.transposed << " opset "
                                      << opset);
      const OneOp one(s.op, opset, s.groups, s.transposed);
      QuantPlan plan;
      const Model q = make_static(one.net, with({s.op}, true, Approach::kStatic), one.in, &plan);
      EXPECT_EQ(line(plan, "node").action, Action::kQdq);
      EXPECT_EQ(q.opsets.at(""), std::max(opset, 13));
      const std::string raised = "opset raised from " + std::to_string(opset) + " to 13";
      EXPECT_EQ(std::any_of(plan.notes.begin(), plan.notes.end(),
                            [&](const std::string& n) { return n.find(raised) != n.npos; }),
                opset < 13);
      int seen = 0;
      for (NodeId id : q.graph.topological_order()) {
        const Node& n = q.graph.node(id);
        const Tensor* codes = q.graph.constant(n.input(0));
        if (n.op_type != "DequantizeLinear" || codes == nullptr || codes->dtype() != DType::kInt8) continue;
        EXPECT_EQ(n.get_int("axis", -1), one.axis);
        EXPECT_EQ(q.graph.constant(n.input(1))->elements(), one.channels);
        ++seen;
      }
      EXPECT_EQ(seen, 1);
      const double worst = worst_channel(run(one.net.m, one.in)[0], run(q, one.in)[0]);
      // Two groups share the scales of axis 1: their channels lie in the same order of magnitude here.
      EXPECT_GT(worst, 20.0);
      if (s.op == "ConvTranspose" && s.groups > 1) {
        EXPECT_NE(line(plan, "node").reason.find("its bias stays float"), std::string::npos);
      }
    }
}

// The same in dynamic quantization, every weight type and symmetry.
TEST(PerChannel, DynamicGivesItUpOnlyAloud) {
  for (const std::string op : {"MatMul", "Gemm", "Conv"})
    for (const DType type : {DType::kInt8, DType::kUint8})
      for (const bool symmetric : {true, false})
        for (const int opset : {7, 10, 11, 13}) {
          SCOPED_TRACE(testing::Message()
                       << op << " " << to_string(type) << " symmetric " << symmetric << " opset " << opset);
          const OneOp one(op, opset);
          QuantScheme scheme = with({op}, true);
          scheme.weight_type = type;
          scheme.weight_symmetric = symmetric;
          QuantPlan plan;
          const Model q = quantize_dynamic(one.net.m, scheme, &plan);
          EXPECT_TRUE(line(plan, "node").quantized());
          const bool given_up = line(plan, "node").reason.find("per tensor") != std::string::npos;
          EXPECT_EQ(given_up, op == "Conv" && (type == DType::kUint8 || !symmetric));
          const Tensor exact = run(one.net.m, one.in)[0], got = run(q, one.in)[0];
          EXPECT_GT(given_up ? snr(exact, got) : worst_channel(exact, got), 20.0);
        }
}

// microsoft/onnxruntime#17718, reading: no axis means 1; where that does not fit, node, axis and both sizes are named.
TEST(PerChannel, AFileWithoutAxisIsReadAsTheStandardSays) {
  Net net;
  const ValueId codes = net.g.add_constant(Tensor(DType::kInt8, Shape{5, 525, 1, 1}), "codes");
  const ValueId scale = net.g.add_constant(net.random({5}), "scale");
  net.g.add_output(net.op("DequantizeLinear", {codes, scale}, "weight_dq"));
  try {
    run(net.m, {});
    FAIL() << "accepted";
  } catch (const Error& e) {
    const std::string what = e.what();
    for (const char* part : {"weight_dq", "axis 1", "holds 5", "has 525"})
      EXPECT_NE(what.find(part), std::string::npos) << what;
  }
  Net fits;
  const ValueId w = fits.g.add_constant(Tensor::from<int8_t>({2, 2}, {1, 2, 3, 4}), "codes");
  const ValueId two = fits.g.add_constant(Tensor::from<float>({2}, {1, 10}), "scale");
  fits.g.add_output(fits.op("DequantizeLinear", {w, two}, "dq"));
  const Tensor got = run(fits.m, {})[0];
  EXPECT_EQ(std::vector<float>(got.values<float>().begin(), got.values<float>().end()),
            (std::vector<float>{1, 20, 3, 40}));
}

// microsoft/onnxruntime#21000 (PRs #21645, #22020, #25278): weights and biases of any magnitude. A bias is never
// clipped: what the int32 spelling loses is a step of the activation or the weight, or it is not used and that is said.
RC_GTEST_PROP(BiasProperty, IsNeverClipped, ()) {
  const auto magnitude = [] { return std::pow(10.0f, static_cast<float>(*rc::gen::inRange(-36, 36))); };
  const bool gemm = *rc::gen::arbitrary<bool>(), per_channel = *rc::gen::arbitrary<bool>();
  const int64_t channels = 3, depth = 2;
  Net net;
  net.state = *rc::gen::inRange<uint64_t>(1, 1000);
  const Shape shape = gemm ? Shape{channels, depth} : Shape{channels, depth, 1, 1};
  Tensor w(DType::kFloat32, shape), b(DType::kFloat32, Shape{channels});
  for (int64_t c = 0; c < channels; ++c) {
    const float size = *rc::gen::weightedElement<int>({{1, 0}, {5, 1}}) == 0 ? 0.0f : magnitude();
    for (int64_t k = 0; k < depth; ++k) w.mutable_view().as<float>()[c * depth + k] = size * net.next();
    b.mutable_view().as<float>()[c] = magnitude() * net.next();
  }
  const Tensor x = net.random(gemm ? Shape{4, depth} : Shape{4, depth, 1, 1}, 0.5f);
  const ValueId in =
      gemm ? net.input("x", {{4, ""}, {depth, ""}}) : net.input("x", {{4, ""}, {depth, ""}, {1, ""}, {1, ""}});
  std::map<std::string, Attribute, std::less<>> attributes;
  if (gemm) attributes["transB"] = int64_t{1};
  net.g.add_output(
      net.op(gemm ? "Gemm" : "Conv", {in, net.g.add_constant(w, "w"), net.g.add_constant(b, "b")}, "node", attributes));
  QuantScheme scheme = with({gemm ? "Gemm" : "Conv"}, per_channel, Approach::kStatic);
  QuantPlan plan;
  const Model q = make_static(net, scheme, {x}, &plan);
  const Tensor exact = run(net.m, {x})[0], got = run(q, {x})[0];
  double weight_max = 0;
  for (float v : w.values<float>()) weight_max = std::max(weight_max, std::abs(static_cast<double>(v)));
  for (int64_t i = 0; i < exact.elements(); ++i) {
    const int64_t c = i % channels;
    double largest = weight_max;
    if (per_channel) {
      largest = 0;
      for (int64_t k = 0; k < depth; ++k)
        largest =
            std::max(largest, std::abs(static_cast<double>(w.values<float>()[static_cast<size_t>(c * depth + k)])));
    }
    // Values of x are below 0.5, its step below 1/255; a weight's step is largest / 127. A raised scale costs no more
    // than what int32 cannot tell of the bias: 2^-31 of it, twice (weight and bias), over all of x's codes.
    const double bias = std::abs(static_cast<double>(b.values<float>()[static_cast<size_t>(c)]));
    double most = bias;  // per tensor, the largest bias sets the scale for all
    if (!per_channel)
      for (float v : b.values<float>()) most = std::max(most, std::abs(static_cast<double>(v)));
    const double limit = depth * (0.5 * largest / 127 + largest / 255) + depth * 260 * most / 2147483648.0 +
                         4e-7 * bias + 4e-36;  // weights below the smallest normal scale are lost
    const double off = std::abs(static_cast<double>(exact.values<float>()[static_cast<size_t>(i)]) -
                                static_cast<double>(got.values<float>()[static_cast<size_t>(i)]));
    if (!(off <= limit)) RC_LOG() << "off " << off << " limit " << limit << " " << line(plan, "node").reason << "\n";
    RC_ASSERT(off <= limit);
  }
}

TEST(Bias, WhatIsNotFiniteStaysFloatAloud) {
  Net net;
  const ValueId x = net.input("x", {{1, ""}, {2, ""}, {1, ""}, {1, ""}});
  const float inf = std::numeric_limits<float>::infinity();
  const ValueId b = net.g.add_constant(Tensor::from<float>({2}, {inf, 1}), "b");
  net.g.add_output(net.op("Conv", {x, net.weight("w", {2, 2, 1, 1}), b}, "conv"));
  const std::vector<Tensor> in{net.random({1, 2, 1, 1})};
  QuantPlan plan;
  const Model q = make_static(net, with({"Conv"}, true, Approach::kStatic), in, &plan);
  EXPECT_NE(line(plan, "conv").reason.find("not finite"), std::string::npos);
  EXPECT_EQ(run(q, in)[0].values<float>()[0], inf);
}

}  // namespace
}  // namespace assay::quant
