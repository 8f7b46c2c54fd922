#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/hash.h"
#include "models/huggingface.h"

namespace assay {

enum class EncoderHead { kNone, kQuestionAnswering, kSequenceClassification, kTokenClassification };
enum class Activation { kGelu, kGeluTanh, kRelu };

/// What BERT, DistilBERT and RoBERTa have in common, whatever their config calls it.
struct EncoderConfig {
  int64_t hidden = 0, layers = 0, heads = 0, intermediate = 0, vocab = 0, positions = 0;
  float layer_norm_eps = 1e-12f;
  Activation activation = Activation::kGelu;
};

/// Parameter names of one layer, without the model's prefix.
struct LayerNames {
  std::string query, key, value, attention_output, attention_norm, up, down, output_norm;
};

/// The head that config.json's `architectures` asks for, e.g. BertForQuestionAnswering of class prefix "Bert".
/// Unsupported lists what there is.
EncoderHead head_of(const nlohmann::json& config, std::string_view class_prefix);
/// gelu, gelu_python; gelu_new, gelu_fast, gelu_pytorch_tanh; relu. Unsupported for another name.
Activation activation_of(const std::string& name);

/// Builds the graph of a transformer encoder from a checkpoint, tensor by tensor, and sees to it that every tensor is
/// used. Node names follow the module path: "/bert/encoder/layer.0/attention/self/query/MatMul".
class EncoderBuilder {
 public:
  /// `prefix` is "bert." where the encoder sits inside a model with a head, or "" in a bare checkpoint.
  EncoderBuilder(const Checkpoint& checkpoint, EncoderConfig config, std::string prefix);

  const EncoderConfig& config() const { return config_; }
  /// The checkpoint's tensor name of an encoder parameter.
  std::string encoder(std::string_view name) const { return prefix_ + std::string(name); }
  bool has(const std::string& tensor) const { return checkpoint_.weights.tensors().count(tensor) != 0; }

  /// A graph input [batch, sequence] of int64.
  ValueId input(std::string name);
  /// A node with one output. `path` is its module, "bert.embeddings"; `last` the rest of its name, op_type if empty.
  ValueId node(std::string_view path, std::string op_type, std::vector<ValueId> inputs, std::string_view last = {},
               std::map<std::string, Attribute, std::less<>> attributes = {});
  ValueId constant(std::string name, Tensor tensor);
  /// The float32 tensor `name` of the checkpoint; BadFile when absent or of another shape.
  ValueId weight(const std::string& name, const Shape& shape);
  /// Table [rows, hidden] looked up by int64 ids.
  ValueId embedding(const std::string& name, int64_t rows, ValueId ids);
  /// x · Wᵀ + b of a [out, in] weight, as MatMul and Add.
  ValueId linear(const std::string& name, ValueId x, int64_t in, int64_t out);
  ValueId layer_norm(const std::string& name, ValueId x);
  ValueId activate(std::string_view path, Activation activation, ValueId x);
  /// Position ids 0, 1, ... of input_ids' length: [sequence].
  ValueId positions(ValueId input_ids);
  /// [batch, sequence] of 1 and 0 → [batch, 1, 1, sequence] of 0 and the lowest float, to be added to scores.
  ValueId additive_mask(ValueId attention_mask);
  /// All layers: [batch, sequence, hidden] → the same.
  ValueId layers(ValueId x, ValueId mask, const std::function<LayerNames(int64_t)>& names);

  /// x[:, 0]: [batch, sequence, hidden] → [batch, hidden].
  ValueId first_token(std::string_view path, ValueId x);
  /// Outputs start_logits and end_logits from the module `name`.
  void question_answering(const std::string& name, ValueId x);
  /// Output `logits` from the module `name`; per token or per sequence as `x` is. Labels are counted by the weight and
  /// must agree with the config's.
  void classifier(const std::string& name, ValueId x, bool per_token);
  void output(std::string name, ValueId value, std::vector<Dim> dims);

  /// Tensors under this prefix are not part of the graph asked for; a note says so once.
  void ignore(std::string prefix, std::string reason);
  /// The finished graph. BadFile listing tensors of the checkpoint that nothing used.
  Graph finish();

 private:
  const Tensor& take(const std::string& name, const Shape& shape);
  ValueId attention(ValueId x, ValueId mask, const LayerNames& names);
  ValueId split_heads(const std::string& name, ValueId x, std::vector<int64_t> permutation);
  /// A constant shared by all who ask for the same key.
  ValueId shared(const std::string& key, Tensor tensor);

  const Checkpoint& checkpoint_;
  EncoderConfig config_;
  std::string prefix_;
  Graph graph_;
  std::set<std::string> used_;
  std::map<std::string, ValueId> weights_;  ///< by name, and by use ("name^T")
  /// Large weights of equal content are one constant.
  std::map<std::tuple<Hash128, std::string>, ValueId> by_content_;
  std::map<std::string, std::string> ignored_;  ///< prefix → reason
};

}  // namespace assay
