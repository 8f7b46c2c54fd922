// How weights reach their operators, in every way that exporters write it, under both approaches: tied, shared, behind
// other operators, given out by the model, computed.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "quant/quant_test_util.h"

namespace assay::quant {
namespace {

constexpr Approach kBoth[] = {Approach::kDynamic, Approach::kStatic};

Model quantize(const Net& net, const QuantScheme& scheme, const std::vector<Tensor>& inputs, QuantPlan* plan) {
  return scheme.approach == Approach::kDynamic ? quantize_dynamic(net.m, scheme, plan)
                                               : make_static(net, scheme, inputs, plan);
}

// Bytes of constants of a type that have more than one element.
int64_t bytes_of_type(const Graph& g, DType type) {
  int64_t n = 0;
  for (size_t i = 0; i < g.value_count(); ++i)
    if (const Tensor* t = g.constant(static_cast<ValueId>(i));
        t != nullptr && t->dtype() == type && t->elements() > 1 && !g.value(static_cast<ValueId>(i)).users.empty())
      n += t->bytes();
  return n;
}

bool computes(Action action) { return action == Action::kIntegerMatMul || action == Action::kQdq; }

// microsoft/onnxruntime#21277: a table read by a Gather and, straight or transposed, by a product is one set of codes,
// asked for or not; both readers stay correct; where somebody forbids it, the float copy is said aloud.
TEST(TiedTable, OneStorageInEveryApproachAndOrientation) {
  for (const Approach approach : kBoth)
    for (const bool per_channel : {false, true})
      for (const bool ask_gather : {false, true})
        for (const bool direct : {false, true}) {
          SCOPED_TRACE(testing::Message() << to_string(approach) << " per channel " << per_channel << " Gather asked "
                                          << ask_gather << " direct " << direct);
          Net net;
          TensorType ids_type;
          ids_type.dtype = DType::kInt64;
          const ValueId ids = net.g.add_input("ids", ids_type);
          const ValueId w = direct ? net.weight("table", {16, 16}) : net.weight("table", {64, 16});
          const ValueId h = net.op("Gather", {w, ids}, "embed");
          const ValueId b = direct ? w : net.op("Transpose", {w}, "turn", {{"perm", std::vector<int64_t>{1, 0}}});
          net.g.add_output(net.op("MatMul", {h, b}, "head"));
          const std::vector<Tensor> in{Tensor::from<int64_t>({3}, {5, 0, 15})};
          std::vector<std::string> operators{"MatMul"};
          if (ask_gather) operators.emplace_back("Gather");
          QuantScheme scheme = with(operators, per_channel, approach);
          QuantPlan plan;
          const Model q = quantize(net, scheme, in, &plan);
          EXPECT_TRUE(computes(line(plan, "head").action));
          EXPECT_GT(snr(run(net.m, in)[0], run(q, in)[0]), 25.0);
          if (direct && per_channel) {  // rows gathered from codes cut along columns have no scale of their own
            EXPECT_TRUE(ask_gather || line(plan, "embed").reason.find("float copy") != std::string::npos);
            continue;
          }
          EXPECT_EQ(line(plan, "embed").action, Action::kCodeGather);
          const int64_t table = direct ? 256 : 1024;
          EXPECT_EQ(bytes_of_type(q.graph, DType::kInt8), table + (per_channel ? 64 : 0));   // codes, and zero points
          EXPECT_LE(bytes_of_type(q.graph, DType::kFloat32), per_channel ? 2 * 64 * 4 : 0);  // scales, no table

          scheme.add_exclusion("embed");
          const Model r = quantize(net, scheme, in, &plan);
          EXPECT_TRUE(computes(line(plan, "head").action));
          EXPECT_NE(line(plan, "embed").reason.find("float copy"), std::string::npos) << line(plan, "embed").reason;
          EXPECT_GT(snr(run(net.m, in)[0], run(r, in)[0]), 25.0);
        }
}

// microsoft/onnxruntime#13358, microsoft/onnxruntime-inference-examples#363: whatever computes a weight from constants
// alone is folded first, for every operator that has a weight.
TEST(FoldedWeights, WhateverOnlyMakesAWeightIsFolded) {
  const auto half = [](Net& net, const Shape& shape, float scale) {
    const Tensor real = net.random(shape, scale);
    Tensor t(DType::kFloat16, shape);
    for (int64_t i = 0; i < t.elements(); ++i)
      t.mutable_view().as<Float16>()[i] = Float16(real.values<float>()[static_cast<size_t>(i)]);
    return net.g.add_constant(std::move(t), "w16");
  };
  // Each gives a float32 weight of a shape, in its own spelling.
  const std::map<std::string, std::function<ValueId(Net&, const Shape&)>> spellings = {
      {"Cast",
       [&](Net& net, const Shape& s) {
         return net.op("Cast", {half(net, s, 1)}, "to_float", {{"to", int64_t{1}}});
       }},
      {"Identity",
       [](Net& net, const Shape& s) {
         return net.op("Identity", {net.op("Identity", {net.weight("w", s)}, "same")}, "again");
       }},
      {"Constant",
       [](Net& net, const Shape& s) {
         return net.op("Constant", {}, "made", {{"value", net.random(s)}});
       }},
      {"CastOfConstant",
       [&](Net& net, const Shape& s) {
         const Tensor t = net.g.value(half(net, s, 1)).constant;
         return net.op("Cast", {net.op("Constant", {}, "made", {{"value", t}})}, "to_float", {{"to", int64_t{1}}});
       }},
      {"Scaled",
       [&](Net& net, const Shape& s) {
         const ValueId factor = net.g.add_constant(Tensor::scalar<float>(0.25f), "factor");
         return net.op("Mul", {net.op("Cast", {half(net, s, 4)}, "to_float", {{"to", int64_t{1}}}), factor}, "scaled");
       }},
      {"Reshaped", [](Net& net, const Shape& s) {
         const ValueId to = net.g.add_constant(Tensor::from<int64_t>({s.rank()}, s.dims()), "to");
         return net.op("Reshape", {net.weight("w", {s.elements()}), to}, "shaped");
       }}};
  for (const auto& [name, make] : spellings) {
    for (const Approach approach : kBoth)
      for (const bool per_channel : {false, true})
        for (const std::string op : {"MatMul", "Gemm", "Conv"}) {
          SCOPED_TRACE(testing::Message() << name << " " << op << " " << to_string(approach) << " " << per_channel);
          Net net;
          std::vector<Tensor> in;
          if (op == "Conv") {
            const ValueId x = net.input("x", {{1, ""}, {6, ""}, {4, ""}, {4, ""}});
            net.g.add_output(net.op("Conv", {x, make(net, {4, 6, 2, 1}), net.weight("b", {4})}, "node"));
            in = {net.random({1, 6, 4, 4})};
          } else {
            const ValueId x = net.input("x", {{-1, ""}, {6, ""}});
            std::vector<ValueId> inputs{x, make(net, {6, 5})};
            if (op == "Gemm") inputs.push_back(net.weight("b", {5}));
            net.g.add_output(net.op(op, inputs, "node"));
            in = {net.random({7, 6})};
          }
          QuantPlan plan;
          const Model q = quantize(net, with({op}, per_channel, approach), in, &plan);
          EXPECT_TRUE(line(plan, "node").quantized()) << line(plan, "node").reason;
          EXPECT_EQ(count(q.graph, op), approach == Approach::kStatic ? 1 : 0);
          EXPECT_EQ(bytes_of_type(q.graph, DType::kFloat16), 0);
          EXPECT_GT(snr(run(net.m, in)[0], run(q, in)[0]), 25.0);
        }
  }
}

// The fp16 spelling of a tied table: one Cast for both readers, or one for each.
TEST(FoldedWeights, ATiedTableBehindCastsStaysOne) {
  for (const Approach approach : kBoth)
    for (const bool two_casts : {false, true}) {
      SCOPED_TRACE(testing::Message() << to_string(approach) << " two casts " << two_casts);
      Net net;
      TensorType ids_type;
      ids_type.dtype = DType::kInt64;
      const ValueId ids = net.g.add_input("ids", ids_type);
      Tensor table(DType::kFloat16, Shape{64, 16});
      for (int64_t i = 0; i < table.elements(); ++i) table.mutable_view().as<Float16>()[i] = Float16(net.next());
      const ValueId w16 = net.g.add_constant(std::move(table), "w16");
      const ValueId one = net.op("Cast", {w16}, "cast", {{"to", int64_t{1}}});
      const ValueId two = two_casts ? net.op("Cast", {w16}, "cast2", {{"to", int64_t{1}}}) : one;
      const ValueId h = net.op("Gather", {one, ids}, "embed");
      net.g.add_output(net.op("MatMul", {h, net.op("Transpose", {two}, "turn")}, "head"));
      const std::vector<Tensor> in{Tensor::from<int64_t>({3}, {5, 0, 63})};
      QuantPlan plan;
      const Model q = quantize(net, with({"MatMul", "Gather"}, false, approach), in, &plan);
      EXPECT_TRUE(line(plan, "head").quantized()) << line(plan, "head").reason;
      EXPECT_EQ(bytes_of_type(q.graph, DType::kInt8), 1024);
      EXPECT_EQ(bytes_of_type(q.graph, DType::kFloat32) + bytes_of_type(q.graph, DType::kFloat16), 0);
      EXPECT_GT(snr(run(net.m, in)[0], run(q, in)[0]), 25.0);
    }
}

// microsoft/onnxruntime#19997: a weight that the model gives out keeps its values there and is quantized where it is
// multiplied, per tensor and per channel, for every operator that has a weight.
TEST(WeightsGivenOut, OutputIsFloatAndTheProductQuantized) {
  for (const Approach approach : kBoth)
    for (const bool per_channel : {false, true})
      for (const std::string op : {"MatMul", "Gemm", "Conv"}) {
        SCOPED_TRACE(testing::Message() << op << " " << to_string(approach) << " per channel " << per_channel);
        Net net;
        const bool conv = op == "Conv";
        const ValueId x =
            conv ? net.input("x", {{1, ""}, {6, ""}, {3, ""}, {3, ""}}) : net.input("x", {{-1, ""}, {6, ""}});
        const ValueId w = conv ? net.weight("w", {5, 6, 1, 1}) : net.weight("w", {6, 5});
        net.g.add_output(net.op(op, {x, w}, "node"));
        net.g.add_output(w);
        const std::vector<Tensor> in{conv ? net.random({1, 6, 3, 3}) : net.random({4, 6})};
        QuantPlan plan;
        const Model q = quantize(net, with({op}, per_channel, approach), in, &plan);
        EXPECT_TRUE(line(plan, "node").quantized()) << line(plan, "node").reason;
        EXPECT_EQ(q.graph.value(q.graph.outputs()[1]).name, "w");
        const auto exact = run(net.m, in), got = run(q, in);
        EXPECT_EQ(snr(exact[1], got[1]), std::numeric_limits<double>::infinity());
        EXPECT_GT(snr(exact[0], got[0]), 25.0);
      }
}

// microsoft/onnxruntime#7507, onnxruntime/onnxruntime-qnn#739: one bias, several readers, each with its own scale; a
// reader that stays float keeps the float bias.
TEST(SharedBias, EachReaderHasItsOwnCodes) {
  for (const bool per_channel : {false, true})
    for (const bool third_stays_float : {false, true}) {
      SCOPED_TRACE(testing::Message() << "per channel " << per_channel << " third stays float " << third_stays_float);
      Net net;
      const ValueId x = net.input("x", {{1, ""}, {5, ""}, {4, ""}, {4, ""}});
      const ValueId b = net.weight("b", {5});
      ValueId y = x;
      const char* names[] = {"one", "two", "three"};
      float magnitude = 0.02f;
      for (const char* name : names) {
        const ValueId w = net.g.add_constant(net.random({5, 5, 1, 1}, magnitude), std::string("w_") + name);
        y = net.op("Conv", {y, w, b}, name);
        net.g.add_output(y);
        magnitude *= 10.0f;
      }
      const std::vector<Tensor> in{net.random({1, 5, 4, 4})};
      QuantScheme scheme = with({"Conv"}, per_channel, Approach::kStatic);
      if (third_stays_float) scheme.add_exclusion("three");
      QuantPlan plan;
      const Model q = make_static(net, scheme, in, &plan);
      int codes = 0, floats = 0;
      for (size_t i = 0; i < q.graph.value_count(); ++i)
        if (const Tensor* t = q.graph.constant(static_cast<ValueId>(i))) {
          codes += t->dtype() == DType::kInt32;
          floats += q.graph.value(static_cast<ValueId>(i)).name == "b";
        }
      EXPECT_EQ(codes, third_stays_float ? 2 : 3);
      EXPECT_EQ(floats, third_stays_float ? 1 : 0);
      const auto exact = run(net.m, in), got = run(q, in);
      for (size_t i = 0; i < 3; ++i) EXPECT_GT(snr(exact[i], got[i]), 25.0) << names[i];
    }
}

// microsoft/onnxruntime#19418, huggingface/optimum#1687: bodies that read outer weights. Dynamic: one set of codes, in
// the outer scope, at any depth. Static ranges belong to the main graph: such nodes stay float, and the plan says so.
TEST(Bodies, ShareTheOuterWeightAtAnyDepth) {
  for (const Approach approach : kBoth)
    for (const bool per_channel : {false, true}) {
      SCOPED_TRACE(testing::Message() << to_string(approach) << " per channel " << per_channel);
      Net net;
      const ValueId cond = net.flag("cond");
      const ValueId x = net.input("x", {{-1, ""}, {8, ""}});
      const ValueId w = net.weight("w", {8, 8});
      // A body that multiplies x by the outer w, then adds `plus`; captures as its holder sees them.
      const auto leaf = [&](ValueId outer_x, ValueId outer_w, const std::string& name, float plus) {
        auto body = std::make_shared<Graph>();
        const ValueId bx = body->add_value("x_" + name, net.g.value(x).type);
        const ValueId bw = body->add_value("w_" + name, net.g.value(w).type);
        body->captures = {{outer_x, bx}, {outer_w, bw}};
        const ValueId y = body->node(body->add_node("MatMul", {bx, bw}, 1, name, "", 13)).outputs[0];
        const ValueId p = body->add_constant(Tensor::scalar<float>(plus), "plus_" + name);
        body->add_output(body->node(body->add_node("Add", {y, p}, 1, name + "_add", "", 13)).outputs[0]);
        return body;
      };
      auto deep = std::make_shared<Graph>();
      const ValueId dc = deep->add_value("cond_deep", net.g.value(cond).type);
      const ValueId dx = deep->add_value("x_deep", net.g.value(x).type);
      const ValueId dw = deep->add_value("w_deep", net.g.value(w).type);
      deep->captures = {{cond, dc}, {x, dx}, {w, dw}};
      Node inner;
      inner.op_type = "If";
      inner.name = "inner";
      inner.version = 13;
      inner.inputs = {dc};
      inner.attributes = {{"then_branch", leaf(dx, dw, "a", 1)}, {"else_branch", leaf(dx, dw, "b", 2)}};
      inner.outputs = {deep->add_value("inner_out")};
      const ValueId inner_out = inner.outputs[0];
      deep->add_node(std::move(inner));
      deep->add_output(inner_out);
      const ValueId chosen =
          net.op("If", {cond}, "outer", {{"then_branch", deep}, {"else_branch", leaf(x, w, "c", 3)}});
      net.g.add_output(net.op("MatMul", {chosen, w}, "last"));
      net.g.verify();
      const Tensor value = net.random({3, 8});
      QuantPlan plan;
      const Model q =
          quantize(net, with({"MatMul"}, per_channel, approach), {Tensor::scalar<bool>(true), value}, &plan);
      q.graph.verify();
      EXPECT_TRUE(line(plan, "last").quantized());
      for (const char* name : {"a", "b", "c"}) {
        EXPECT_EQ(line(plan, name).quantized(), approach == Approach::kDynamic) << line(plan, name).reason;
        EXPECT_EQ(line(plan, name).reason.empty(), approach == Approach::kDynamic);
      }
      EXPECT_EQ(bytes_of_type(q.graph, DType::kInt8), 64 + (per_channel ? 8 : 0));
      EXPECT_EQ(bytes_of_type(q.graph, DType::kFloat32),
                (approach == Approach::kStatic ? 256 : 0) + (per_channel ? 32 : 0));
      for (const bool c : {false, true}) {
        if (approach == Approach::kStatic && !c) continue;  // calibrated on the other branch
        const std::vector<Tensor> in{Tensor::scalar<bool>(c), value};
        EXPECT_GT(snr(run(net.m, in)[0], run(q, in)[0]), 20.0);
      }
    }
}

// huggingface/transformers.js#527: operands computed at run time, on either side of a product, beside constant ones.
TEST(ComputedOperands, AreQuantizedByPolicyOrNamed) {
  for (const Approach approach : kBoth)
    for (const bool const_b_only : {false, true}) {
      SCOPED_TRACE(testing::Message() << to_string(approach) << " constant B only " << const_b_only);
      Net net;
      const ValueId x = net.input("x", {{-1, ""}, {8, ""}});
      const ValueId dense = net.op("MatMul", {x, net.weight("w", {8, 8})}, "dense");
      const ValueId turned = net.op("Transpose", {x}, "turn", {{"perm", std::vector<int64_t>{1, 0}}});
      const ValueId scores = net.op("MatMul", {dense, turned}, "scores");
      const ValueId mixed = net.op("MatMul", {net.weight("a", {3, 6}), scores}, "constant_a");
      net.g.add_output(mixed);
      const std::vector<Tensor> in{net.random({6, 8})};
      QuantScheme scheme = with({"MatMul"}, false, approach);
      scheme.matmul_const_b_only = const_b_only;
      QuantPlan plan;
      const Model q = quantize(net, scheme, in, &plan);
      EXPECT_TRUE(line(plan, "dense").quantized());
      EXPECT_EQ(line(plan, "scores").quantized(), !const_b_only);
      for (const char* name : {"scores", "constant_a"})
        if (!line(plan, name).quantized()) {
          EXPECT_NE(line(plan, name).reason.find("B is not constant"), std::string::npos) << line(plan, name).reason;
        }
      EXPECT_GT(snr(run(net.m, in)[0], run(q, in)[0]), 20.0);
    }
}

}  // namespace
}  // namespace assay::quant
