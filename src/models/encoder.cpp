#include "models/encoder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace assay {
namespace {

constexpr int64_t kShareFromBytes = 1 << 16;

/// "bert.encoder.layer.0.output" → "/bert/encoder/layer.0/output": a number stays with the list it indexes.
std::string path_of(std::string_view module) {
  std::string out = "/";
  for (size_t i = 0; i < module.size(); ++i) {
    const bool index = module[i] == '.' && i + 1 < module.size() && module[i + 1] >= '0' && module[i + 1] <= '9';
    out += module[i] == '.' && !index ? '/' : module[i];
  }
  return out;
}

Tensor transposed(const TensorView& t) {
  const int64_t rows = t.shape[0], columns = t.shape[1];
  Tensor out(DType::kFloat32, Shape{columns, rows});
  const float* src = t.as<float>();
  float* dst = out.mutable_view().as<float>();
  constexpr int64_t kTile = 32;  // a tile of both sides stays in the first cache
  for (int64_t r0 = 0; r0 < rows; r0 += kTile)
    for (int64_t c0 = 0; c0 < columns; c0 += kTile)
      for (int64_t r = r0; r < std::min(r0 + kTile, rows); ++r)
        for (int64_t c = c0; c < std::min(c0 + kTile, columns); ++c) dst[c * rows + r] = src[r * columns + c];
  return out;
}

Tensor ints(std::vector<int64_t> values) {
  return Tensor::from<int64_t>(Shape{static_cast<int64_t>(values.size())}, values);
}

const std::vector<Dim>& batch_sequence() {
  static const std::vector<Dim> kDims = {{-1, "batch"}, {-1, "sequence"}};
  return kDims;
}

}  // namespace

EncoderHead head_of(const nlohmann::json& config, std::string_view class_prefix) {
  const auto it = config.find("architectures");
  require(it != config.end() && it->is_array() && it->size() == 1 && it->front().is_string(), ErrorCode::kBadFile,
          "config field 'architectures' must name one class, such as {}ForQuestionAnswering", class_prefix);
  const auto name = it->front().get<std::string>();
  const std::pair<std::string_view, EncoderHead> heads[] = {
      {"Model", EncoderHead::kNone},
      {"ForQuestionAnswering", EncoderHead::kQuestionAnswering},
      {"ForSequenceClassification", EncoderHead::kSequenceClassification},
      {"ForTokenClassification", EncoderHead::kTokenClassification}};
  for (const auto& [suffix, head] : heads)
    if (name == fmt::format("{}{}", class_prefix, suffix)) return head;
  fail(ErrorCode::kUnsupported,
       "architecture '{0}' is not supported; supported: {1}Model, {1}ForQuestionAnswering, "
       "{1}ForSequenceClassification, "
       "{1}ForTokenClassification",
       name, class_prefix);
}

Activation activation_of(const std::string& name) {
  if (name == "gelu" || name == "gelu_python") return Activation::kGelu;
  if (name == "gelu_new" || name == "gelu_pytorch_tanh" || name == "gelu_fast") return Activation::kGeluTanh;
  if (name == "relu") return Activation::kRelu;
  fail(ErrorCode::kUnsupported,
       "activation '{}' is not supported; supported: gelu, gelu_python, gelu_new, gelu_fast, gelu_pytorch_tanh, relu",
       name);
}

EncoderBuilder::EncoderBuilder(const Checkpoint& checkpoint, EncoderConfig config, std::string prefix)
    : checkpoint_(checkpoint), config_(config), prefix_(std::move(prefix)) {
  graph_.name = "main_graph";
  require(config_.hidden % config_.heads == 0, ErrorCode::kBadFile, "hidden size {} is not a multiple of {} heads",
          config_.hidden, config_.heads);
}

ValueId EncoderBuilder::input(std::string name) {
  return graph_.add_input(std::move(name), {DType::kInt64, batch_sequence(), {}});
}

ValueId EncoderBuilder::node(std::string_view path, std::string op_type, std::vector<ValueId> inputs,
                             std::string_view last, std::map<std::string, Attribute, std::less<>> attributes) {
  Node n;
  n.name = fmt::format("{}{}{}", path_of(path), path.empty() ? "" : "/", last.empty() ? op_type : last);
  n.op_type = std::move(op_type);
  n.version = checkpoint_.options.opset;
  n.inputs = std::move(inputs);
  n.attributes = std::move(attributes);
  const ValueId out = graph_.add_value(n.name + "_output_0");
  n.outputs = {out};
  graph_.add_node(std::move(n));
  return out;
}

