#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"
#include "text/byte_trie.h"
#include "text/model.h"

namespace assay::text {
namespace {

/// Greedy longest match from the left (Wu et al. 2016, as BERT applies it); a word that cannot be covered is one
/// unknown token.
class WordPiece final : public Model {
 public:
  explicit WordPiece(const JsonAt& json)
      : vocabulary_(Vocabulary::read(json.at("vocab"))),
        unknown_token_(json.at("unk_token").string()),
        unknown_(vocabulary_.id_of(unknown_token_)) {
    const auto prefix = json.find("continuing_subword_prefix");
    const std::string continuing = prefix ? prefix->string() : "##";
    const auto most = json.find("max_input_chars_per_word");
    max_chars_ = most ? most->u32() : 100;
    for (const auto& [token, id] : vocabulary_.ids()) {
      if (!token.empty()) first_.insert(token, id);
      if (token.size() > continuing.size() && token.starts_with(continuing))
        next_.insert(std::string_view(token).substr(continuing.size()), id);
    }
  }

  void tokenize(std::string_view word, std::vector<WordToken>& out) const override {
    const size_t before = out.size();
    if (!too_long(word)) {
      uint32_t at = 0;
      while (at < word.size()) {
        const auto match = (at == 0 ? first_ : next_).longest(word.substr(at));
        if (!match) break;
        out.push_back({match->value, {at, at + match->length}});
        at += match->length;
      }
      if (at == word.size()) return;
      out.resize(before);
    }
    if (!unknown_) {
      fail(ErrorCode::kBadFile, "$.model: unk_token '{}' is not in the vocabulary, and the word '{}' needs it",
           unknown_token_, word.substr(0, 40));
    }
    out.push_back({*unknown_, {0, static_cast<uint32_t>(word.size())}});
  }

  const Vocabulary& vocabulary() const override { return vocabulary_; }

 private:
  bool too_long(std::string_view word) const {
    if (word.size() <= max_chars_) return false;
    const auto chars = std::count_if(word.begin(), word.end(), [](char c) { return (c & 0xC0) != 0x80; });
    return static_cast<size_t>(chars) > max_chars_;
  }

  Vocabulary vocabulary_;
  std::string unknown_token_;
  std::optional<uint32_t> unknown_;
  uint32_t max_chars_ = 100;
  ByteTrie first_, next_;
};

}  // namespace

std::unique_ptr<const Model> read_wordpiece(const JsonAt& json) { return std::make_unique<WordPiece>(json); }

}  // namespace assay::text
