#include "quant/rewrite.h"

namespace assay::quant {
namespace {

// What DynamicQuantizeLinear makes of a tensor: one for all who read it.
struct DynamicCodes {
  ValueId codes, scale, zero_point;
};

class DynamicRewriter {
 public:
  DynamicRewriter(Prepared& prepared, const Decisions& decisions, int threads)
      : prepared_(prepared), decisions_(decisions), store_(prepared, decisions, threads) {}

  void run() {
    for (const Decision& d : decisions_.nodes) {
      switch (d.action) {
        case Action::kIntegerMatMul:
          matmul(d);
          break;
        case Action::kIntegerConv:
          conv(d);
          break;
        case Action::kCodeGather:
          rewrite_gather(prepared_, store_, d);
          break;
        default:
          break;
      }
    }
  }

 private:
  DynamicCodes activation(Scope& scope, ValueId v) {
    const auto known = shared_.find({&scope, v});
    if (known != shared_.end()) return known->second;
    Graph& g = *scope.graph;
    const std::string base = g.value(v).name;
    const auto typed = [](DType t) {
      TensorType type;
      type.dtype = t;
      return type;
    };
    Node n;
    n.op_type = "DynamicQuantizeLinear";
    n.name = prepared_.fresh_node_name(base + "_QuantizeLinear");
    n.version = prepared_.model.opsets.at("");
    n.inputs = {v};
    DynamicCodes out{};
    out.codes = g.add_value(prepared_.fresh_name(base + "_quantized"), typed(DType::kUint8));
    out.scale = g.add_value(prepared_.fresh_name(base + "_scale"), typed(DType::kFloat32));
    out.zero_point = g.add_value(prepared_.fresh_name(base + "_zero_point"), typed(DType::kUint8));
    n.outputs = {out.codes, out.scale, out.zero_point};
    g.add_node(std::move(n));
    return shared_[{&scope, v}] = out;
  }

  // int32 accumulators times the product of scales: a float value.
  ValueId to_float(Scope& scope, ValueId accumulators, ValueId scale_a, ValueId scale_b, const std::string& node,
                   const std::string& output) {
    const ValueId cast =
        emit(prepared_, scope, "Cast", {accumulators}, output + "_quantized_cast", output + "_quantized_cast_output",
             DType::kFloat32, {{"to", static_cast<int64_t>(DType::kFloat32)}});
    const ValueId scales = emit(prepared_, scope, "Mul", {scale_a, scale_b}, node + "_quant_scales_mul",
                                node + "_quant_scales_mul:0", DType::kFloat32);
    return emit(prepared_, scope, "Mul", {cast, scales}, node + "_quant_output_scale_mul", output + "_scaled",
                DType::kFloat32);
  }

  static std::string name_of(const Node& n, const Graph& g) {
    return n.name.empty() ? g.value(n.outputs[0]).name : n.name;
  }

  void matmul(const Decision& d) {
    Scope& scope = *d.scope;
    Graph& g = *scope.graph;
    const Node n = g.node(d.node);
    const std::string name = name_of(n, g), output = g.value(n.outputs[0]).name;
    const DynamicCodes a = activation(scope, n.inputs[0]);
    ValueId product = kNoValue, scale_b = kNoValue;
    if (d.operands[1].kind == OperandPlan::Kind::kActivation) {
      const DynamicCodes b = activation(scope, n.inputs[1]);
      scale_b = b.scale;
      product = emit(prepared_, scope, "MatMulInteger", {a.codes, b.codes, a.zero_point, b.zero_point}, name + "_quant",
                     output + "_output_quantized", DType::kInt32);
    } else {
      const CodeValues w = store_.codes(d.operands[1].weight, d.operands[1].spec, scope);
      scale_b = w.scale;
      const float alpha = n.op_type == "Gemm" ? n.get_float("alpha", 1.0f) : 1.0f;
      if (alpha != 1.0f) {
        const auto count =
            static_cast<int64_t>(store_.quantized(d.operands[1].weight, d.operands[1].spec).scales.size());
        scale_b = store_.scales_as(d.operands[1].weight, d.operands[1].spec, scope, alpha,
                                   d.operands[1].spec.axis < 0 ? Shape{} : Shape{count});
      }
      product = emit(prepared_, scope, "MatMulInteger", {a.codes, w.codes, a.zero_point, w.zero_point}, name + "_quant",
                     output + "_output_quantized", DType::kInt32);
    }
    ValueId result = to_float(scope, product, a.scale, scale_b, name, output);
    if (n.op_type == "Gemm" && n.input(2) != kNoValue)
      result =
          emit(prepared_, scope, "Add", {result, n.inputs[2]}, name + "_bias_add", output + "_biased", DType::kFloat32);
    take_over(prepared_, scope, n.outputs[0], result);
  }