ValueId EncoderBuilder::constant(std::string name, Tensor tensor) {
  return graph_.add_constant(std::move(tensor), std::move(name));
}

ValueId EncoderBuilder::shared(const std::string& key, Tensor tensor) {
  const auto it = weights_.find(key);
  if (it != weights_.end()) return it->second;
  return weights_[key] = constant(key, std::move(tensor));
}

const Tensor& EncoderBuilder::take(const std::string& name, const Shape& shape) {
  const auto it = checkpoint_.weights.tensors().find(name);
  require(it != checkpoint_.weights.tensors().end(), ErrorCode::kBadFile, "tensor '{}' of shape {} is missing", name,
          shape.str());
  require(it->second.shape() == shape, ErrorCode::kBadFile, "tensor '{}' has shape {}, the config wants {}", name,
          it->second.shape().str(), shape.str());
  require(is_float(it->second.dtype()), ErrorCode::kBadFile, "tensor '{}' is {}, not a float type", name,
          to_string(it->second.dtype()));
  used_.insert(name);
  return it->second;
}

ValueId EncoderBuilder::weight(const std::string& name, const Shape& shape) {
  const Tensor& t = take(name, shape);
  const auto it = weights_.find(name);
  if (it != weights_.end()) return it->second;
  const auto make = [&] { return constant(name, t.dtype() == DType::kFloat32 ? t : to_float32(t)); };
  ValueId id = kNoValue;
  if (t.bytes() >= kShareFromBytes) {
    ValueId& known = by_content_.try_emplace({hash_bytes(t.raw()), shape.str()}, kNoValue).first->second;
    if (known == kNoValue) known = make();
    id = known;
  } else {
    id = make();
  }
  return weights_[name] = id;
}

ValueId EncoderBuilder::embedding(const std::string& name, int64_t rows, ValueId ids) {
  const ValueId table = weight(name + ".weight", Shape{rows, config_.hidden});
  return node(name, "Gather", {table, ids});
}

ValueId EncoderBuilder::linear(const std::string& name, ValueId x, int64_t in, int64_t out) {
  const std::string weight_name = name + ".weight";
  const Shape shape{out, in};
  const Tensor& t = take(weight_name, shape);
  const std::string key = weight_name + "^T";
  if (weights_.count(key) == 0) {
    ValueId& known =
        by_content_
            .try_emplace({t.bytes() >= kShareFromBytes ? hash_bytes(t.raw()) : hash_text(key), shape.str() + "^T"},
                         kNoValue)
            .first->second;
    if (known == kNoValue)
      known = constant(weight_name, transposed(t.dtype() == DType::kFloat32 ? t.view() : to_float32(t).view()));
    weights_[key] = known;
  }
  const ValueId product = node(name, "MatMul", {x, weights_[key]});
  return node(name, "Add", {weight(name + ".bias", Shape{out}), product});
}

ValueId EncoderBuilder::layer_norm(const std::string& name, ValueId x) {
  // Checkpoints converted from the first TensorFlow release call the parameters gamma and beta.
  const bool old = !has(name + ".weight") && has(name + ".gamma");
  const Shape shape{config_.hidden};
  const ValueId scale = weight(name + (old ? ".gamma" : ".weight"), shape);
  const ValueId bias = weight(name + (old ? ".beta" : ".bias"), shape);
  return node(name, "LayerNormalization", {x, scale, bias}, {},
              {{"axis", int64_t{-1}}, {"epsilon", config_.layer_norm_eps}});
}

