#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "text/encoding.h"
#include "text/json_reader.h"
#include "text/vocabulary.h"

namespace assay::text {

/// A token of a word: its id and its byte range within the word.
struct WordToken {
  uint32_t id;
  Span bytes;
};

/// Cuts one word into tokens of a vocabulary. Thread-safe.
class Model {
 public:
  virtual ~Model() = default;
  /// Appends the tokens of a non-empty word of valid UTF-8.
  virtual void tokenize(std::string_view word, std::vector<WordToken>& out) const = 0;
  virtual const Vocabulary& vocabulary() const = 0;
};

/// Reads a `model` member: WordPiece or BPE (Unigram and WordLevel are refused by name). Throws BadFile or Unsupported
/// with the JSON path.
std::unique_ptr<const Model> read_model(const JsonAt& json);
std::unique_ptr<const Model> read_wordpiece(const JsonAt& json);
std::unique_ptr<const Model> read_bpe(const JsonAt& json);

}  // namespace assay::text
