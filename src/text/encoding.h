#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace assay::text {

/// A half-open range [begin, end).
struct Span {
  uint32_t begin = 0, end = 0;
  bool operator==(const Span&) const = default;
};

/// What a tokenizer makes of one text or one pair of texts: parallel vectors, one entry a token.
struct Encoding {
  std::vector<uint32_t> ids;
  std::vector<uint32_t> type_ids;
  /// The token as the vocabulary spells it ("##ing"), or the matched text of an added token.
  std::vector<std::string> tokens;
  /// Where the token came from, in Unicode code points of the *original* text of its sequence (see sequence_ids); {0,
  /// 0} for tokens that the post-processor or padding added.
  std::vector<Span> offsets;
  /// The same ranges in UTF-8 bytes of the original text.
  std::vector<Span> byte_offsets;
  /// Index of the pre-tokenized word within its sequence, -1 for added and padding tokens.
  std::vector<int32_t> word_ids;
  /// 0 for the first text, 1 for the second, -1 for added and padding tokens.
  std::vector<int8_t> sequence_ids;
  /// 1 for tokens that the post-processor or padding added.
  std::vector<uint8_t> special_tokens_mask;
  /// 0 for padding, 1 elsewhere.
  std::vector<uint8_t> attention_mask;
  /// What truncation cut off, as further windows (Truncation::stride tokens shared between neighbours), each with its
  /// special tokens; empty without truncation. Windows never nest.
  std::vector<Encoding> overflowing;

  size_t size() const { return ids.size(); }
  bool empty() const { return ids.empty(); }
};

}  // namespace assay::text
