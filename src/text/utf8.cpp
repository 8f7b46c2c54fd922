#include "text/utf8.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace assay::text {

void append_char(std::string& out, char32_t c) {
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6);
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3F));
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

std::u32string to_code_points(std::string_view valid) {
  std::u32string out;
  out.reserve(valid.size());
  for (size_t at = 0; at < valid.size();) out.push_back(next_char(valid, at));
  return out;
}

int utf8_step(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char b = byte(at);
  if (b < 0x80) return 1;
  if (b < 0xC2 || b > 0xF4) return -1;
  const int length = b < 0xE0 ? 2 : b < 0xF0 ? 3 : 4;
  // The second byte's range shuts out overlong forms, surrogates and what lies beyond U+10FFFF.
  const unsigned char low = b == 0xE0 ? 0xA0 : b == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = b == 0xED ? 0x9F : b == 0xF4 ? 0x8F : 0xBF;
  for (int i = 1; i < length; ++i) {
    if (at + i >= text.size()) return -i;
    const unsigned char next = byte(at + i);
    if (i == 1 ? next < low || next > high : (next & 0xC0) != 0x80) return -i;
  }
  return length;
}

size_t valid_prefix(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    uint64_t eight;
    if (at + sizeof eight <= text.size()) {
      std::memcpy(&eight, text.data() + at, sizeof eight);
      if ((eight & 0x8080808080808080ULL) == 0) {
        at += sizeof eight;
        continue;
      }
    }
    const int step = utf8_step(text, at);
    if (step < 0) break;
    at += static_cast<size_t>(step);
  }
  return at;
}

std::string replace_invalid(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t good = valid_prefix(text);
    out.append(text.substr(0, good));
    text.remove_prefix(good);
    if (text.empty()) break;
    append_char(out, 0xFFFD);
    text.remove_prefix(static_cast<size_t>(-utf8_step(text, 0)));
  }
  return out;
}

SourceText::SourceText(std::string_view original) : text_(original) {
  require(original.size() <= kMaxTextBytes, ErrorCode::kResourceExhausted,
          "text of {} bytes is too long for one call (limit {}); split it", original.size(), kMaxTextBytes);
  if (std::all_of(original.begin(), original.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; }))
    return;
  const bool valid = valid_prefix(original) == original.size();
  if (!valid) {
    repaired_ = replace_invalid(original);
    text_ = repaired_;
  }
  char_of_byte_.reserve(text_.size());
  byte_of_char_.reserve(text_.size() / 2);
  uint32_t index = 0;
  for (size_t at = 0; at < original.size(); ++index) {
    byte_of_char_.push_back(static_cast<uint32_t>(at));
    const int step = utf8_step(original, at);
    char_of_byte_.insert(char_of_byte_.end(), step < 0 ? 3 : static_cast<size_t>(step), index);
    at += static_cast<size_t>(step < 0 ? -step : step);
  }
  byte_of_char_.push_back(static_cast<uint32_t>(original.size()));
}

Span SourceText::to_chars(Span bytes) const {
  if (char_of_byte_.empty() || bytes.begin >= char_of_byte_.size()) return bytes;
  const uint32_t begin = char_of_byte_[bytes.begin];
  if (bytes.end < char_of_byte_.size()) return {begin, char_of_byte_[bytes.end]};
  const size_t last = static_cast<size_t>(bytes.end) - 1;
  return {begin, (last < char_of_byte_.size() ? char_of_byte_[last] : begin + 1) + 1};
}

Span SourceText::to_original_bytes(Span chars) const {
  if (byte_of_char_.empty()) {
    const auto size = static_cast<uint32_t>(text_.size());
    return {std::min(chars.begin, size), std::min(chars.end, size)};
  }
  const auto last = static_cast<uint32_t>(byte_of_char_.size() - 1);
  return {byte_of_char_[std::min(chars.begin, last)], byte_of_char_[std::min(chars.end, last)]};
}

}  // namespace assay::text
