#include "models/bert_family.h"

#include <nlohmann/json.hpp>

#include "models/config.h"

namespace assay {

EncoderConfig bert_config(const Checkpoint& checkpoint) {
  const auto& config = checkpoint.config;
  const auto positions = config_text_or(config, "position_embedding_type", "absolute");
  require(positions == "absolute", ErrorCode::kUnsupported,
          "position_embedding_type '{}' is not supported; supported: absolute", positions);
  for (const char* flag : {"is_decoder", "add_cross_attention"})
    require(!config_flag_or(config, flag, false), ErrorCode::kUnsupported,
            "config field '{}' is true: only encoders are supported", flag);
  EncoderConfig out;
  constexpr int64_t kMost = 1 << 24;
  out.vocab = config_int(config, "vocab_size", 1, kMost);
  out.hidden = config_int(config, "hidden_size", 1, 1 << 20);
  out.layers = config_int(config, "num_hidden_layers", 0, 1 << 12);
  out.heads = config_int(config, "num_attention_heads", 1, 1 << 16);
  out.intermediate = config_int(config, "intermediate_size", 1, kMost);
  out.positions = config_int(config, "max_position_embeddings", 1, kMost);
  out.layer_norm_eps = static_cast<float>(config_float_or(config, "layer_norm_eps", 1e-12));
  out.activation = activation_of(config_text_or(config, "hidden_act", "gelu"));
  return out;
}

std::string bert_prefix(const Checkpoint& checkpoint, std::string_view with_head) {
  const auto it = checkpoint.weights.tensors().lower_bound(std::string(with_head));
  const bool found = it != checkpoint.weights.tensors().end() && it->first.compare(0, with_head.size(), with_head) == 0;
  const bool bare = checkpoint.weights.tensors().count("embeddings.word_embeddings.weight") != 0;
  return found || !bare ? std::string(with_head) : std::string();
}

LayerNames bert_layer_names(int64_t i) {
  const std::string layer = fmt::format("encoder.layer.{}.", i);
  return {layer + "attention.self.query",
          layer + "attention.self.key",
          layer + "attention.self.value",
          layer + "attention.output.dense",
          layer + "attention.output.LayerNorm",
          layer + "intermediate.dense",
          layer + "output.dense",
          layer + "output.LayerNorm"};
}

}  // namespace assay
