#include <algorithm>

#include "quant/decide.h"

// Rules of dynamic quantization: which operators have an integer form, and what each operand becomes.

namespace assay::quant {
namespace {

class DynamicRules {
 public:
  DynamicRules(Prepared& prepared, const QuantScheme& scheme, Decisions& out)
      : prepared_(prepared), scheme_(scheme), out_(out) {}

  void run() {
    for (Decision& d : out_.nodes) {
      const Node& n = d.scope->graph->node(d.node);
      NodePlan& line = out_.plan.nodes[d.line];
      d.operands.assign(n.inputs.size(), {});
      if (n.op_type == "MatMul" || n.op_type == "Gemm")
        matmul(d, n, line);
      else if (n.op_type == "Conv")
        conv(d, n, line);
      else if (n.op_type == "Gather")
        gather(d, n, line);
      else
        line.reason = fmt::format("{} has no integer form in dynamic quantization: nothing changes", n.op_type);
      line.action = d.action;
    }
  }

 private:
  DType type_of(const Decision& d, ValueId v) const { return d.scope->graph->value(v).type.dtype; }

  // An activation that DynamicQuantizeLinear takes.
  bool activation(const Decision& d, ValueId v, std::string& why) const {
    const DType t = type_of(d, v);
    const std::string& name = d.scope->graph->value(v).name;
    if (t == DType::kFloat32 || t == DType::kUndefined) return true;
    why = is_integer(t) ? fmt::format("integer ({}) operand '{}': shape or index arithmetic", to_string(t), name)
                        : fmt::format(
                              "operand '{}' is {}: DynamicQuantizeLinear takes float32 only, convert the model "
                              "to float32 first",
                              name, to_string(t));
    return false;
  }

  WeightSpec weight_spec(int axis) const {
    return {scheme_.weight_type, scheme_.symmetric_weights(), scheme_.reduce_range, scheme_.per_channel ? axis : -1};
  }

  void matmul(Decision& d, const Node& n, NodePlan& line) {
    const bool gemm = n.op_type == "Gemm";
    const ValueId a = n.input(0), b = n.input(1);
    if (a == kNoValue || b == kNoValue) return void(line.reason = "an operand is missing");
    if (gemm && n.get_int("transA", 0) != 0)
      return void(line.reason = "transA: no integer form (transpose the activation before it)");
    if (gemm && n.input(2) != kNoValue && n.get_float("beta", 1.0f) != 1.0f)
      return void(line.reason = fmt::format("beta is {}: only 1 has an integer form", n.get_float("beta", 1.0f)));
    if (weight_behind(prepared_, *d.scope, a).found())
      return void(line.reason = weight_behind(prepared_, *d.scope, b).found() ? "both operands are constant"
                                                                              : "B is not constant (A is)");
    if (!activation(d, a, line.reason)) return;
    d.operands[0].kind = OperandPlan::Kind::kActivation;
    WeightUse use = weight_behind(prepared_, *d.scope, b);
    if (!use.found()) {
      if (gemm) return void(line.reason = "B is not constant");
      if (scheme_.const_b_only())
        return void(line.reason = "B is not constant (matmul_const_b_only: both sides would be quantized at run time)");
      if (!activation(d, b, line.reason)) return;
      d.operands[1].kind = OperandPlan::Kind::kActivation;
      d.action = Action::kIntegerMatMul;
      line.form = "uint8 x uint8 activations: MatMulInteger";
      return;
    }
    if (!quantizable_weight(prepared_, use, line.reason)) return;
    const Tensor& w = *prepared_.constant(use.base);
    const int rank = w.shape().rank();
    if (rank == 0) return void(line.reason = "B is a scalar");
    if (gemm && n.get_int("transB", 0) != 0) use.transposed = !use.transposed;
    // Output channels: the last axis of the operand, which is axis 0 of the base of a transpose.
    const int axis = rank < 2 ? -1 : use.transposed ? 0 : rank - 1;
    d.operands[1] = {OperandPlan::Kind::kWeight, use, weight_spec(axis)};
    d.action = Action::kIntegerMatMul;
    line.form = fmt::format("uint8 activations, {}: MatMulInteger{}", describe(d.operands[1].spec),
                            gemm ? " and Add (of Gemm)" : "");
    line.weight = use.base.scope->graph->value(use.base.value).name;
    line.weight_bytes = w.bytes();
    if (scheme_.per_channel && axis < 0) line.reason = "per tensor: a vector has no channels";
    if (use.base.scope->graph->is_output(use.base.value))
      line.reason = "its weight is a graph output, too: that stays float";
  }

  void conv(Decision& d, const Node& n, NodePlan& line) {
    const ValueId x = n.input(0);
    const WeightUse use = weight_behind(prepared_, *d.scope, n.input(1));
    if (!use.found() || use.transposed) return void(line.reason = "its weight is not constant");
    if (!activation(d, x, line.reason) || !quantizable_weight(prepared_, use, line.reason)) return;
    const WeightSpec spec = weight_spec(0);
    WeightSpec used = spec;
    if (spec.axis >= 0 && !(spec.symmetric && spec.dtype == DType::kInt8)) {
      used.axis = -1;
      line.reason =
          "per tensor: ConvInteger takes one weight zero point, and only symmetric int8 channels share one, zero";
    }
    d.operands[0].kind = OperandPlan::Kind::kActivation;
    d.operands[1] = {OperandPlan::Kind::kWeight, use, used};
    d.action = Action::kIntegerConv;
    line.form = fmt::format("uint8 activations, {}: ConvInteger", describe(used));
  }

  void gather(Decision& d, const Node& n, NodePlan& line) {
    const WeightUse use = weight_behind(prepared_, *d.scope, n.input(0));
    if (!use.found() || use.transposed) return void(line.reason = "what it gathers from is not constant");
    if (!quantizable_weight(prepared_, use, line.reason)) return;
    const Shape& shape = prepared_.constant(use.base)->shape();
    if (shape.rank() < 2) return void(line.reason = "what it gathers from is a vector: nothing to gain");
    const bool rows = n.get_int("axis", 0) == 0;
    d.operands[0] = {OperandPlan::Kind::kWeight, use, weight_spec(rows ? 0 : -1)};
    if (scheme_.per_channel && !rows) line.reason = "per tensor: it does not gather rows";
    d.action = Action::kCodeGather;
    line.form = fmt::format("{}: codes gathered, then dequantized", describe(d.operands[0].spec));
  }

  Prepared& prepared_;
  const QuantScheme& scheme_;
  Decisions& out_;
};

}  // namespace

void decide_dynamic(Prepared& prepared, const QuantScheme& scheme, Decisions& out) {
  DynamicRules(prepared, scheme, out).run();
}

}  // namespace assay::quant
