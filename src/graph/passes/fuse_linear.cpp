#include "graph/passes/fuse_linear.h"

#include <algorithm>

namespace assay {
namespace {

/// A fully connected layer while it is put together: its operands, and the value it ends in so far.
struct Layer {
  std::string op_type = "Linear";
  ValueId x = kNoValue;
  ValueId weight = kNoValue;  // [K, N]
  ValueId weight_scale = kNoValue, weight_zero_point = kNoValue;
  ValueId x_scale = kNoValue, x_zero_point = kNoValue;  // static quantization
  std::string activation_scale;
  ValueId bias = kNoValue, residual = kNoValue;
  std::string activation;
  ValueId end = kNoValue;
  std::string absorbed;
};

bool is_matrix(const Graph& g, ValueId v, DType dtype) {
  const Tensor* t = g.constant(v);
  return t != nullptr && t->shape().rank() == 2 && t->dtype() == dtype;
}

bool is_int8_matrix(const Graph& g, ValueId v) {
  return is_matrix(g, v, DType::kInt8) || is_matrix(g, v, DType::kUint8);
}

int64_t columns(const Graph& g, const Layer& l) { return g.constant(l.weight)->shape()[1]; }

bool is_vector_of(const Graph& g, ValueId v, int64_t n) {
  const Tensor* t = g.constant(v);
  return t != nullptr && t->dtype() == DType::kFloat32 && t->elements() == n && t->shape().rank() >= 1 &&
         t->shape()[t->shape().rank() - 1] == n;
}

/// [K, N] from [N, K]. Content moves; the transposed copy is shared by every layer that asks for the same constant.
ValueId transposed(Graph& g, ValueId v) {
  const Tensor& t = *g.constant(v);
  const int64_t rows = t.shape()[0];
  const int64_t cols = t.shape()[1];
  Tensor out(t.dtype(), {cols, rows});
  const auto size = static_cast<size_t>(bits_of(t.dtype()) / 8);
  const auto* src = static_cast<const std::byte*>(t.data());
  auto* dst = static_cast<std::byte*>(out.mutable_view().data);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < cols; ++c)
      std::copy_n(src + static_cast<size_t>(r * cols + c) * size, size, dst + static_cast<size_t>(c * rows + r) * size);
  return g.add_constant(std::move(out), g.value(v).name.empty() ? "" : g.value(v).name + "_transposed");
}

/// DequantizeLinear of a constant int8 matrix, per tensor or per column (`axis` 1 for MatMul; rows when the use
/// transposes).
bool dequantized_weight(const Graph& g, ValueId v, bool transposes, Layer& l) {
  const Node* dq = g.producer(v);
  if (dq == nullptr || !dq->is("DequantizeLinear") || !is_int8_matrix(g, dq->input(0)) ||
      g.constant(dq->input(1)) == nullptr)
    return false;
  if (dq->get_int("block_size", 0) != 0 || g.constant(dq->input(1))->dtype() != DType::kFloat32) return false;
  const Tensor& scale = *g.constant(dq->input(1));
  if (scale.elements() != 1) {
    int64_t axis = dq->get_int("axis", 1);
    if (axis < 0) axis += 2;
    if (axis != (transposes ? 0 : 1)) return false;
  }
  if (dq->input(2) != kNoValue && g.constant(dq->input(2)) == nullptr) return false;
  l.weight = dq->input(0);
  l.weight_scale = dq->input(1);
  l.weight_zero_point = dq->input(2);
  return true;
}

/// x behind QuantizeLinear -> DequantizeLinear with one constant scale.
bool quantized_activation(const Graph& g, ValueId v, Layer& l) {
  const Node* dq = g.producer(v);
  if (dq == nullptr || !dq->is("DequantizeLinear")) return false;
  const Node* q = g.producer(dq->input(0));
  if (q == nullptr || !q->is("QuantizeLinear")) return false;
  const auto same = [&](ValueId a, ValueId b) {
    if (a == b) return true;
    const Tensor* s = g.constant(a);
    const Tensor* t = g.constant(b);
    return s != nullptr && t != nullptr && s->dtype() == t->dtype() && s->elements() == 1 && t->elements() == 1 &&
           std::equal(s->raw().begin(), s->raw().end(), t->raw().begin());
  };
  const Tensor* scale = g.constant(q->input(1));
  if (scale == nullptr || scale->elements() != 1 || scale->dtype() != DType::kFloat32) return false;
  if (!same(q->input(1), dq->input(1)) || !same(q->input(2), dq->input(2))) return false;
  if (q->input(2) != kNoValue) {
    const Tensor* zp = g.constant(q->input(2));
    if (zp == nullptr || (zp->dtype() != DType::kInt8 && zp->dtype() != DType::kUint8)) return false;
  } else if (q->get_int("output_dtype", 0) != 0) {
    return false;
  }
  l.x = q->inputs[0];
  l.x_scale = q->inputs[1];
  l.x_zero_point = q->input(2);
  l.activation_scale = "static";
  return true;
}

/// MatMulInteger of a DynamicQuantizeLinear, Cast to float, times both scales in any order.
bool dynamic_layer(const Graph& g, const Node& node, bool rows, Layer& l, std::string& why) {
  if (!is_int8_matrix(g, node.input(1))) return why = "B is not a constant int8 matrix", false;
  const Node* dql = g.producer(node.input(0));
  if (dql == nullptr || !dql->is("DynamicQuantizeLinear"))
    return why = "A does not come from DynamicQuantizeLinear", false;
  if (node.input(2) != dql->output(2)) return why = "A's zero point is not the DynamicQuantizeLinear's", false;
  if (node.input(3) != kNoValue && g.constant(node.input(3)) == nullptr)
    return why = "B's zero point is computed", false;
  const NodeId cast = sole_user(g, node.outputs[0]);
  if (cast == kNoNode || !g.node(cast).is("Cast") || g.node(cast).get_int("to", 0) != 1)
    return why = "the sums are not cast to float32", false;
  ValueId v = g.node(cast).outputs[0];
  const ValueId x_scale = dql->output(1);
  bool x_done = false;
  for (int step = 0; step < 2 && !(x_done && l.weight_scale != kNoValue); ++step) {
    const NodeId mul = sole_user(g, v);
    if (mul == kNoNode || !g.node(mul).is("Mul")) break;
    const Node& m = g.node(mul);
    const ValueId other = m.inputs[0] == v ? m.inputs[1] : m.inputs[0];
    const Node* product = g.producer(other);
    if (other == x_scale) {
      x_done = true;
    } else if (g.constant(other) != nullptr) {
      l.weight_scale = other;
    } else if (product != nullptr && product->is("Mul") &&
               (product->inputs[0] == x_scale || product->inputs[1] == x_scale)) {
      l.weight_scale = product->inputs[0] == x_scale ? product->inputs[1] : product->inputs[0];
      x_done = true;
    } else {
      break;
    }
    v = m.outputs[0];
  }
  const Tensor* scale = g.constant(l.weight_scale);
  if (!x_done || scale == nullptr) return why = "the product of scales is not found after the Cast", false;
  const int64_t n = g.constant(node.input(1))->shape()[1];
  if (scale->dtype() != DType::kFloat32 || (scale->elements() != 1 && !is_vector_of(g, l.weight_scale, n)))
    return why = "the weight scale is neither one nor one per column", false;
  l.op_type = "LinearInt8";
  l.activation_scale = rows ? "row" : "tensor";
  l.x = dql->inputs[0];
  l.weight = node.inputs[1];
  l.weight_zero_point = node.input(3);
  l.end = v;
  return true;
}

bool float_or_static_layer(Graph& g, const Node& node, Layer& l, std::string& why) {
  const bool gemm = node.is("Gemm");
  const bool trans_b = gemm && node.get_int("transB", 0) != 0;
  if (gemm &&
      (node.get_int("transA", 0) != 0 || node.get_float("alpha", 1.0f) != 1.0f || node.get_float("beta", 1.0f) != 1.0f))
    return why = "Gemm with transA, alpha or beta", false;
  l.end = node.outputs[0];
  if (dequantized_weight(g, node.input(1), trans_b, l)) {
    if (!quantized_activation(g, node.input(0), l)) return why = "A is not quantized with one constant scale", false;
    l.op_type = "LinearInt8";
  } else if (is_matrix(g, node.input(1), DType::kFloat32)) {
    l.x = node.inputs[0];
    l.weight = node.inputs[1];
  } else {
    return why = g.constant(node.input(1)) != nullptr ? "B is not a float32 matrix" : "B is not constant", false;
  }
  const int64_t n = g.constant(l.weight)->shape()[trans_b ? 0 : 1];
  if (gemm && node.input(2) != kNoValue) {
    ValueId bias = node.input(2);
    const Node* dq = g.producer(bias);
    if (dq != nullptr &&
        dq->is("DequantizeLinear")) {  // an int32 bias with scale x_scale * w_scale stands for its float value
      const Tensor* q = g.constant(dq->input(0));
      const Tensor* s = g.constant(dq->input(1));
      if (q == nullptr || s == nullptr || q->dtype() != DType::kInt32 || q->elements() != n ||
          s->dtype() != DType::kFloat32)
        return why = "the bias is not a constant", false;
      Tensor value(DType::kFloat32, {n});
      for (int64_t i = 0; i < n; ++i)
        value.mutable_view().as<float>()[i] = static_cast<float>(q->values<int32_t>()[static_cast<size_t>(i)]) *
                                              s->values<float>()[s->elements() == 1 ? 0 : static_cast<size_t>(i)];
      bias = g.add_constant(std::move(value));
    }
    if (!is_vector_of(g, bias, n)) return why = "C is not a constant vector of N", false;
    l.bias = bias;
  }
  if (trans_b) l.weight = transposed(g, l.weight);
  return true;
}

std::string activation_name(const Node& node) {
  if (node.is("Gelu")) return node.get_string("approximate", "none") == "tanh" ? "gelu_tanh" : "gelu";
  if (node.is("Relu")) return "relu";
  if (node.is("Tanh")) return "tanh";
  if (node.is("Sigmoid")) return "sigmoid";
  return {};
}

void absorb_epilogue(const Graph& g, const Witness& witness, Layer& l) {
  const int64_t n = columns(g, l);
  for (;;) {
    const NodeId user = sole_user(g, l.end);
    if (user == kNoNode) return;
    const Node& node = g.node(user);
    if (const std::string name = activation_name(node); !name.empty()) {
      if (!l.activation.empty() || l.residual != kNoValue) return;
      l.activation = name;
    } else if (node.is("Add")) {
      const ValueId other = node.inputs[0] == l.end ? node.inputs[1] : node.inputs[0];
      if (other == l.end) return;
      if (is_vector_of(g, other, n)) {
        if (l.bias != kNoValue || !l.activation.empty() || l.residual != kNoValue) return;
        if (!witness.same_shape(l.end, node.outputs[0])) return;  // a bias of higher rank would add dimensions
        l.bias = other;
      } else {
        if (l.residual != kNoValue || g.constant(other) != nullptr || !witness.same_shape(other, l.end)) return;
        l.residual = other;
      }
    } else {
      return;
    }
    l.absorbed += " + " + node.op_type;
    l.end = node.outputs[0];
  }
}

}  // namespace

