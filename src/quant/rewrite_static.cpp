#include <algorithm>
#include <cmath>

#include "quant/rewrite.h"

namespace assay::quant {
namespace {

class StaticRewriter {
 public:
  StaticRewriter(Prepared& prepared, Decisions& decisions, const Calibration& calibration, int threads)
      : prepared_(prepared),
        decisions_(decisions),
        scheme_(decisions.plan.scheme),
        calibration_(calibration),
        store_(prepared, decisions, threads),
        scope_(*prepared.scopes().front()),
        g_(*scope_.graph) {}

  void run() {
    for (const Decision& d : decisions_.nodes)
      if (d.action == Action::kQdq || d.action == Action::kQdqMove) node(d);
    // With quantize_all_outputs, readers that stay float read the rounded values, too.
    if (scheme_.quantize_all_outputs) {
      for (ValueId v : decisions_.quantized_values) pair(v);
      for (const auto& [value, pair] : pairs_) {
        const NodeId q = g_.value(pair.quantized).producer;
        const auto users = g_.value(value).users;
        for (NodeId user : users)
          for (size_t slot = 0; user != q && slot < g_.node(user).inputs.size(); ++slot)
            if (g_.node(user).inputs[slot] == value) g_.set_input(user, slot, pair.real);
      }
    }
    for (const Decision& d : decisions_.nodes)
      if (d.action == Action::kCodeGather) rewrite_gather(prepared_, store_, d);
  }

 private:
  struct Pair {
    ValueId quantized = kNoValue, real = kNoValue;
    ScaleZero params;
  };

  ScaleZero params(ValueId v) const {
    ValueId root = v;
    for (auto it = decisions_.shares_scale_of.find(root); it != decisions_.shares_scale_of.end();
         it = decisions_.shares_scale_of.find(root))
      root = it->second;
    const CodeRange codes = code_range(scheme_.activation_type, scheme_.activation_symmetric, false);
    if (decisions_.unit_range.count(root) > 0) return scale_zero(0.0f, 1.0f, codes, scheme_.activation_symmetric);
    const std::string& name = g_.value(root).name;
    const auto it = calibration_.ranges.find(name);
    require(it != calibration_.ranges.end(), ErrorCode::kNotFound,
            "the calibration has no range of tensor '{}': calibrate again with this scheme", name);
    try {
      return scale_zero(it->second.lo, it->second.hi, codes, scheme_.activation_symmetric);
    } catch (Error& e) {
      throw e.at("tensor", name);
    }
  }

  ValueId zero_point(int32_t zero, const std::string& name) {
    Tensor t(scheme_.activation_type, Shape{});
    *static_cast<uint8_t*>(t.mutable_view().data) = static_cast<uint8_t>(zero);
    return g_.add_constant(std::move(t), prepared_.fresh_name(name));
  }

  // The pair of a tensor, made on first use.
  const Pair& pair(ValueId v) {
    const auto known = pairs_.find(v);
    if (known != pairs_.end()) return known->second;
    const std::string base = g_.value(v).name;
    Pair p;
    p.params = params(v);
    const ValueId scale = g_.add_constant(Tensor::scalar<float>(p.params.scale), prepared_.fresh_name(base + "_scale"));
    const ValueId zero = zero_point(p.params.zero_point, base + "_zero_point");
    p.quantized = emit(prepared_, scope_, "QuantizeLinear", {v, scale, zero}, base + "_QuantizeLinear",
                       base + "_QuantizeLinear_Output", scheme_.activation_type);
    p.real = emit(prepared_, scope_, "DequantizeLinear", {p.quantized, scale, zero}, base + "_DequantizeLinear",
                  base + "_DequantizeLinear_Output", DType::kFloat32);
    return pairs_.emplace(v, p).first->second;
  }

  ValueId weight(const OperandPlan& o, const std::vector<float>& min_scales) {
    const CodeValues w = store_.codes(o.weight, o.spec, scope_, min_scales);
    const auto [known, fresh] = real_weights_.try_emplace(w.codes, kNoValue);
    ValueId& real = known->second;
    if (fresh) {
      std::map<std::string, Attribute, std::less<>> attributes;
      if (w.axis >= 0) attributes["axis"] = static_cast<int64_t>(w.axis);
      const std::string& base = g_.value(o.weight.base.value).name;
      real = emit(prepared_, scope_, "DequantizeLinear", {w.codes, w.scale, w.zero_point}, base + "_DequantizeLinear",
                  base + "_DequantizeLinear_Output", DType::kFloat32, std::move(attributes));
    }
    return real;
  }

  bool any_empty_channel(const OperandPlan& w) const {
    const Tensor& t = *prepared_.constant(w.weight.base);
    const Shape& shape = t.shape();
    const int axis = w.spec.axis;
    const int64_t channels = axis < 0 ? 1 : shape[axis], inner = axis < 0 ? 1 : shape.elements(axis + 1, shape.rank());
    // Below the smallest normal scale a weight counts as nothing, as in scale_zero().
    const float least = std::numeric_limits<float>::min() * 128.0f;
    std::vector<char> filled(static_cast<size_t>(channels), 0);
    const auto values = t.values<float>();
    for (size_t i = 0; i < values.size(); ++i)
      if (std::abs(values[i]) > least) filled[i / static_cast<size_t>(inner) % filled.size()] = 1;
    return std::find(filled.begin(), filled.end(), 0) != filled.end();
  }

