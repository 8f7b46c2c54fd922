#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/encoding.h"

namespace assay::text {

/// What Split finds: either a literal or a regular expression in Oniguruma's syntax.
class Pattern {
 public:
  virtual ~Pattern() = default;
  /// All matches in valid UTF-8, left to right, not overlapping, as byte ranges appended to `out`. Empty matches are
  /// kept where Oniguruma's users see them (not directly after another match). Thread-safe. Throws ResourceExhausted
  /// for a pattern that backtracks without end.
  virtual void find(std::string_view text, std::vector<Span>& out) const = 0;
};

/// A literal. The empty literal matches between all characters.
std::unique_ptr<const Pattern> literal_pattern(std::string literal);
/// A regular expression. The patterns of GPT-2, Llama 3 and Qwen2 are recognized and run by scanners of our own, all
/// others by Oniguruma, with classes such as \p{L} by the Unicode version that the `tokenizers` package carries. Throws
/// BadFile with Oniguruma's words for an expression that does not compile.
std::unique_ptr<const Pattern> regex_pattern(const std::string& expression);
/// The pattern of GPT-2, as the ByteLevel pre-tokenizer applies it.
const Pattern& gpt2_pattern();

/// As regex_pattern, but always by Oniguruma: what tests hold the scanners against.
std::unique_ptr<const Pattern> oniguruma_pattern(const std::string& expression);

/// What becomes of the matches when a text is split at them.
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

/// Splits a text of `size` bytes at `matches` (in order) and appends the parts, some of which may be empty. `invert`
/// takes what lies between the matches for the delimiters.
void split_at(std::vector<Span> matches, uint32_t size, SplitBehavior behavior, bool invert, std::vector<Span>& out);

}  // namespace assay::text
