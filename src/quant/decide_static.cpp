#include <algorithm>

#include "quant/decide.h"

// Rules of static quantization (QDQ). An activation is quantized where a quantized node reads it, and only that reader
// sees the rounded values: nodes left in float, and graph outputs, keep the float tensor. See
// docs/decisions/0006-static-quantization.md for where this differs from ONNX Runtime's tool and why.

namespace assay::quant {
namespace {

using Names = std::set<std::string, std::less<>>;

const Names kMovers{"ArgMax", "Expand", "Flatten", "Gather",  "MaxPool", "Pad",       "Reshape",
                    "Resize", "Slice",  "Split",   "Squeeze", "Tile",    "Transpose", "Unsqueeze"};

class StaticRules {
 public:
  StaticRules(Prepared& prepared, const QuantScheme& scheme, Decisions& out)
      : prepared_(prepared), scheme_(scheme), out_(out), g_(*prepared.scopes().front()->graph) {}

  void run() {
    for (Decision& d : out_.nodes) {
      const Node& n = d.scope->graph->node(d.node);
      NodePlan& line = out_.plan.nodes[d.line];
      d.operands.assign(n.inputs.size(), {});
      if (d.scope->parent != nullptr) {
        line.reason = "stands in a body of a control-flow node: ranges are observed in the main graph only";
      } else if (!is_mover(n) && n.op_type != "Relu" && n.op_type != "Clip") {
        compute(d, n, line);
        line.action = d.action;
      }
    }
    for (auto it = out_.nodes.rbegin(); it != out_.nodes.rend(); ++it) {  // a mover follows what reads it
      Decision& d = *it;
      if (d.scope->parent != nullptr) continue;
      const Node& n = g_.node(d.node);
      NodePlan& line = out_.plan.nodes[d.line];
      if (is_mover(n))
        mover(d, n, line);
      else if (n.op_type == "Relu" || n.op_type == "Clip")
        clip(d, n, line);
      line.action = d.action;
    }
  }

 private:
  bool is_mover(const Node& n) const {
    if (n.op_type == "Gather") return !weight_behind(prepared_, *prepared_.scopes().front(), n.input(0)).found();
    return n.op_type != "ArgMax" && kMovers.count(n.op_type) > 0;
  }
  WeightUse weight(ValueId v) const { return weight_behind(prepared_, *prepared_.scopes().front(), v); }

  std::string activations() const {
    return fmt::format("{} activations{}", to_string(scheme_.activation_type),
                       scheme_.activation_symmetric ? " (symmetric)" : "");
  }
  WeightSpec weight_spec(int axis) const {
    return {scheme_.weight_type, scheme_.symmetric_weights(), scheme_.reduce_range, scheme_.per_channel ? axis : -1};
  }

  bool activation(ValueId v, std::string& why) const {
    const DType t = g_.value(v).type.dtype;
    const std::string& name = g_.value(v).name;
    if (t == DType::kFloat32) return true;
    if (t == DType::kUndefined)
      why = fmt::format("the element type of '{}' is unknown: a custom operator made it", name);
    else if (is_float(t))
      why = fmt::format("operand '{}' is {}: convert the model to float32 first", name, to_string(t));
    else
      why = fmt::format("integer ({}) operand '{}': shape or index arithmetic", to_string(t), name);
    return false;
  }

  void accept(Decision& d, NodePlan& line, std::string form) {
    const Node& n = g_.node(d.node);
    d.action = Action::kQdq;
    line.form = std::move(form);
    for (size_t i = 0; i < d.operands.size(); ++i)
      if (d.operands[i].kind == OperandPlan::Kind::kActivation) out_.quantized_values.insert(n.inputs[i]);
    if (scheme_.quantize_all_outputs && n.op_type != "ArgMax" && !g_.is_output(n.outputs[0]))
      out_.quantized_values.insert(n.outputs[0]);
    if (n.op_type == "Softmax") out_.unit_range.insert(n.outputs[0]);
  }

