#include "quant/scheme.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/nearest.h"
#include "ops/op.h"

namespace assay::quant {
namespace {

DType dtype_named(std::string_view key, std::string_view name) {
  if (name == "int8") return DType::kInt8;
  if (name == "uint8") return DType::kUint8;
  fail(ErrorCode::kInvalidArgument, "{} is '{}': int8 or uint8 is meant", key, name);
}

}  // namespace

std::string_view to_string(Approach approach) { return approach == Approach::kDynamic ? "dynamic" : "static"; }
std::string_view to_string(ActivationScale scale) { return scale == ActivationScale::kRow ? "row" : "tensor"; }

std::vector<std::string> default_operators(Approach approach) {
  if (approach == Approach::kDynamic) return {"MatMul", "Gemm"};
  return {"Conv",        "ConvTranspose", "Gemm",    "MatMul",    "Relu",    "Clip",      "MaxPool",
          "AveragePool", "Flatten",       "Reshape", "Transpose", "Squeeze", "Unsqueeze", "GlobalAveragePool"};
}

std::vector<std::string> known_operators(Approach approach) {
  if (approach == Approach::kDynamic) return {"Conv", "Gather", "Gemm", "MatMul"};
  return {"Add",
          "ArgMax",
          "AveragePool",
          "BatchNormalization",
          "Clip",
          "Concat",
          "Conv",
          "ConvTranspose",
          "Div",
          "Expand",
          "Flatten",
          "Gather",
          "Gemm",
          "GlobalAveragePool",
          "InstanceNormalization",
          "LayerNormalization",
          "LeakyRelu",
          "MatMul",
          "MaxPool",
          "Mul",
          "Pad",
          "Pow",
          "ReduceMean",
          "Relu",
          "Reshape",
          "Resize",
          "Sigmoid",
          "Slice",
          "Softmax",
          "Split",
          "Sqrt",
          "Squeeze",
          "Sub",
          "Tanh",
          "Tile",
          "Transpose",
          "Unsqueeze",
          "Where"};
}

std::vector<std::string> QuantScheme::effective_operators() const {
  return operators.empty() ? default_operators(approach) : operators;
}

void QuantScheme::add_exclusion(std::string_view text) {
  require(!text.empty(), ErrorCode::kInvalidArgument, "an exclusion is empty");
  if (const auto pattern = pattern_from_name(text))
    exclude_patterns.push_back(*pattern);
  else
    exclude_nodes.emplace_back(text);
}

void QuantScheme::check() const {
  dtype_named("weight type", to_string(weight_type));
  dtype_named("activation type", to_string(activation_type));
  if (approach == Approach::kDynamic) {
    require(activation_type == DType::kUint8, ErrorCode::kInvalidArgument,
            "dynamic quantization has uint8 activations only (ONNX DynamicQuantizeLinear): use --activation uint8 or "
            "--approach static");
    require(!activation_symmetric, ErrorCode::kInvalidArgument,
            "dynamic quantization has asymmetric activations only (ONNX DynamicQuantizeLinear): use --approach static");
  } else {
    require(!(activation_type == DType::kInt8 && weight_type == DType::kUint8), ErrorCode::kInvalidArgument,
            "int8 activations with uint8 weights have no kernel in any engine: use int8 weights");
  }
  check_operators(operators);
}

void check_operators(const std::vector<std::string>& names) {
  std::vector<std::string> known = registered_ops();
  for (const Approach a : {Approach::kDynamic, Approach::kStatic})
    for (std::string& name : known_operators(a)) known.push_back(std::move(name));
  for (const std::string& name : names)
    require(std::find(known.begin(), known.end(), name) != known.end(), ErrorCode::kInvalidArgument,
            "'{}' is no operator{}", name, nearest_hint(name, known));
}

bool glob_match(std::string_view glob, std::string_view text) {
  size_t g = 0, t = 0;
  size_t star = std::string_view::npos, from = 0;
  const auto one = [&](size_t& at, char c) {  // matches one character of the glob, advancing `at`
    if (glob[at] == '?') return ++at, true;
    if (glob[at] != '[') return glob[at] == c ? (++at, true) : false;
    const size_t close = glob.find(']', at + 2);
    if (close == std::string_view::npos) return glob[at] == c ? (++at, true) : false;
    size_t i = at + 1;
    const bool negated = glob[i] == '!' || glob[i] == '^';
    if (negated) ++i;
    bool inside = false;
    for (; i < close; ++i) {
      if (i + 2 < close && glob[i + 1] == '-') {
        inside |= glob[i] <= c && c <= glob[i + 2];
        i += 2;
      } else {
        inside |= glob[i] == c;
      }
    }
    if (inside == negated) return false;
    at = close + 1;
    return true;
  };
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      from = t;
    } else if (g < glob.size() && one(g, text[t])) {
      ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

nlohmann::json to_json(const QuantScheme& s) {
  nlohmann::json patterns = nlohmann::json::array();
  for (Pattern p : s.exclude_patterns) patterns.push_back(std::string(to_string(p)));
  nlohmann::json out = {{"approach", to_string(s.approach)},
                        {"weight_type", to_string(s.weight_type)},
                        {"weight_symmetric", s.symmetric_weights()},
                        {"per_channel", s.per_channel},
                        {"activation_type", to_string(s.activation_type)},
                        {"activation_symmetric", s.activation_symmetric},
                        {"reduce_range", s.reduce_range},
                        {"operators", s.effective_operators()},
                        {"exclude_nodes", s.exclude_nodes},
                        {"exclude_patterns", std::move(patterns)},
                        {"matmul_const_b_only", s.const_b_only()},
                        {"keep_tied", s.keep_tied}};
  if (s.approach == Approach::kDynamic)
    out["activation_scale"] = to_string(s.activation_scale);
  else
    out["quantize_all_outputs"] = s.quantize_all_outputs;
  return out;
}

QuantScheme scheme_from_json(const nlohmann::json& json) {
  require(json.is_object(), ErrorCode::kInvalidArgument, "a quantization scheme is a JSON object");
  QuantScheme s;
  for (const auto& [key, value] : json.items()) {
    try {
      if (key == "approach") {
        const auto text = value.get<std::string>();
        require(text == "dynamic" || text == "static", ErrorCode::kInvalidArgument,
                "approach is '{}': dynamic or static is meant", text);
        s.approach = text == "dynamic" ? Approach::kDynamic : Approach::kStatic;
      } else if (key == "weight_type") {
        s.weight_type = dtype_named(key, value.get<std::string>());
      } else if (key == "activation_type") {
        s.activation_type = dtype_named(key, value.get<std::string>());
      } else if (key == "weight_symmetric") {
        s.weight_symmetric = value.get<bool>();
      } else if (key == "per_channel") {
        s.per_channel = value.get<bool>();
      } else if (key == "activation_symmetric") {
        s.activation_symmetric = value.get<bool>();
      } else if (key == "reduce_range") {
        s.reduce_range = value.get<bool>();
      } else if (key == "operators") {
        s.operators = value.get<std::vector<std::string>>();
      } else if (key == "exclude_nodes") {
        s.exclude_nodes = value.get<std::vector<std::string>>();
      } else if (key == "exclude_patterns") {
        for (const auto& name : value.get<std::vector<std::string>>()) {
          const auto pattern = pattern_from_name(name);
          require(pattern.has_value(), ErrorCode::kInvalidArgument, "no structure is called '{}': {}", name,
                  pattern_names());
          s.exclude_patterns.push_back(*pattern);
        }
      } else if (key == "matmul_const_b_only") {
        s.matmul_const_b_only = value.get<bool>();
      } else if (key == "keep_tied") {
        s.keep_tied = value.get<bool>();
      } else if (key == "activation_scale") {
        const auto text = value.get<std::string>();
        require(text == "row" || text == "tensor", ErrorCode::kInvalidArgument,
                "activation_scale is '{}': row or tensor is meant", text);
        s.activation_scale = text == "row" ? ActivationScale::kRow : ActivationScale::kTensor;
      } else if (key == "quantize_all_outputs") {
        s.quantize_all_outputs = value.get<bool>();
      } else {
        fail(ErrorCode::kInvalidArgument, "a quantization scheme has no field '{}'", key);
      }
    } catch (const nlohmann::json::exception&) {
      fail(ErrorCode::kInvalidArgument, "field '{}' of the quantization scheme has the wrong type: {}", key,
           value.dump());
    }
  }
  s.check();
  return s;
}

}  // namespace assay::quant
