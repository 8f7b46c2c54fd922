#include "text/tokenizer_json.h"

#include <utility>

namespace assay::text {
namespace {

Side read_side(const JsonAt& json) {
  const auto member = json.find("direction");
  if (!member || member->string() == "Right") return Side::kRight;
  if (member->string() == "Left") return Side::kLeft;
  member->bad("unknown direction '{}' (known: Left, Right)", member->string());
}

Truncation read_truncation(const JsonAt& json) {
  Truncation out;
  out.max_length = json.at("max_length").u32();
  if (const auto stride = json.find("stride")) out.stride = stride->u32();
  out.side = read_side(json);
  if (const auto strategy = json.find("strategy")) {
    const std::string& name = strategy->string();
    if (name == "OnlyFirst") {
      out.strategy = TruncationStrategy::kOnlyFirst;
    } else if (name == "OnlySecond") {
      out.strategy = TruncationStrategy::kOnlySecond;
    } else if (name != "LongestFirst") {
      strategy->bad("unknown strategy '{}' (known: LongestFirst, OnlyFirst, OnlySecond)", name);
    }
  }
  return out;
}

Padding read_padding(const JsonAt& json) {
  Padding out;
  out.side = read_side(json);
  if (const auto strategy = json.find("strategy")) {
    if (strategy->is_object()) {
      out.fixed_length = strategy->at("Fixed").u32();
    } else if (strategy->string() != "BatchLongest") {
      strategy->bad("unknown strategy '{}' (known: BatchLongest, {{\"Fixed\": n}})", strategy->string());
    }
  }
  if (const auto multiple = json.find("pad_to_multiple_of")) out.multiple_of = multiple->u32();
  if (const auto id = json.find("pad_id")) out.id = id->u32();
  if (const auto type_id = json.find("pad_type_id")) out.type_id = type_id->u32();
  if (const auto token = json.find("pad_token")) out.token = token->string();
  return out;
}

}  // namespace

std::unique_ptr<const Tokenizer::Parts> Tokenizer::Parts::read(std::string_view json) {
  const nlohmann::json tree = parse_json(json);
  const JsonAt root(tree, "$");
  if (const auto version = root.find("version"); version && version->string() != "1.0")
    version->bad("unknown version '{}' (known: 1.0)", version->string());
  auto parts = std::make_unique<Parts>();
  if (const auto member = root.find("normalizer")) parts->normalizer = read_normalizer(*member);
  if (const auto member = root.find("pre_tokenizer")) parts->pre_tokenizer = read_pre_tokenizer(*member);
  parts->model = read_model(root.at("model"));
  if (const auto member = root.find("post_processor")) parts->post_processor = read_post_processor(*member);
  if (const auto member = root.find("decoder")) parts->decoder = read_decoder(*member);
  if (const auto member = root.find("added_tokens"))
    parts->added = AddedVocabulary(*member, parts->model->vocabulary(), parts->normalizer.get());
  if (const auto member = root.find("truncation")) parts->truncation = read_truncation(*member);
  if (const auto member = root.find("padding")) parts->padding = read_padding(*member);
  return parts;
}

}  // namespace assay::text