  void compute(Decision& d, const Node& n, NodePlan& line) {
    const std::string& op = n.op_type;
    if (op == "MatMul" || op == "Gemm" || op == "Conv" || op == "ConvTranspose") return weighted(d, n, line);
    if (op == "Gather") return gather(d, n, line);
    static const Names kFirst{"Softmax",
                              "Sigmoid",
                              "Tanh",
                              "LeakyRelu",
                              "AveragePool",
                              "GlobalAveragePool",
                              "ArgMax",
                              "LayerNormalization",
                              "InstanceNormalization",
                              "BatchNormalization"};
    static const Names kAll{"Add", "Sub", "Mul", "Div", "Concat", "Where"};
    const bool first = kFirst.count(op) > 0;
    if (!first && kAll.count(op) == 0) return void(line.reason = fmt::format("{} has no quantized form", op));
    bool any = false;
    for (size_t i = op == "Where" ? 1 : 0; i < (first ? size_t{1} : n.inputs.size()); ++i) {
      const ValueId v = n.inputs[i];
      if (v == kNoValue) continue;
      const WeightUse constant = weight(v);
      if (constant.found() && !constant.transposed) {
        if (!quantizable_weight(prepared_, constant, line.reason)) return;
        const Tensor& t = *prepared_.constant(constant.base);
        if (min_max(t.values<float>().data(), t.elements(), 1).not_finite > 0)
          return void(line.reason =
                          fmt::format("constant operand '{}' holds values that are not finite", g_.value(v).name));
        d.operands[i] = {
            OperandPlan::Kind::kWeight, constant, {scheme_.activation_type, scheme_.activation_symmetric, false, -1}};
        continue;
      }
      if (!activation(v, line.reason)) return;
      d.operands[i].kind = OperandPlan::Kind::kActivation;
      any = true;
    }
    if (!any) return void(line.reason = "no operand is an activation");
    accept(d, line, activations());
    if (op == "LayerNormalization" || op == "InstanceNormalization" || op == "BatchNormalization")
      line.reason = "its scale and shift stay float: no kernel takes them as codes";
  }

  void weighted(Decision& d, const Node& n, NodePlan& line) {
    const std::string& op = n.op_type;
    const ValueId a = n.input(0), b = n.input(1);
    if (a == kNoValue || b == kNoValue) return void(line.reason = "an operand is missing");
    const WeightUse wa = weight(a);
    WeightUse wb = weight(b);
    if (wa.found() && wb.found()) return void(line.reason = "both operands are constant");
    if (wa.found()) {
      if (scheme_.const_b_only() || op != "MatMul") return void(line.reason = "B is not constant (A is)");
      if (!quantizable_weight(prepared_, wa, line.reason)) return;
      d.operands[0] = {OperandPlan::Kind::kWeight, wa, weight_spec(-1)};
    } else {
      if (!activation(a, line.reason)) return;
      d.operands[0].kind = OperandPlan::Kind::kActivation;
    }
    if (!wb.found()) {
      if (op != "MatMul" && op != "Gemm") return void(line.reason = "its weight is not constant");
      if (scheme_.const_b_only()) return void(line.reason = "B is not constant (matmul_const_b_only)");
      if (!activation(b, line.reason)) return;
      d.operands[1].kind = OperandPlan::Kind::kActivation;
      return accept(d, line, activations() + (wa.found() ? ", " + describe(d.operands[0].spec) : " on both sides"));
    }
    if (!quantizable_weight(prepared_, wb, line.reason)) return;
    const int rank = prepared_.constant(wb.base)->shape().rank();
    int axis = -1;
    if (op == "Conv") axis = 0;
    if (op == "ConvTranspose") axis = 1;
    if (op == "MatMul") axis = rank < 2 ? -1 : wb.transposed ? 0 : rank - 1;
    if (op == "Gemm") axis = (n.get_int("transB", 0) != 0) != wb.transposed ? 0 : 1;
    d.operands[1] = {OperandPlan::Kind::kWeight, wb, weight_spec(axis)};
    line.weight = wb.base.scope->graph->value(wb.base.value).name;
    line.weight_bytes = prepared_.constant(wb.base)->bytes();
    if (scheme_.per_channel && axis < 0) line.reason = "per tensor: a vector has no channels";
    if (n.input(2) != kNoValue) bias(d, n, line);
    accept(d, line, fmt::format("{}, {}", activations(), describe(d.operands[1].spec)));
  }

