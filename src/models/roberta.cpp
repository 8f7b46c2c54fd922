#include <nlohmann/json.hpp>

#include "models/bert_family.h"
#include "models/config.h"

namespace assay {
namespace {

/// Positions count the tokens that are not padding, from the one after the padding id; padding itself has position
/// pad_id: cumsum(ids ≠ pad) · (ids ≠ pad) + pad.
ValueId positions(EncoderBuilder& b, ValueId ids, int64_t pad) {
  const std::string path = b.encoder("embeddings");
  const ValueId pad_id = b.constant("pad_id", Tensor::scalar(pad));
  ValueId real = b.node(path, "Equal", {ids, pad_id});
  real = b.node(path, "Not", {real});
  real = b.node(path, "Cast", {real}, {}, {{"to", static_cast<int64_t>(DType::kInt64)}});
  const ValueId count = b.node(path, "CumSum", {real, b.constant("cumsum_axis", Tensor::scalar<int64_t>(1))});
  const ValueId kept = b.node(path, "Mul", {count, real});
  return b.node(path, "Add", {kept, pad_id}, "position_ids/Add");
}

/// RoBERTa (Liu et al. 2019) as in transformers' modeling_roberta.py.
Graph build(const Checkpoint& c) {
  const EncoderHead head = head_of(c.config, "Roberta");
  const int64_t pad = config_int_or(c.config, "pad_token_id", 0, 1 << 24, 1);
  EncoderBuilder b(c, bert_config(c), bert_prefix(c, "roberta."));
  require(b.config().positions > pad + 1, ErrorCode::kBadFile,
          "max_position_embeddings {} leaves no position after padding id {}", b.config().positions, pad);
  const int64_t kinds = config_int_or(c.config, "type_vocab_size", 1, 1 << 16, 2);
  const ValueId ids = b.input("input_ids");
  const ValueId mask = b.input("attention_mask");
  const std::string path = b.encoder("embeddings");
  const std::string kind_table = path + ".token_type_embeddings";
  const ValueId words = b.embedding(path + ".word_embeddings", b.config().vocab, ids);
  // With one token type there is nothing to choose: its row is added to every token.
  const ValueId kind = kinds == 1 ? b.weight(kind_table + ".weight", Shape{1, b.config().hidden})
                                  : b.embedding(kind_table, kinds, b.input("token_type_ids"));
  const ValueId places = b.embedding(path + ".position_embeddings", b.config().positions, positions(b, ids, pad));
  c.info.type_vocab_size = kinds == 1 ? 0 : kinds;
  ValueId x = b.node(path, "Add", {words, kind});
  x = b.node(path, "Add", {x, places}, "Add_1");
  x = b.layer_norm(path + ".LayerNorm", x);
  x = b.layers(x, b.additive_mask(mask), bert_layer_names);

  b.ignore(b.encoder("pooler."), "the pooler is not used by this head");
  switch (head) {
    case EncoderHead::kNone:
      b.ignore("lm_head.", "the masked-language head is not part of the encoder");
      b.output("last_hidden_state", x, {{-1, "batch"}, {-1, "sequence"}, {b.config().hidden, ""}});
      break;
    case EncoderHead::kQuestionAnswering:
      b.question_answering("qa_outputs", x);
      break;
    case EncoderHead::kTokenClassification:
      b.classifier("classifier", x, true);
      break;
    case EncoderHead::kSequenceClassification: {
      const ValueId first = b.first_token("classifier", x);
      const ValueId dense = b.linear("classifier.dense", first, b.config().hidden, b.config().hidden);
      b.classifier("classifier.out_proj", b.node("classifier", "Tanh", {dense}), false);
      break;
    }
  }
  return b.finish();
}

const ArchitectureRegistration kRoberta({"roberta", build});

}  // namespace
}  // namespace assay