ValueId EncoderBuilder::activate(std::string_view path, Activation activation, ValueId x) {
  const auto scalar = [&](const char* key, double v) { return shared(key, Tensor::scalar(static_cast<float>(v))); };
  if (activation == Activation::kRelu) return node(path, "Relu", {x});
  if (checkpoint_.options.opset >= 20) {
    const bool tanh = activation == Activation::kGeluTanh;
    return node(path, "Gelu", {x}, {}, {{"approximate", std::string(tanh ? "tanh" : "none")}});
  }
  if (activation == Activation::kGelu) {  // x · (1 + erf(x / √2)) · ½
    ValueId v = node(path, "Div", {x, scalar("sqrt_two", std::sqrt(2.0))});
    v = node(path, "Erf", {v});
    v = node(path, "Add", {v, scalar("one", 1)});
    v = node(path, "Mul", {x, v});
    return node(path, "Mul", {v, scalar("half", 0.5)}, "Mul_1");
  }
  // ½x · (1 + tanh(√(2/π) · (x + 0.044715 x³)))
  ValueId v = node(path, "Pow", {x, scalar("three", 3)});
  v = node(path, "Mul", {v, scalar("gelu_cubic", 0.044715)});
  v = node(path, "Add", {x, v});
  v = node(path, "Mul", {v, scalar("sqrt_two_over_pi", std::sqrt(2.0 / 3.14159265358979323846))}, "Mul_1");
  v = node(path, "Tanh", {v});
  v = node(path, "Add", {v, scalar("one", 1)}, "Add_1");
  const ValueId half = node(path, "Mul", {x, scalar("half", 0.5)}, "Mul_2");
  return node(path, "Mul", {half, v}, "Mul_3");
}

ValueId EncoderBuilder::positions(ValueId input_ids) {
  const std::string path = encoder("embeddings");
  const ValueId shape = node(path, "Shape", {input_ids});
  const ValueId length = node(path, "Gather", {shape, shared("index_one", Tensor::scalar<int64_t>(1))}, "length/Gather",
                              {{"axis", int64_t{0}}});
  return node(
      path, "Range",
      {shared("index_zero", Tensor::scalar<int64_t>(0)), length, shared("index_one", Tensor::scalar<int64_t>(1))});
}

ValueId EncoderBuilder::additive_mask(ValueId attention_mask) {
  ValueId v = node("attention_mask", "Unsqueeze", {attention_mask, shared("axis_one", ints({1}))});
  v = node("attention_mask", "Unsqueeze", {v, shared("axis_two", ints({2}))}, "Unsqueeze_1");
  v = node("attention_mask", "Cast", {v}, {}, {{"to", static_cast<int64_t>(DType::kFloat32)}});
  v = node("attention_mask", "Sub", {shared("one", Tensor::scalar(1.0f)), v});
  return node("attention_mask", "Mul", {v, shared("lowest", Tensor::scalar(std::numeric_limits<float>::lowest()))});
}

ValueId EncoderBuilder::split_heads(const std::string& name, ValueId x, std::vector<int64_t> permutation) {
  const ValueId y = linear(name, x, config_.hidden, config_.hidden);
  const ValueId shape = shared("heads_shape", ints({0, 0, config_.heads, config_.hidden / config_.heads}));
  const ValueId split = node(name, "Reshape", {y, shape});
  return node(name, "Transpose", {split}, {}, {{"perm", std::move(permutation)}});
}