  void bias(Decision& d, const Node& n, NodePlan& line) {
    const WeightUse use = weight(n.input(2));
    const Tensor* t = use.found() && !use.transposed ? prepared_.constant(use.base) : nullptr;
    if (t == nullptr)
      line.reason = "its bias stays float: it is not constant";
    else if (t->dtype() != DType::kFloat32 || t->shape().rank() != 1 ||
             (n.op_type == "Gemm" && n.get_float("beta", 1) != 1))
      line.reason = "its bias stays float: it is no vector of one value a channel";
    else if (d.operands[0].kind != OperandPlan::Kind::kActivation)
      line.reason = "its bias stays float";
    else
      d.operands[2] = {OperandPlan::Kind::kBias, use, {}};
  }

  void gather(Decision& d, const Node& n, NodePlan& line) {
    const WeightUse use = weight(n.input(0));
    if (use.transposed) return void(line.reason = "what it gathers from is transposed");
    if (!quantizable_weight(prepared_, use, line.reason)) return;
    if (prepared_.constant(use.base)->shape().rank() < 2)
      return void(line.reason = "what it gathers from is a vector: nothing to gain");
    const bool rows = n.get_int("axis", 0) == 0;
    d.operands[0] = {OperandPlan::Kind::kWeight, use, weight_spec(rows ? 0 : -1)};
    d.action = Action::kCodeGather;
    line.form = fmt::format("{}: codes gathered, then dequantized", describe(d.operands[0].spec));
  }

  // Whether a quantized node reads one of the outputs.
  bool wanted(const Node& n) const {
    return std::any_of(n.outputs.begin(), n.outputs.end(),
                       [&](ValueId v) { return v != kNoValue && out_.quantized_values.count(v) > 0; });
  }

  void mover(Decision& d, const Node& n, NodePlan& line) {
    if (n.input(0) == kNoValue || !activation(n.input(0), line.reason)) return;
    if (weight(n.input(0)).found()) return void(line.reason = "its input is constant");
    if (!wanted(n)) return void(line.reason = "no quantized node reads its result");
    if (n.op_type == "Resize" && n.get_string("mode", "nearest") == "cubic")
      return void(line.reason = "cubic interpolation leaves the range of its input");
    if (n.op_type == "Pad" && n.input(2) != kNoValue)
      return void(line.reason = "it pads with a value that may lie outside its input's range");
    d.action = Action::kQdqMove;
    d.operands[0].kind = OperandPlan::Kind::kActivation;
    out_.quantized_values.insert(n.inputs[0]);
    const size_t moved = n.op_type == "MaxPool" ? 1 : n.outputs.size();
    for (size_t i = 0; i < moved; ++i)
      if (n.outputs[i] != kNoValue) out_.shares_scale_of[n.outputs[i]] = n.inputs[0];
    line.form = fmt::format("moves {} codes, scale of its input", to_string(scheme_.activation_type));
  }

  void clip(Decision& d, const Node& n, NodePlan& line) {
    if (!activation(n.input(0), line.reason)) return;
    if (!wanted(n)) return void(line.reason = "no quantized node reads its result");
    d.action = Action::kQdqClip;
    line.form = "before the quantization of its result, whose range it sets";
  }

  Prepared& prepared_;
  const QuantScheme& scheme_;
  Decisions& out_;
  const Graph& g_;
};

}  // namespace

void decide_static(Prepared& prepared, const QuantScheme& scheme, Decisions& out) {
  StaticRules(prepared, scheme, out).run();
}

}  // namespace assay::quant
