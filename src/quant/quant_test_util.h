#pragma once

// What tests of the quantizers share: small graphs made by hand, and ways to look at what became of them.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/program.h"
#include "kernels/isa.h"
#include "quant/calibrator.h"
#include "quant/numbers.h"
#include "quant/quantizer.h"

namespace assay::quant {

/// A graph that grows node by node; random values are seeded.
struct Net {
  Model m;
  Graph& g = m.graph;
  uint64_t state = 1;

  explicit Net(int opset = 13) {
    m.opsets[""] = opset;
    m.ir_version = 8;
  }
  float next() {  // in [-1, 1)
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<float>(static_cast<int64_t>(state >> 33) % 2000 - 1000) / 1000.0f;
  }
  Tensor random(const Shape& shape, float scale = 1.0f) {
    Tensor t(DType::kFloat32, shape);
    for (float& v : t.mutable_view().values<float>()) v = scale * next();
    return t;
  }
  ValueId input(const std::string& name, std::vector<Dim> dims) {
    TensorType type;
    type.dtype = DType::kFloat32;
    type.dims = std::move(dims);
    return g.add_input(name, std::move(type));
  }
  /// A scalar input that chooses between the branches of an If.
  ValueId flag(const std::string& name) {
    TensorType type;
    type.dtype = DType::kBool;
    type.dims.emplace();
    return g.add_input(name, std::move(type));
  }
  ValueId weight(const std::string& name, const Shape& shape) { return g.add_constant(random(shape), name); }
  ValueId op(const std::string& type, std::vector<ValueId> in, const std::string& name,
             std::map<std::string, Attribute, std::less<>> attributes = {}) {
    Node n;
    n.op_type = type;
    n.name = name;
    n.version = m.opsets[""];
    n.inputs = std::move(in);
    n.attributes = std::move(attributes);
    n.outputs = {g.add_value(name + "_out")};
    return g.node(g.add_node(std::move(n))).outputs[0];
  }
};

/// Nodes of a type, bodies counted.
inline int count(const Graph& g, const std::string& type) {
  int n = 0;
  for (NodeId id : g.topological_order()) {
    n += g.node(id).op_type == type;
    for (const Graph* body : subgraphs(g.node(id))) n += count(*body, type);
  }
  return n;
}

/// Bytes of all constants of a graph.
inline int64_t constant_bytes(const Graph& g) {
  int64_t n = 0;
  for (size_t i = 0; i < g.value_count(); ++i)
    if (const Tensor* t = g.constant(static_cast<ValueId>(i))) n += t->bytes();
  return n;
}

/// Outputs on our engine, the graph as it stands.
inline std::vector<Tensor> run(const Model& m, const std::vector<Tensor>& inputs) {
  m.graph.verify();
  return ProgramEvaluator(kernels::best_isa()).evaluate(m.graph, inputs);
}

/// Signal to noise in dB; the shapes must agree.
inline double snr(const Tensor& exact, const Tensor& got) {
  EXPECT_EQ(exact.shape().str(), got.shape().str());
  return sqnr_db(exact.values<float>().data(), got.values<float>().data(), exact.elements());
}

/// The plan's line of a node.
inline const NodePlan& line(const QuantPlan& plan, const std::string& node) {
  for (const NodePlan& n : plan.nodes)
    if (n.node == node) return n;
  throw std::runtime_error("no node " + node);
}

inline QuantScheme with(std::vector<std::string> operators, bool per_channel = false,
                        Approach approach = Approach::kDynamic) {
  QuantScheme s;
  s.approach = approach;
  s.operators = std::move(operators);
  s.per_channel = per_channel;
  return s;
}

/// microsoft/onnxruntime#17718: whoever writes more than one scale says along which axis, and the sizes agree.
inline void expect_axes_fit(const Graph& g) {
  for (NodeId id : g.topological_order()) {
    const Node& n = g.node(id);
    for (const Graph* body : subgraphs(n)) expect_axes_fit(*body);
    if (n.op_type != "DequantizeLinear" && n.op_type != "QuantizeLinear") continue;
    const Tensor* scale = g.constant(n.input(1));
    const Tensor* zero = g.constant(n.input(2));
    if (zero != nullptr) {
      EXPECT_EQ(zero->shape(), scale->shape()) << n.label();
    }
    if (scale == nullptr || scale->shape().rank() == 0) continue;
    ASSERT_TRUE(n.has("axis")) << n.label();
    const Node* turn = g.producer(n.input(0));  // codes of a tied table, stored the other way round
    const Tensor* codes = g.constant(turn != nullptr && turn->is("Transpose") ? turn->input(0) : n.input(0));
    ASSERT_NE(codes, nullptr) << n.label();
    int64_t axis = n.get_int("axis", -1);
    ASSERT_TRUE(axis >= 0 && axis < codes->shape().rank()) << n.label();
    if (turn != nullptr) axis = 1 - axis;
    EXPECT_EQ(codes->shape()[static_cast<int>(axis)], scale->elements()) << n.label();
  }
}

/// Calibrates on the given inputs and quantizes.
inline Model make_static(const Net& net, const QuantScheme& scheme, const std::vector<Tensor>& inputs,
                         QuantPlan* plan = nullptr) {
  Quantizer q(net.m, scheme);
  bool given = false;
  Progress silent;
  const Calibration c = calibrate(
      q.float_model(), q.tensors_to_observe(),
      [&](Sample& s) {
        s = inputs;
        return !std::exchange(given, true);
      },
      {}, silent);
  Model out = q.quantize(&c);
  if (plan != nullptr) *plan = q.plan();
  expect_axes_fit(out.graph);
  return out;
}

}  // namespace assay::quant
