#include <nlohmann/json.hpp>

#include "models/bert_family.h"
#include "models/config.h"

namespace assay {
namespace {

/// BERT (Devlin et al. 2018) as in transformers' modeling_bert.py.
Graph build(const Checkpoint& c) {
  const EncoderHead head = head_of(c.config, "Bert");
  EncoderBuilder b(c, bert_config(c), bert_prefix(c, "bert."));
  const ValueId ids = b.input("input_ids");
  const ValueId mask = b.input("attention_mask");
  const ValueId types = b.input("token_type_ids");
  c.info.type_vocab_size = config_int_or(c.config, "type_vocab_size", 1, 1 << 16, 2);
  const std::string path = b.encoder("embeddings");
  const ValueId words = b.embedding(path + ".word_embeddings", b.config().vocab, ids);
  const ValueId kinds = b.embedding(path + ".token_type_embeddings", c.info.type_vocab_size, types);
  const ValueId places = b.embedding(path + ".position_embeddings", b.config().positions, b.positions(ids));
  ValueId x = b.node(path, "Add", {words, kinds});
  x = b.node(path, "Add", {x, places}, "Add_1");
  x = b.layer_norm(path + ".LayerNorm", x);
  x = b.layers(x, b.additive_mask(mask), bert_layer_names);

  const std::string pooler = b.encoder("pooler");
  if (head != EncoderHead::kSequenceClassification) b.ignore(pooler + ".", "the pooler is not used by this head");
  switch (head) {
    case EncoderHead::kNone:
      b.ignore("cls.", "the pre-training heads are not part of the encoder");
      b.output("last_hidden_state", x, {{-1, "batch"}, {-1, "sequence"}, {b.config().hidden, ""}});
      break;
    case EncoderHead::kQuestionAnswering:
      b.question_answering("qa_outputs", x);
      break;
    case EncoderHead::kTokenClassification:
      b.classifier("classifier", x, true);
      break;
    case EncoderHead::kSequenceClassification: {
      const ValueId first = b.first_token(pooler, x);
      const ValueId dense = b.linear(pooler + ".dense", first, b.config().hidden, b.config().hidden);
      b.classifier("classifier", b.node(pooler + ".activation", "Tanh", {dense}), false);
      break;
    }
  }
  return b.finish();
}

const ArchitectureRegistration kBert({"bert", build});

}  // namespace
}  // namespace assay
