#include "quant/types.h"

#include <set>

namespace assay::quant {
namespace {

using Names = std::set<std::string, std::less<>>;

DType of(const Graph& g, ValueId v) { return v == kNoValue ? DType::kUndefined : g.value(v).type.dtype; }

DType onnx_type(int64_t code) { return dtype_from_onnx(code).value_or(DType::kUndefined); }

// The element type of output `i`, when the operator fixes it.
DType result(const Graph& g, const Node& n, size_t i) {
  static const Names kBool{"Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Not",
                           "And",   "Or",   "Xor",     "IsNaN",       "IsInf"};
  static const Names kInt64{"Shape", "Size", "NonZero", "ArgMax", "ArgMin"};
  if (n.domain == "com.microsoft" || n.domain == "assay") return of(g, n.input(0));
  if (!n.domain.empty()) return DType::kUndefined;
  const std::string& op = n.op_type;
  if (kBool.count(op) > 0) return DType::kBool;
  if (kInt64.count(op) > 0) return DType::kInt64;
  if (op == "Cast") return onnx_type(n.get_int("to", 0));
  if (op == "CastLike") return of(g, n.input(1));
  if (op == "Constant") {
    if (const Tensor* t = n.get_tensor("value")) return t->dtype();
    if (n.has("value_float") || n.has("value_floats")) return DType::kFloat32;
    if (n.has("value_int") || n.has("value_ints")) return DType::kInt64;
    return DType::kString;
  }
  if (op == "ConstantOfShape") {
    const Tensor* t = n.get_tensor("value");
    return t == nullptr ? DType::kFloat32 : t->dtype();
  }
  if (op == "TopK") return i == 0 ? of(g, n.input(0)) : DType::kInt64;
  if (op == "Unique") return i == 0 ? of(g, n.input(0)) : DType::kInt64;
  if (op == "MaxPool") return i == 0 ? of(g, n.input(0)) : DType::kInt64;
  if (op == "Dropout") return i == 0 ? of(g, n.input(0)) : DType::kBool;
  if (op == "Where") return of(g, n.input(1)) != DType::kUndefined ? of(g, n.input(1)) : of(g, n.input(2));
  if (op == "OneHot") return of(g, n.input(2));
  if (op == "DynamicQuantizeLinear") return i == 1 ? DType::kFloat32 : DType::kUint8;
  if (op == "MatMulInteger" || op == "ConvInteger") return DType::kInt32;
  if (op == "QLinearMatMul" || op == "QLinearConv") return of(g, n.input(7));
  if (op == "DequantizeLinear") return of(g, n.input(1));
  if (op == "QuantizeLinear") return n.input(2) == kNoValue ? DType::kUint8 : of(g, n.input(2));
  if (op == "RandomNormal" || op == "RandomUniform" || op == "EyeLike")
    return onnx_type(n.get_int("dtype", static_cast<int64_t>(DType::kFloat32)));
  if (op == "Loop" || op == "Scan" || op == "If") {
    const auto bodies = subgraphs(n);
    if (bodies.empty()) return DType::kUndefined;
    const size_t at = op == "Loop" ? i + 1 : i;  // a Loop body first gives its condition
    const auto& outs = bodies.front()->outputs();
    return at < outs.size() ? of(*bodies.front(), outs[at]) : DType::kUndefined;
  }
  // Everything else gives what it takes; with one side unknown, the other tells.
  for (ValueId v : n.inputs)
    if (of(g, v) != DType::kUndefined) return of(g, v);
  return DType::kUndefined;
}

}  // namespace

void infer_element_types(Graph& graph) {
  for (NodeId id : graph.topological_order()) {
    for (Graph* body : subgraphs(graph.node(id))) {
      for (const Capture& c : body->captures)
        if (body->value(c.inner).type.dtype == DType::kUndefined)
          body->value(c.inner).type.dtype = graph.value(c.outer).type.dtype;
      infer_element_types(*body);
    }
    const auto outputs = graph.node(id).outputs;
    for (size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i] != kNoValue && graph.value(outputs[i]).type.dtype == DType::kUndefined &&
          graph.value(outputs[i]).type.other.empty())
        graph.value(outputs[i]).type.dtype = result(graph, graph.node(id), i);
  }
}

}  // namespace assay::quant
