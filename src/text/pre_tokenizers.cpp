#include "text/pre_tokenizers.h"

#include <utility>

#include "text/byte_level.h"
#include "text/char_class.h"
#include "text/pattern_json.h"
#include "text/utf8.h"

namespace assay::text {
namespace {

/// Every character with one of `bits`, as a match of its own.
void find_chars(std::string_view text, uint16_t bits, std::vector<Span>& out) {
  for (size_t at = 0; at < text.size();) {
    const auto begin = static_cast<uint32_t>(at);
    if (char_bits(next_char(text, at)) & bits) out.push_back({begin, static_cast<uint32_t>(at)});
  }
}

SplitBehavior read_behavior(const JsonAt& json) {
  const std::string& name = json.string();
  if (name == "Removed") return SplitBehavior::kRemoved;
  if (name == "Isolated") return SplitBehavior::kIsolated;
  if (name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  if (name == "Contiguous") return SplitBehavior::kContiguous;
  json.bad("unknown behavior '{}' (known: Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous)", name);
}

/// White space removed, each punctuation character on its own.
class BertPreTokenizer final : public PreTokenizer {
 public:
  void pre_tokenize(PreTokenized& text) const override {
    text.split([](std::string_view piece, std::vector<Span>& out) {
      uint32_t word = 0;
      for (size_t at = 0; at < piece.size();) {
        const auto begin = static_cast<uint32_t>(at);
        const uint16_t bits = char_bits(next_char(piece, at));
        if ((bits & (kWhiteBit | kPunctuationBit)) == 0) continue;
        out.push_back({word, begin});
        word = static_cast<uint32_t>(at);
        if ((bits & kWhiteBit) == 0) out.push_back({begin, word});
      }
      out.push_back({word, static_cast<uint32_t>(piece.size())});
    });
  }
};

/// Splits at the characters of a class.
class ClassSplit final : public PreTokenizer {
 public:
  ClassSplit(uint16_t bits, SplitBehavior behavior) : bits_(bits), behavior_(behavior) {}
  void pre_tokenize(PreTokenized& text) const override {
    text.split([this](std::string_view piece, std::vector<Span>& out) {
      std::vector<Span> matches;
      find_chars(piece, bits_, matches);
      split_at(std::move(matches), static_cast<uint32_t>(piece.size()), behavior_, false, out);
    });
  }

 private:
  uint16_t bits_;
  SplitBehavior behavior_;
};

/// \w+|[^\w\s]+ : runs of word characters and runs of symbols.
class Whitespace final : public PreTokenizer {
 public:
  void pre_tokenize(PreTokenized& text) const override {
    text.split([](std::string_view piece, std::vector<Span>& out) {
      uint16_t previous = kWhiteBit;
      for (size_t at = 0; at < piece.size();) {
        const auto begin = static_cast<uint32_t>(at);
        const uint16_t bits = char_bits(next_char(piece, at));
        const uint16_t kind = bits & kWordBit ? kWordBit : bits & kWhiteBit;
        if (kind != kWhiteBit) {
          if (kind != previous || out.empty()) out.push_back({begin, begin});
          out.back().end = static_cast<uint32_t>(at);
        }
        previous = kind;
      }
    });
  }
};

class PatternSplit final : public PreTokenizer {
 public:
  explicit PatternSplit(const JsonAt& json)
      : pattern_(read_pattern(json.at("pattern"))),
        behavior_(read_behavior(json.at("behavior"))),
        invert_(json.boolean_or("invert", false)) {}
  void pre_tokenize(PreTokenized& text) const override {
    text.split([this](std::string_view piece, std::vector<Span>& out) {
      std::vector<Span> matches;
      pattern_->find(piece, matches);
      split_at(std::move(matches), static_cast<uint32_t>(piece.size()), behavior_, invert_, out);
    });
  }

 private:
  std::unique_ptr<const Pattern> pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

class ByteLevelPreTokenizer final : public PreTokenizer {
 public:
  explicit ByteLevelPreTokenizer(const JsonAt& json)
      : prefix_(json.boolean_or("add_prefix_space", true)), regex_(json.boolean_or("use_regex", true)) {}

  void pre_tokenize(PreTokenized& text) const override {
    if (prefix_) {
      text.rewrite([&](const PreTokenized::Piece& piece, PreTokenized::Writer& out) {
        if (!text.text(piece).starts_with(' ')) out.put(" ", text.source_at(piece.bytes.begin));
        text.copy(piece, out);
      });
    }
    if (regex_) {
      text.split([](std::string_view piece, std::vector<Span>& out) { gpt2_pattern().find(piece, out); });
    }
    text.rewrite([&](const PreTokenized::Piece& piece, PreTokenized::Writer& out) {
      const std::string_view bytes = text.text(piece);
      for (size_t i = 0; i < bytes.size(); ++i)
        out.put(byte_to_utf8(static_cast<uint8_t>(bytes[i])),
                text.source_at(piece.bytes.begin + static_cast<uint32_t>(i)));
    });
  }

 private:
  bool prefix_, regex_;
};

class Metaspace final : public PreTokenizer {
 public:
  explicit Metaspace(const JsonAt& json) : scheme_(read_prepend_scheme(json)), split_(json.boolean_or("split", true)) {
    append_char(replacement_, json.at("replacement").character());
  }

  void pre_tokenize(PreTokenized& text) const override {
    text.rewrite([&](const PreTokenized::Piece& piece, PreTokenized::Writer& out) {
      const std::string_view bytes = text.text(piece);
      const bool marked = bytes.starts_with(' ') || bytes.starts_with(replacement_);
      if (!marked && (scheme_ == PrependScheme::kAlways || (scheme_ == PrependScheme::kFirst && piece.origin == 0)))
        out.put(replacement_, text.source_at(piece.bytes.begin));
      for (size_t i = 0; i < bytes.size(); ++i) {
        const Span source = text.source_at(piece.bytes.begin + static_cast<uint32_t>(i));
        out.put(bytes[i] == ' ' ? std::string_view(replacement_) : bytes.substr(i, 1), source);
      }
    });
    if (!split_) return;
    text.split([&](std::string_view piece, std::vector<Span>& out) {
      std::vector<Span> matches;
      for (size_t at = piece.find(replacement_); at != std::string_view::npos; at = piece.find(replacement_, at + 1))
        matches.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(at + replacement_.size())});
      split_at(std::move(matches), static_cast<uint32_t>(piece.size()), SplitBehavior::kMergedWithNext, false, out);
    });
  }

 private:
  std::string replacement_;
  PrependScheme scheme_;
  bool split_;
};

class PreTokenizerSequence final : public PreTokenizer {
 public:
  explicit PreTokenizerSequence(const JsonAt& list) {
    for (size_t i = 0; i < list.array_size(); ++i) steps_.push_back(read_pre_tokenizer(list.at(i)));
  }
  void pre_tokenize(PreTokenized& text) const override {
    for (const auto& step : steps_) step->pre_tokenize(text);
  }