ValueId EncoderBuilder::attention(ValueId x, ValueId mask, const LayerNames& names) {
  const std::string query = encoder(names.query);
  const std::string path = query.substr(0, query.rfind('.'));
  const ValueId q = split_heads(query, x, {0, 2, 1, 3});
  const ValueId k = split_heads(encoder(names.key), x, {0, 2, 3, 1});
  const ValueId v = split_heads(encoder(names.value), x, {0, 2, 1, 3});
  const double size = static_cast<double>(config_.hidden / config_.heads);
  ValueId scores = node(path, "MatMul", {q, k});
  scores = node(path, "Div", {scores, shared("sqrt_head_size", Tensor::scalar(static_cast<float>(std::sqrt(size))))});
  scores = node(path, "Add", {scores, mask});
  scores = node(path, "Softmax", {scores}, {}, {{"axis", int64_t{-1}}});
  ValueId context = node(path, "MatMul", {scores, v}, "MatMul_1");
  context = node(path, "Transpose", {context}, {}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  return node(path, "Reshape", {context, shared("hidden_shape", ints({0, 0, config_.hidden}))});
}

ValueId EncoderBuilder::layers(ValueId x, ValueId mask, const std::function<LayerNames(int64_t)>& names) {
  for (int64_t i = 0; i < config_.layers; ++i) {
    const LayerNames n = names(i);
    const auto add_and_norm = [&](ValueId a, ValueId b, const std::string& norm) {
      const std::string name = encoder(norm);
      return layer_norm(
          name, node(name.substr(0, name.rfind('.')), "Add", {a, b}, norm.substr(norm.rfind('.') + 1) + "/Add"));
    };
    const ValueId context = linear(encoder(n.attention_output), attention(x, mask, n), config_.hidden, config_.hidden);
    x = add_and_norm(context, x, n.attention_norm);
    const std::string up = encoder(n.up);
    ValueId inner = linear(up, x, config_.hidden, config_.intermediate);
    inner = activate(up.substr(0, up.rfind('.')) + ".activation", config_.activation, inner);
    inner = linear(encoder(n.down), inner, config_.intermediate, config_.hidden);
    x = add_and_norm(inner, x, n.output_norm);
  }
  return x;
}

ValueId EncoderBuilder::first_token(std::string_view path, ValueId x) {
  return node(path, "Gather", {x, shared("index_zero", Tensor::scalar<int64_t>(0))}, {}, {{"axis", int64_t{1}}});
}

void EncoderBuilder::output(std::string name, ValueId value, std::vector<Dim> dims) {
  graph_.value(value).name = std::move(name);
  graph_.value(value).type = {DType::kFloat32, std::move(dims), {}};
  graph_.add_output(value);
}

void EncoderBuilder::question_answering(const std::string& name, ValueId x) {
  const ValueId logits = linear(name, x, config_.hidden, 2);
  Node split;
  split.name = path_of(name) + "/Split";
  split.op_type = "Split";
  split.version = checkpoint_.options.opset;
  split.inputs = {logits, shared("one_each", ints({1, 1}))};
  split.attributes = {{"axis", int64_t{-1}}};
  split.outputs = {graph_.add_value(split.name + "_output_0"), graph_.add_value(split.name + "_output_1")};
  const std::vector<ValueId> halves = split.outputs;
  graph_.add_node(std::move(split));
  const ValueId last_axis = shared("axis_last", ints({-1}));
  output("start_logits", node(name, "Squeeze", {halves[0], last_axis}), batch_sequence());
  output("end_logits", node(name, "Squeeze", {halves[1], last_axis}, "Squeeze_1"), batch_sequence());
}

void EncoderBuilder::classifier(const std::string& name, ValueId x, bool per_token) {
  const auto it = checkpoint_.weights.tensors().find(name + ".weight");
  require(it != checkpoint_.weights.tensors().end() && it->second.shape().rank() == 2, ErrorCode::kBadFile,
          "tensor '{}.weight' of shape [labels,{}] is missing", name, config_.hidden);
  const int64_t count = it->second.shape()[0];
  auto& labels = checkpoint_.info.labels;
  require(labels.empty() || static_cast<int64_t>(labels.size()) == count, ErrorCode::kBadFile,
          "config field 'id2label' has {} labels, '{}.weight' has {}", labels.size(), name, count);
  if (labels.empty())
    for (int64_t i = 0; i < count; ++i) labels.push_back(fmt::format("LABEL_{}", i));
  const ValueId logits = linear(name, x, config_.hidden, count);
  output("logits", logits,
         per_token ? std::vector<Dim>{{-1, "batch"}, {-1, "sequence"}, {count, ""}}
                   : std::vector<Dim>{{-1, "batch"}, {count, ""}});
}

void EncoderBuilder::ignore(std::string prefix, std::string reason) {
  ignored_.emplace(std::move(prefix), std::move(reason));
}

Graph EncoderBuilder::finish() {
  std::vector<std::string> extra;
  std::map<std::string, int> left_out;
  for (const auto& [name, tensor] : checkpoint_.weights.tensors()) {
    // Old checkpoints carry the buffer 0, 1, 2, ... beside the parameters.
    if (used_.count(name) != 0 || name == encoder("embeddings.position_ids")) continue;
    const auto it = std::find_if(ignored_.begin(), ignored_.end(), [&, &key = name](const auto& rule) {
      return key.compare(0, rule.first.size(), rule.first) == 0;
    });
    if (it != ignored_.end()) {
      ++left_out[it->first];
    } else {
      extra.push_back("'" + name + "'");
    }
  }
  const size_t shown = std::min<size_t>(extra.size(), 8);
  require(extra.empty(), ErrorCode::kBadFile, "{} tensors have no place in this architecture: {}{}", extra.size(),
          fmt::join(extra.begin(), extra.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
          extra.size() > shown ? ", ..." : "");
  for (const auto& [prefix, count] : left_out)
    checkpoint_.notes.push_back(fmt::format("{} tensors '{}*' are left out: {}", count, prefix, ignored_[prefix]));
  return std::move(graph_);
}

}  // namespace assay
