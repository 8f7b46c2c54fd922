#include "text/post_processors.h"

#include <algorithm>
#include <string>
#include <utility>

#include "text/byte_level.h"
#include "text/char_class.h"
#include "text/encoding_ops.h"
#include "text/utf8.h"
#include "text/vocabulary.h"

namespace assay::text {
namespace {

struct SpecialToken {
  std::vector<uint32_t> ids;
  std::vector<std::string> tokens;
};

Encoding encoding_of(const SpecialToken& special, uint32_t type_id) {
  const size_t count = special.ids.size();
  Encoding out;
  out.ids = special.ids;
  out.type_ids.assign(count, type_id);
  out.tokens = special.tokens;
  out.offsets.resize(count);
  out.byte_offsets.resize(count);
  out.word_ids.assign(count, -1);
  out.sequence_ids.assign(count, -1);
  out.special_tokens_mask.assign(count, 1);
  out.attention_mask.assign(count, 1);
  return out;
}

void set_types(Encoding& encoding, uint32_t type_id) {
  std::fill(encoding.type_ids.begin(), encoding.type_ids.end(), type_id);
}

/// Takes leading and trailing white space, which byte-level tokens carry, out of the offsets.
void trim_offsets(Encoding& encoding, bool add_prefix_space) {
  const auto white = [space = byte_to_char(' ')](char32_t c) { return c == space || is_white(c); };
  for (size_t i = 0; i < encoding.size(); ++i) {
    const std::string& token = encoding.tokens[i];
    Span& span = encoding.offsets[i];
    uint32_t leading = 0, trailing = 0;
    for (size_t at = 0; at < token.size() && white(next_char(token, at));) ++leading;
    for (size_t at = token.size(); at > 0 && white(previous_char(token, at));) ++trailing;
    if (leading > 0) {
      // The space that the pre-tokenizer put in front of the text is not in the original.
      const bool first = i == 0 || span.begin == 0;
      if (first && add_prefix_space && leading == 1) leading = 0;
      span.begin = std::min(span.begin + leading, span.end);
    }
    if (trailing > 0 && span.end >= trailing) span.end = std::max(span.end - trailing, span.begin);
  }
  for (Encoding& window : encoding.overflowing) trim_offsets(window, add_prefix_space);
}

class ByteLevelProcessor final : public PostProcessor {
 public:
  explicit ByteLevelProcessor(const JsonAt& json)
      : prefix_(json.boolean_or("add_prefix_space", true)), trim_(json.boolean_or("trim_offsets", true)) {}
  size_t added_tokens(bool) const override { return 0; }
  void process(std::vector<Encoding>& encodings, bool) const override {
    if (!trim_) return;
    for (Encoding& encoding : encodings) trim_offsets(encoding, prefix_);
  }

 private:
  bool prefix_, trim_;
};

/// cls A sep (B sep), or with two separators between for RoBERTa.
class ClsSepProcessor final : public PostProcessor {
 public:
  ClsSepProcessor(const JsonAt& json, bool roberta)
      : cls_(read_token(json.at("cls"))),
        sep_(read_token(json.at("sep"))),
        roberta_(roberta),
        trim_(roberta && json.boolean_or("trim_offsets", true)),
        prefix_(json.boolean_or("add_prefix_space", true)) {}

  size_t added_tokens(bool pair) const override { return pair ? (roberta_ ? 4 : 3) : 2; }
  bool needs_texts() const override { return true; }

  void process(std::vector<Encoding>& encodings, bool add_special_tokens) const override {
    for (Encoding& encoding : encodings) {
      if (trim_) trim_offsets(encoding, prefix_);
      if (roberta_) set_types(encoding, 0);
    }
    if (!add_special_tokens) return;
    for (size_t i = 0; i < encodings.size(); ++i) {
      const bool second = i > 0;
      std::vector<Encoding> windows = std::exchange(encodings[i].overflowing, {});
      wrap(encodings[i], second);
      for (Encoding& window : windows) {
        if (roberta_) set_types(window, 0);
        wrap(window, second);
      }
      encodings[i].overflowing = std::move(windows);
    }
  }

 private:
  static SpecialToken read_token(const JsonAt& json) {
    if (json.array_size() != 2) json.bad("expected a token and its id");
    return {{json.at(1).u32()}, {json.at(0).string()}};
  }
  void wrap(Encoding& encoding, bool second) const {
    Encoding out;
    if (!second) {
      out = encoding_of(cls_, 0);
    } else if (roberta_) {
      out = encoding_of(sep_, 0);
    }
    append(out, std::move(encoding));
    append(out, encoding_of(sep_, second && !roberta_ ? 1 : 0));
    encoding = std::move(out);
  }