  // A bias fits int32 when |b| / (activation scale * weight scale) does. Where it does not, the weight scale of that
  // channel is raised, if the weight is nobody else's and symmetric; otherwise the bias stays float, and its node's
  // line says why.
  std::vector<float> scales_for_bias(const Decision& d, bool& fits) {
    NodePlan& line = decisions_.plan.nodes[d.line];
    const auto stays = [&](std::string_view why) -> std::vector<float> {
      fits = false;
      line.reason = fmt::format("its bias stays float: {}", why);
      return {};
    };
    const OperandPlan& w = d.operands[1];
    const auto bias = prepared_.constant(d.operands[2].weight.base)->values<float>();
    const double input_scale = static_cast<double>(pair(g_.node(d.node).inputs[0]).params.scale);
    const auto& scales = store_.quantized(w.weight, w.spec).scales;
    if (scales.size() != 1 && scales.size() != bias.size())
      return stays(fmt::format("{} values, where the weight has {} scales", bias.size(), scales.size()));
    if (!std::all_of(bias.begin(), bias.end(), [](float b) { return std::isfinite(b); }))
      return stays("it holds values that are not finite");
    std::vector<float> least(scales.size(), 0.0f);
    bool raised = false;
    for (size_t i = 0; i < bias.size(); ++i) {
      const size_t c = scales.size() == 1 ? 0 : i;
      const double need = 1.0001 * 2.0 * std::abs(static_cast<double>(bias[i])) / (4294967296.0 - 2.0) / input_scale;
      if (need <= static_cast<double>(scales[c])) continue;
      least[c] = std::max(least[c], static_cast<float>(need));
      raised = true;
    }
    // Without weights a channel's scale is 1, which says nothing of how fine its bias is.
    if (std::find(scales.begin(), scales.end(), 1.0f) != scales.end() && any_empty_channel(w))
      return stays("a channel has no weights, and so no scale to go by");
    // What an int32 bias is scaled by must be a normal float, and a raised scale must not swallow the weight.
    for (size_t c = 0; c < scales.size(); ++c) {
      const double product = input_scale * static_cast<double>(std::max(scales[c], least[c]));
      if (!(product >= static_cast<double>(std::numeric_limits<float>::min()) && std::isfinite(least[c])))
        return stays("its scale would be no normal float");
    }
    if (!raised) return {};
    if (store_.uses(w.weight) > 1 || !w.spec.symmetric)
      return stays("in int32 it would overflow, and the weight scale cannot be raised");
    const auto count = std::count_if(least.begin(), least.end(), [](float f) { return f > 0.0f; });
    line.reason =
        fmt::format("weight scale of {} channel{} raised, so that the bias fits int32", count, count == 1 ? "" : "s");
    return least;
  }

  void bias(const Decision& d, const std::vector<float>& min_scales) {
    const OperandPlan& o = d.operands[2];
    const std::string base = g_.value(o.weight.base.value).name;
    const Tensor source = *prepared_.constant(o.weight.base);
    const auto values = source.values<float>();
    const float input_scale = pair(g_.node(d.node).inputs[0]).params.scale;
    std::vector<float> scales = store_.quantized(d.operands[1].weight, d.operands[1].spec, min_scales).scales;
    for (float& s : scales) s *= input_scale;
    Tensor codes(DType::kInt32, source.shape());
    const auto to = codes.mutable_view().values<int32_t>();
    for (size_t i = 0; i < values.size(); ++i) {
      const double q =
          std::nearbyint(static_cast<double>(values[i]) / static_cast<double>(scales[scales.size() == 1 ? 0 : i]));
      to[i] = static_cast<int32_t>(std::clamp(q, -2147483648.0, 2147483647.0));
    }
    const bool per_channel = scales.size() > 1;
    const Shape shape = per_channel ? Shape{static_cast<int64_t>(scales.size())} : Shape{};
    const ValueId q = g_.add_constant(std::move(codes), prepared_.fresh_name(base + "_quantized"));
    const ValueId scale = g_.add_constant(Tensor::from<float>(shape, std::span<const float>(scales)),
                                          prepared_.fresh_name(base + "_quantized_scale"));
    std::map<std::string, Attribute, std::less<>> attributes;
    if (per_channel) attributes["axis"] = int64_t{0};
    g_.set_input(d.node, 2,
                 emit(prepared_, scope_, "DequantizeLinear", {q, scale}, base + "_DequantizeLinear",
                      base + "_DequantizeLinear_Output", DType::kFloat32, std::move(attributes)));
  }

  void node(const Decision& d) {
    std::vector<float> min_scales;
    bool int_bias = d.operands.size() > 2 && d.operands[2].kind == OperandPlan::Kind::kBias;
    if (int_bias) min_scales = scales_for_bias(d, int_bias);
    if (int_bias) bias(d, min_scales);
    for (size_t i = 0; i < d.operands.size(); ++i) {
      const OperandPlan& o = d.operands[i];
      if (o.kind == OperandPlan::Kind::kActivation)
        g_.set_input(d.node, i, pair(g_.node(d.node).inputs[i]).real);
      else if (o.kind == OperandPlan::Kind::kWeight)
        g_.set_input(d.node, i, weight(o, i == 1 ? min_scales : std::vector<float>{}));
    }
  }

  Prepared& prepared_;
  Decisions& decisions_;
  const QuantScheme& scheme_;
  const Calibration& calibration_;
  CodeStore store_;
  Scope& scope_;
  Graph& g_;
  std::map<ValueId, Pair> pairs_;
  std::map<ValueId, ValueId> real_weights_;
};

}  // namespace

void rewrite_static(Prepared& prepared, Decisions& decisions, const Calibration& calibration, int threads) {
  StaticRewriter(prepared, decisions, calibration, threads).run();
}

}  // namespace assay::quant