void fuse_linear(Graph& graph, Witness& witness, bool rows, std::vector<FusionNote>& notes) {
  for (const NodeId id : graph.topological_order()) {
    if (!graph.alive(id)) continue;
    const Node node = graph.node(id);
    const bool integer = node.is("MatMulInteger");
    if (!integer && !node.is("MatMul") && !node.is("Gemm")) continue;
    Layer l;
    std::string why;
    const bool found = integer ? dynamic_layer(graph, node, rows, l, why) : float_or_static_layer(graph, node, l, why);
    if (found && witness.rank(l.x) < 2) why = "the input's rank is not known to be 2 or more";
    if (!found || !why.empty()) {
      notes.push_back({"linear", node.label(), false, why});
      continue;
    }
    absorb_epilogue(graph, witness, l);
    Node fused;
    fused.name = node.name;
    fused.domain = "assay";
    fused.version = 1;
    fused.op_type = l.op_type;
    if (!l.activation.empty()) fused.attributes["activation"] = l.activation;
    if (l.op_type == "Linear") {
      fused.inputs = {l.x, l.weight, l.bias, l.residual};
    } else {
      fused.attributes["activation_scale"] = l.activation_scale;
      fused.inputs = {l.x,    l.weight,   l.weight_scale, l.weight_zero_point,
                      l.bias, l.residual, l.x_scale,      l.x_zero_point};
    }
    notes.push_back(
        {"linear", node.label(), true,
         l.op_type + (l.activation_scale.empty() ? "" : " (" + l.activation_scale + " scale)") + l.absorbed});
    replace_value(graph, l.end, std::move(fused), &witness);
  }
  graph.remove_dead();
}

}  // namespace assay
