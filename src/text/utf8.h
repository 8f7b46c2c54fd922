#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/encoding.h"

namespace assay::text {

/// The longest text that one call takes, before and after normalization: alignments need eight bytes for each of its
/// bytes.
inline constexpr size_t kMaxTextBytes = size_t{1} << 26;

/// Number of bytes of the character that starts with this byte of valid UTF-8.
inline uint32_t utf8_length(unsigned char first) { return first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4; }

/// The character at `at` of valid UTF-8; advances `at` past it.
inline char32_t next_char(std::string_view text, size_t& at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char b = byte(at);
  if (b < 0x80) return byte(at++);
  if (b < 0xE0) {
    const char32_t c = (b & 0x1Fu) << 6 | (byte(at + 1) & 0x3Fu);
    at += 2;
    return c;
  }
  if (b < 0xF0) {
    const char32_t c = (b & 0x0Fu) << 12 | (byte(at + 1) & 0x3Fu) << 6 | (byte(at + 2) & 0x3Fu);
    at += 3;
    return c;
  }
  const char32_t c =
      (b & 0x07u) << 18 | (byte(at + 1) & 0x3Fu) << 12 | (byte(at + 2) & 0x3Fu) << 6 | (byte(at + 3) & 0x3Fu);
  at += 4;
  return c;
}

/// The character that ends before `at` (> 0) of valid UTF-8; moves `at` to its start.
inline char32_t previous_char(std::string_view text, size_t& at) {
  do --at;
  while ((static_cast<unsigned char>(text[at]) & 0xC0) == 0x80);
  size_t start = at;
  return next_char(text, start);
}

/// Appends a code point (below 0x110000, no surrogate) as UTF-8.
void append_char(std::string& out, char32_t c);

/// All of a text's code points.
std::u32string to_code_points(std::string_view valid);

/// Length of the valid sequence at `at`, or minus the length of the maximal invalid subpart there (Unicode 3.9, table
/// 3-8).
int utf8_step(std::string_view text, size_t at);
/// Length of the longest valid prefix.
size_t valid_prefix(std::string_view text);
/// The text with each maximal invalid subpart replaced by U+FFFD, as Python's errors="replace" does.
std::string replace_invalid(std::string_view text);

/// An input text made valid, with what it takes to turn positions in it into code points and original bytes.
class SourceText {
 public:
  /// `original` must outlive the object. Throws ResourceExhausted beyond kMaxTextBytes.
  explicit SourceText(std::string_view original);
  SourceText(const SourceText&) = delete;
  SourceText& operator=(const SourceText&) = delete;

  /// Valid UTF-8.
  std::string_view text() const { return text_; }
  /// A range of bytes of text() as code points, with the conventions of the `tokenizers` package: a range that starts
  /// at or after the end stays as it is.
  Span to_chars(Span bytes) const;
  /// A range of code points as bytes of the original.
  Span to_original_bytes(Span chars) const;

 private:
  std::string_view text_;
  std::string repaired_;
  std::vector<uint32_t> char_of_byte_;  // empty for ASCII
  std::vector<uint32_t> byte_of_char_;  // in the original, one more than there are characters; empty for ASCII
};

}  // namespace assay::text