  SpecialToken cls_, sep_;
  bool roberta_, trim_, prefix_;
};

class TemplateProcessor final : public PostProcessor {
 public:
  explicit TemplateProcessor(const JsonAt& json) {
    const JsonAt specials = json.at("special_tokens");
    if (!specials.is_object()) specials.bad("expected an object, found {}", specials.value().type_name());
    for (const auto& [name, value] : specials.value().items()) {
      const JsonAt member(value, specials.path() + "." + name);
      SpecialToken special;
      const JsonAt ids = member.at("ids"), tokens = member.at("tokens");
      for (size_t i = 0; i < ids.array_size(); ++i) special.ids.push_back(ids.at(i).u32());
      for (size_t i = 0; i < tokens.array_size(); ++i) special.tokens.push_back(tokens.at(i).string());
      if (special.ids.size() != special.tokens.size())
        member.bad("{} ids for {} tokens", special.ids.size(), special.tokens.size());
      specials_[name] = std::move(special);
    }
    read_template(json.at("single"), false, single_);
    read_template(json.at("pair"), true, pair_);
  }

  size_t added_tokens(bool pair) const override {
    size_t count = 0;
    for (const Piece& piece : pair ? pair_ : single_)
      if (piece.special != nullptr) count += piece.special->ids.size();
    return count;
  }
  bool needs_texts() const override { return true; }
  bool reshapes() const override { return true; }

  void process(std::vector<Encoding>& encodings, bool add_special_tokens) const override {
    std::vector<Encoding> out;
    for (const Piece& piece : encodings.size() > 1 ? pair_ : single_) {
      if (piece.special == nullptr) {
        Encoding& text = encodings[piece.text];
        set_types(text, piece.type_id);
        out.push_back(text);
      } else if (add_special_tokens) {
        out.push_back(encoding_of(*piece.special, piece.type_id));
      }
    }
    encodings = std::move(out);
  }

 private:
  struct Piece {
    const SpecialToken* special = nullptr;  // else a text
    size_t text = 0;
    uint32_t type_id = 0;
  };
  static constexpr size_t kMaxPieces = 64;

  void read_template(const JsonAt& json, bool pair, std::vector<Piece>& out) const {
    if (json.array_size() > kMaxPieces) json.bad("more than {} pieces", kMaxPieces);
    for (size_t i = 0; i < json.array_size(); ++i) {
      const JsonAt element = json.at(i);
      Piece piece;
      if (const auto special = element.find("SpecialToken")) {
        const JsonAt id = special->at("id");
        const auto it = specials_.find(id.string());
        if (it == specials_.end()) id.bad("special token '{}' is not among special_tokens", id.string());
        piece.special = &it->second;
        piece.type_id = special->at("type_id").u32();
      } else {
        const JsonAt sequence = element.at("Sequence");
        const JsonAt id = sequence.at("id");
        if (id.string() != "A" && id.string() != "B") id.bad("expected 'A' or 'B', found '{}'", id.string());
        piece.text = id.string() == "A" ? 0 : 1;
        if (piece.text == 1 && !pair) id.bad("a template for one text cannot use 'B'");
        piece.type_id = sequence.at("type_id").u32();
      }
      out.push_back(piece);
    }
  }

  StringMap<SpecialToken> specials_;
  std::vector<Piece> single_, pair_;  // point into specials_
};

class ProcessorSequence final : public PostProcessor {
 public:
  explicit ProcessorSequence(const JsonAt& list) {
    for (size_t i = 0; i < list.array_size(); ++i) {
      steps_.push_back(read_post_processor(list.at(i)));
      if (reshapes_ && steps_.back()->needs_texts())
        list.at(i).bad("cannot follow a TemplateProcessing, which has joined the texts already");
      reshapes_ = reshapes_ || steps_.back()->reshapes();
      needs_texts_ = needs_texts_ || steps_.back()->needs_texts();
    }
  }
  size_t added_tokens(bool pair) const override {
    size_t count = 0;
    for (const auto& step : steps_) count += step->added_tokens(pair);
    return count;
  }
  void process(std::vector<Encoding>& encodings, bool add_special_tokens) const override {
    for (const auto& step : steps_) step->process(encodings, add_special_tokens);
  }
  bool needs_texts() const override { return needs_texts_; }
  bool reshapes() const override { return reshapes_; }

 private:
  std::vector<std::unique_ptr<const PostProcessor>> steps_;
  bool reshapes_ = false, needs_texts_ = false;
};

}  // namespace

std::unique_ptr<const PostProcessor> read_post_processor(const JsonAt& json) {
  const std::string& type = json.type();
  if (type == "TemplateProcessing") return std::make_unique<TemplateProcessor>(json);
  if (type == "BertProcessing") return std::make_unique<ClsSepProcessor>(json, false);
  if (type == "RobertaProcessing") return std::make_unique<ClsSepProcessor>(json, true);
  if (type == "ByteLevel") return std::make_unique<ByteLevelProcessor>(json);
  if (type == "Sequence") return std::make_unique<ProcessorSequence>(json.at("processors"));
  json.unsupported("post_processor");
}

}  // namespace assay::text
