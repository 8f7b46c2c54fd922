#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "text/byte_trie.h"
#include "text/normalizers.h"
#include "text/pre_tokenizers.h"
#include "text/utf8.h"
#include "text/vocabulary.h"

namespace assay::text {

/// A token cut out of the text before the model sees it.
struct AddedToken {
  std::string content;
  bool single_word = false;  ///< only where no word character touches it
  bool lstrip = false;       ///< takes the white space to its left along
  bool rstrip = false;       ///< takes the white space to its right along
  bool normalized = true;    ///< matched in normalized text, by its normalized spelling
  bool special = false;      ///< left out by decode on request
};

/// The `added_tokens` of a file.
class AddedVocabulary {
 public:
  AddedVocabulary() = default;
  /// `normalizer` may be null. An id is that of the same spelling in the model, else the next free one; what the file
  /// says is ignored, as the `tokenizers` package does.
  AddedVocabulary(const JsonAt& json, const Vocabulary& model, const Normalizer* normalizer);

  /// Cuts out the added tokens, and normalizes what lies between them.
  PreTokenized extract(std::string_view source, const Normalizer* normalizer) const;

  std::optional<uint32_t> id_of(std::string_view content) const;
  /// Spelling of an added token in normalized text, or null.
  const std::string* token_of(uint32_t id) const;
  bool is_special(std::string_view content) const { return special_.find(content) != special_.end(); }
  const StringMap<uint32_t>& ids() const { return ids_; }

 private:
  struct Part {
    Span bytes;
    int64_t id;  // -1 between tokens
  };
  class Matcher {
   public:
    void add(std::string_view content, uint32_t id);
    bool empty() const { return trie_.empty(); }
    std::optional<ByteTrie::Match> at(std::string_view text, size_t where) const {
      if (!first_[static_cast<unsigned char>(text[where])]) return std::nullopt;
      return trie_.longest(text.substr(where));
    }

   private:
    std::array<bool, 256> first_{};
    ByteTrie trie_;
  };

  void cut(std::string_view text, const Matcher& matcher, std::vector<Part>& out) const;
  /// Adds a normalized range as pieces, with the added tokens that are matched in normalized text cut out.
  void add_pieces(PreTokenized& out, Span bytes) const;

  StringMap<uint32_t> ids_;
  std::unordered_map<uint32_t, AddedToken> tokens_;
  std::unordered_map<uint32_t, std::string> normalized_;  // spellings that normalization changes
  std::unordered_set<std::string, StringHash, std::equal_to<>> special_;
  Matcher raw_, after_;
};

}  // namespace assay::text
