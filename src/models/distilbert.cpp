#include <nlohmann/json.hpp>

#include "models/bert_family.h"
#include "models/config.h"

namespace assay {
namespace {

LayerNames layer_names(int64_t i) {
  const std::string layer = fmt::format("transformer.layer.{}.", i);
  return {layer + "attention.q_lin", layer + "attention.k_lin", layer + "attention.v_lin", layer + "attention.out_lin",
          layer + "sa_layer_norm",   layer + "ffn.lin1",        layer + "ffn.lin2",        layer + "output_layer_norm"};
}

/// DistilBERT (Sanh et al. 2019) as in transformers' modeling_distilbert.py: no token types, no pooler. Sinusoidal
/// positions are stored like learned ones.
Graph build(const Checkpoint& c) {
  const EncoderHead head = head_of(c.config, "DistilBert");
  EncoderConfig config;
  constexpr int64_t kMost = 1 << 24;
  config.vocab = config_int(c.config, "vocab_size", 1, kMost);
  config.hidden = config_int(c.config, "dim", 1, 1 << 20);
  config.layers = config_int(c.config, "n_layers", 0, 1 << 12);
  config.heads = config_int(c.config, "n_heads", 1, 1 << 16);
  config.intermediate = config_int(c.config, "hidden_dim", 1, kMost);
  config.positions = config_int(c.config, "max_position_embeddings", 1, kMost);
  config.activation = activation_of(config_text_or(c.config, "activation", "gelu"));
  EncoderBuilder b(c, config, bert_prefix(c, "distilbert."));
  const ValueId ids = b.input("input_ids");
  const ValueId mask = b.input("attention_mask");
  c.info.type_vocab_size = 0;
  const std::string path = b.encoder("embeddings");
  const ValueId words = b.embedding(path + ".word_embeddings", config.vocab, ids);
  const ValueId places = b.embedding(path + ".position_embeddings", config.positions, b.positions(ids));
  ValueId x = b.layer_norm(path + ".LayerNorm", b.node(path, "Add", {words, places}));
  x = b.layers(x, b.additive_mask(mask), layer_names);
  switch (head) {
    case EncoderHead::kNone:
      b.ignore("vocab_", "the masked-language head is not part of the encoder");
      b.output("last_hidden_state", x, {{-1, "batch"}, {-1, "sequence"}, {config.hidden, ""}});
      break;
    case EncoderHead::kQuestionAnswering:
      b.question_answering("qa_outputs", x);
      break;
    case EncoderHead::kTokenClassification:
      b.classifier("classifier", x, true);
      break;
    case EncoderHead::kSequenceClassification: {
      const ValueId first = b.first_token("pre_classifier", x);
      const ValueId dense = b.linear("pre_classifier", first, config.hidden, config.hidden);
      b.classifier("classifier", b.node("pre_classifier", "Relu", {dense}), false);
      break;
    }
  }
  return b.finish();
}

const ArchitectureRegistration kDistilBert({"distilbert", build});

}  // namespace
}  // namespace assay