  void conv(const Decision& d) {
    Scope& scope = *d.scope;
    Graph& g = *scope.graph;
    const Node n = g.node(d.node);
    const std::string name = name_of(n, g), output = g.value(n.outputs[0]).name;
    const OperandPlan& weight = d.operands[1];
    const DynamicCodes x = activation(scope, n.inputs[0]);
    const CodeValues w = store_.codes(weight.weight, weight.spec, scope);
    const QuantizedTensor& q = store_.quantized(weight.weight, weight.spec);
    const int rank = q.codes.shape().rank();
    ValueId scale = w.scale, zero_point = w.zero_point;
    if (weight.spec.axis >= 0) {  // channels are symmetric: one zero point, and scales along the output's channel axis
      Shape shape;
      for (int i = 0; i < rank; ++i) shape.push_back(i == 1 ? q.codes.shape()[0] : 1);
      scale = store_.scales_as(weight.weight, weight.spec, scope, 1.0f, shape);
      zero_point = kNoValue;
    }
    std::vector<ValueId> inputs{x.codes, w.codes, x.zero_point};
    if (zero_point != kNoValue) inputs.push_back(zero_point);
    const ValueId sums = emit(prepared_, scope, "ConvInteger", std::move(inputs), name + "_quant",
                              output + "_output_quantized", DType::kInt32, n.attributes);
    ValueId result = to_float(scope, sums, x.scale, scale, name, output);
    if (n.input(2) != kNoValue) {
      ValueId bias = n.inputs[2];
      Shape shape;
      for (int i = 0; i < rank; ++i) shape.push_back(i == 1 ? -1 : 1);
      if (const Tensor* constant = g.constant(bias)) {
        shape[1] = constant->elements();
        bias = g.add_constant(constant->reshaped(shape), prepared_.fresh_name(g.value(bias).name + "_reshape"));
      } else {
        const ValueId to = g.add_constant(Tensor::from<int64_t>({rank}, shape.dims()),
                                          prepared_.fresh_name(output + "_bias_reshape_shape"));
        bias = emit(prepared_, scope, "Reshape", {bias, to}, output + "_bias_reshape", output + "_bias_reshape_output",
                    DType::kFloat32);
      }
      result = emit(prepared_, scope, "Add", {result, bias}, name + "_bias_add", output + "_biased", DType::kFloat32);
    }
    take_over(prepared_, scope, n.outputs[0], result);
  }

  Prepared& prepared_;
  const Decisions& decisions_;
  CodeStore store_;
  std::map<std::pair<Scope*, ValueId>, DynamicCodes> shared_;
};

}  // namespace

void rewrite_gather(Prepared& prepared, CodeStore& store, const Decision& d) {
  Scope& scope = *d.scope;
  Graph& g = *scope.graph;
  const Node n = g.node(d.node);
  const std::string output = g.value(n.outputs[0]).name;
  const std::string name = n.name.empty() ? output : n.name;
  const OperandPlan& table = d.operands[0];
  const CodeValues w = store.codes(table.weight, table.spec, scope);
  const ValueId codes = emit(prepared, scope, "Gather", {w.codes, n.inputs[1]}, name + "_quant", output + "_quantized",
                             table.spec.dtype, n.attributes);
  ValueId result = kNoValue;
  if (table.spec.axis < 0) {
    result = emit(prepared, scope, "DequantizeLinear", {codes, w.scale, w.zero_point}, output + "_DequantizeLinear",
                  output + "_dequantized", DType::kFloat32);
  } else {
    const QuantizedTensor& q = store.quantized(table.weight, table.spec);
    const int rank = q.codes.shape().rank();
    Shape shape;
    for (int i = 0; i < rank; ++i) shape.push_back(i == 0 ? q.codes.shape()[0] : 1);
    const ValueId scales = store.scales_as(table.weight, table.spec, scope, 1.0f, shape);
    const ValueId row_scales = emit(prepared, scope, "Gather", {scales, n.inputs[1]}, name + "_scales",
                                    output + "_row_scale", DType::kFloat32, n.attributes);
    ValueId real = emit(prepared, scope, "Cast", {codes}, name + "_cast", output + "_quantized_cast", DType::kFloat32,
                        {{"to", static_cast<int64_t>(DType::kFloat32)}});
    if (!table.spec.symmetric || table.spec.dtype == DType::kUint8) {
      std::vector<float> zero_points(q.zero_points.begin(), q.zero_points.end());
      const ValueId zeros =
          table.weight.base.scope->graph->add_constant(Tensor::from<float>(shape, std::span<const float>(zero_points)),
                                                       prepared.fresh_name(output + "_zero_points"));
      const ValueId row_zeros =
          emit(prepared, scope, "Gather", {prepared.import({table.weight.base.scope, zeros}, scope), n.inputs[1]},
               name + "_zeros", output + "_row_zero", DType::kFloat32, n.attributes);
      real = emit(prepared, scope, "Sub", {real, row_zeros}, name + "_centred", output + "_centred", DType::kFloat32);
    }
    result =
        emit(prepared, scope, "Mul", {real, row_scales}, name + "_scaled", output + "_dequantized", DType::kFloat32);
  }
  take_over(prepared, scope, n.outputs[0], result);
}

void rewrite_dynamic(Prepared& prepared, const Decisions& decisions, int threads) {
  DynamicRewriter(prepared, decisions, threads).run();
  prepared.model.metadata[std::string(kActivationScaleKey)] =
      std::string(to_string(decisions.plan.scheme.activation_scale));
}

}  // namespace assay::quant
