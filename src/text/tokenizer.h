#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/encoding.h"

namespace assay::text {

enum class Side { kLeft, kRight };

/// Which text of a pair gives way when both are too long together.
enum class TruncationStrategy { kLongestFirst, kOnlyFirst, kOnlySecond };

/// `max_length` counts the special tokens that will be added. `stride` tokens of a window are repeated at the start of
/// the next one. `side` is the side that is cut off.
struct Truncation {
  size_t max_length = 512;
  size_t stride = 0;
  TruncationStrategy strategy = TruncationStrategy::kLongestFirst;
  Side side = Side::kRight;
};

/// How to fill up to a common length. `fixed_length` absent: the longest of the batch.
struct Padding {
  std::optional<size_t> fixed_length;
  std::optional<size_t> multiple_of;
  Side side = Side::kRight;
  uint32_t id = 0;
  uint32_t type_id = 0;
  std::string token = "[PAD]";
};

/// How to encode; what the file does not say.
struct EncodeOptions {
  /// Let the post-processor add its special tokens ([CLS], </s>, ...).
  bool add_special_tokens = true;
  /// Absent: nothing is cut, whatever the file says (pass `tokenizer.truncation()` to follow the file).
  std::optional<Truncation> truncation;
};

/// A tokenizer read from a Hugging Face `tokenizer.json`: WordPiece or BPE with the normalizers, pre-tokenizers,
/// post-processors and decoders that BERT, DistilBERT, RoBERTa, GPT-2, Llama, SmolLM2 and Qwen2 files use. Gives the
/// ids, type ids, masks, offsets and overflow windows of the `tokenizers` Python package.
///
/// Text is UTF-8. Each byte that is not part of a valid sequence is read as U+FFFD, by maximal subparts as Python's
/// `errors="replace"` does; code point offsets then count in that replaced text, byte offsets in the bytes given.
/// Const members may be called from many threads at once.
class Tokenizer {
 public:
  /// Reads a file, or a folder that holds `tokenizer.json`. Throws NotFound, BadFile (with the JSON path of what is
  /// wrong) or Unsupported (naming the component and its JSON path).
  static Tokenizer load(const std::filesystem::path& path);
  /// The same from JSON text.
  static Tokenizer parse(std::string_view json);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  /// Encodes one text. Throws InvalidArgument when the truncation asked for is impossible (stride above the room left
  /// by special tokens, kOnlySecond without a second text, a text too short to give way), ResourceExhausted for a text
  /// beyond 64 MiB or one that makes more than 100,000 windows.
  Encoding encode(std::string_view text, const EncodeOptions& options = {}) const;
  /// Encodes a pair (question and passage, premise and hypothesis).
  Encoding encode(std::string_view first, std::string_view second, const EncodeOptions& options = {}) const;

  /// The text of ids; unknown ids are skipped. `skip_special_tokens` leaves out added tokens marked special.
  std::string decode(std::span<const uint32_t> ids, bool skip_special_tokens = true) const;

  /// Id of a token as spelled in the vocabulary or among the added tokens.
  std::optional<uint32_t> token_to_id(std::string_view token) const;
  /// Spelling of an id.
  std::optional<std::string> id_to_token(uint32_t id) const;
  /// Number of tokens, with or without those added on top of the model's vocabulary.
  size_t vocab_size(bool with_added_tokens = true) const;
  /// How many special tokens the post-processor adds to one text or to a pair.
  size_t added_token_count(bool pair) const;

  /// The `truncation` and `padding` members of the file.
  const std::optional<Truncation>& truncation() const;
  const std::optional<Padding>& padding() const;

  /// The components, for this room alone.
  struct Parts;

 private:
  explicit Tokenizer(std::unique_ptr<const Parts> parts);
  std::unique_ptr<const Parts> parts_;
};

/// The encoding followed by its overflow windows, in order, as one list without nesting: what a task that slides a
/// window over a long passage feeds to the model.
std::vector<Encoding> take_windows(Encoding encoding);

/// Pads one encoding (and its overflow windows) to `length` tokens; longer ones are left alone.
void pad(Encoding& encoding, size_t length, const Padding& padding);
/// Pads a batch to padding.fixed_length or to its longest member, rounded up to padding.multiple_of.
void pad_batch(std::span<Encoding> batch, const Padding& padding);

}  // namespace assay::text