 private:
  std::vector<std::unique_ptr<const PreTokenizer>> steps_;
};

}  // namespace

PrependScheme read_prepend_scheme(const JsonAt& json) {
  PrependScheme scheme = PrependScheme::kAlways;
  if (const auto member = json.find("prepend_scheme")) {
    const std::string& name = member->string();
    if (name == "first") {
      scheme = PrependScheme::kFirst;
    } else if (name == "never") {
      scheme = PrependScheme::kNever;
    } else if (name != "always") {
      member->bad("unknown prepend_scheme '{}' (known: always, first, never)", name);
    }
  } else if (!json.boolean_or("add_prefix_space", true)) {
    scheme = PrependScheme::kNever;
  }
  return scheme;
}

std::unique_ptr<const PreTokenizer> read_pre_tokenizer(const JsonAt& json) {
  const std::string& type = json.type();
  if (type == "BertPreTokenizer") return std::make_unique<BertPreTokenizer>();
  if (type == "ByteLevel") return std::make_unique<ByteLevelPreTokenizer>(json);
  if (type == "Split") return std::make_unique<PatternSplit>(json);
  if (type == "Digits") {
    const bool each = json.boolean_or("individual_digits", false);
    return std::make_unique<ClassSplit>(kNumericBit, each ? SplitBehavior::kIsolated : SplitBehavior::kContiguous);
  }
  if (type == "Punctuation") {
    const auto behavior = json.find("behavior");
    return std::make_unique<ClassSplit>(kPunctuationBit,
                                        behavior ? read_behavior(*behavior) : SplitBehavior::kIsolated);
  }
  if (type == "Whitespace") return std::make_unique<Whitespace>();
  if (type == "WhitespaceSplit") return std::make_unique<ClassSplit>(kWhiteBit, SplitBehavior::kRemoved);
  if (type == "Metaspace") return std::make_unique<Metaspace>(json);
  if (type == "Sequence") return std::make_unique<PreTokenizerSequence>(json.at("pretokenizers"));
  json.unsupported("pre_tokenizer");
}

}  // namespace assay::text
