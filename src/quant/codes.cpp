#include "quant/codes.h"

#include <algorithm>

namespace assay::quant {
namespace {

Tensor transposed(const Tensor& t) {
  const int64_t rows = t.shape()[0], columns = t.shape()[1];
  Tensor out(t.dtype(), Shape{columns, rows});
  const auto* from = static_cast<const uint8_t*>(t.data());
  auto* to = static_cast<uint8_t*>(out.mutable_view().data);
  constexpr int64_t kTile = 64;
  for (int64_t r0 = 0; r0 < rows; r0 += kTile)
    for (int64_t c0 = 0; c0 < columns; c0 += kTile)
      for (int64_t r = r0; r < std::min(rows, r0 + kTile); ++r)
        for (int64_t c = c0; c < std::min(columns, c0 + kTile); ++c) to[c * rows + r] = from[r * columns + c];
  return out;
}

Tensor scale_tensor(const std::vector<float>& scales, const Shape& shape) {
  return Tensor::from<float>(shape, std::span<const float>(scales));
}

Tensor zero_point_tensor(const std::vector<int32_t>& zero_points, DType type, const Shape& shape) {
  Tensor out(type, shape);
  auto* to = static_cast<uint8_t*>(out.mutable_view().data);
  for (size_t i = 0; i < zero_points.size(); ++i) to[i] = static_cast<uint8_t>(zero_points[i]);  // two's complement
  return out;
}

}  // namespace

ValueId emit(Prepared& prepared, Scope& scope, const std::string& op_type, std::vector<ValueId> inputs,
             const std::string& node_name, const std::string& output_name, DType type,
             std::map<std::string, Attribute, std::less<>> attributes) {
  Graph& g = *scope.graph;
  Node n;
  n.op_type = op_type;
  n.name = prepared.fresh_node_name(node_name);
  const auto opset = prepared.model.opsets.find("");
  n.version = opset == prepared.model.opsets.end() ? 13 : opset->second;
  n.inputs = std::move(inputs);
  n.attributes = std::move(attributes);
  TensorType value_type;
  value_type.dtype = type;
  n.outputs = {g.add_value(prepared.fresh_name(output_name), std::move(value_type))};
  const ValueId out = n.outputs[0];
  g.add_node(std::move(n));
  return out;
}

void take_over(Prepared& prepared, Scope& scope, ValueId old, ValueId now) {
  Graph& g = *scope.graph;
  g.value(now).type = g.value(old).type;
  g.value(now).name = g.value(old).name;
  g.replace_uses(old, now);
  g.value(old).name = prepared.fresh_name(g.value(now).name + "_float");
  g.erase_node(g.value(old).producer);
}

CodeStore::CodeStore(Prepared& prepared, const Decisions& decisions, int threads)
    : prepared_(prepared), threads_(threads) {
  for (const Decision& d : decisions.nodes) {
    if (d.action == Action::kFloat) continue;
    for (const OperandPlan& o : d.operands) {
      if (o.kind != OperandPlan::Kind::kWeight) continue;
      const void* memory = prepared.constant(o.weight.base)->data();
      ++uses_[memory];
      if (!o.weight.transposed) read_directly_.insert(memory);
    }
  }
}

int CodeStore::uses(const WeightUse& use) const {
  const auto it = uses_.find(prepared_.constant(use.base)->data());
  return it == uses_.end() ? 0 : it->second;
}

CodeStore::Entry& CodeStore::entry(const WeightUse& use, const WeightSpec& spec, const std::vector<float>& min_scales) {
  const Tensor weight = *prepared_.constant(use.base);
  const Key key{use.base.scope, weight.data(), spec, min_scales};
  const auto known = entries_.find(key);
  if (known != entries_.end()) return known->second;
  Entry e;
  e.home = use.base.scope;
  e.name = e.home->graph->value(use.base.value).name;
  try {
    e.q = quantize_tensor(weight, spec, threads_, min_scales);
  } catch (Error& error) {
    throw error.at("tensor", e.name);
  }
  return entries_.emplace(key, std::move(e)).first->second;
}

const QuantizedTensor& CodeStore::quantized(const WeightUse& use, const WeightSpec& spec,
                                            const std::vector<float>& min_scales) {
  return entry(use, spec, min_scales).q;
}

CodeValues CodeStore::codes(const WeightUse& use, const WeightSpec& spec, Scope& scope,
                            const std::vector<float>& min_scales) {
  const void* memory = prepared_.constant(use.base)->data();
  Entry& e = entry(use, spec, min_scales);
  Graph& home = *e.home->graph;
  if (e.scale == kNoValue) {
    const Shape shape = spec.axis < 0 ? Shape{} : Shape{static_cast<int64_t>(e.q.scales.size())};
    e.scale = home.add_constant(scale_tensor(e.q.scales, shape), prepared_.fresh_name(e.name + "_scale"));
    e.zero_point = home.add_constant(zero_point_tensor(e.q.zero_points, spec.dtype, shape),
                                     prepared_.fresh_name(e.name + "_zero_point"));
  }
  const bool turn = use.transposed;
  const bool store_turned = turn && read_directly_.count(memory) == 0;
  if (!store_turned && e.direct == kNoValue)
    e.direct = home.add_constant(e.q.codes, prepared_.fresh_name(e.name + "_quantized"));
  if (turn && e.turned == kNoValue) {
    if (store_turned)
      e.turned = home.add_constant(transposed(e.q.codes), prepared_.fresh_name(e.name + "_transposed_quantized"));
    else
      e.turned = emit(prepared_, *e.home, "Transpose", {e.direct}, e.name + "_transpose",
                      e.name + "_transposed_quantized", spec.dtype, {{"perm", std::vector<int64_t>{1, 0}}});
  }
  CodeValues out;
  out.codes = prepared_.import({e.home, turn ? e.turned : e.direct}, scope);
  out.scale = prepared_.import({e.home, e.scale}, scope);
  out.zero_point = prepared_.import({e.home, e.zero_point}, scope);
  out.axis = spec.axis < 0 ? -1 : turn ? 1 - spec.axis : spec.axis;
  return out;
}

ValueId CodeStore::scales_as(const WeightUse& use, const WeightSpec& spec, Scope& scope, float factor,
                             const Shape& shape) {
  Entry& e = entry(use, spec, {});
  const auto key = std::pair(factor, std::vector<int64_t>(shape.begin(), shape.end()));
  ValueId& made = e.shaped.try_emplace(key, kNoValue).first->second;
  if (made == kNoValue) {
    std::vector<float> scales = e.q.scales;
    for (float& s : scales) s *= factor;
    made = e.home->graph->add_constant(scale_tensor(scales, shape), prepared_.fresh_name(e.name + "_scale"));
  }
  return prepared_.import({e.home, made}, scope);
}

}  // namespace assay::quant
