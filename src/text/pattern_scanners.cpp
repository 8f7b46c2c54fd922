#include "text/pattern_scanners.h"

#include <cstddef>

#include "text/char_class.h"
#include "text/utf8.h"

namespace assay::text {
namespace {

constexpr std::string_view kGpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

enum class Kind { kLetter, kNumber, kSpace, kOther };

Kind kind_of(char32_t c) {
  const uint16_t bits = char_bits(c);
  if (bits & kLetterBit) return Kind::kLetter;
  if (bits & kNumberBit) return Kind::kNumber;
  return bits & kWhiteBit ? Kind::kSpace : Kind::kOther;
}

/// A cursor over valid UTF-8.
struct Cursor {
  std::string_view text;
  size_t at;

  bool done() const { return at >= text.size(); }
  Kind kind() const {
    size_t next = at;
    return kind_of(next_char(text, next));
  }
  void skip() { at += utf8_length(static_cast<unsigned char>(text[at])); }
  /// Skips up to `most` characters of one kind; how many there were.
  size_t skip_all(Kind wanted, size_t most = SIZE_MAX) {
    size_t count = 0;
    while (count < most && !done() && kind() == wanted) {
      skip();
      ++count;
    }
    return count;
  }
};

/// Length of a contraction suffix ('s 't 're 've 'm 'll 'd) at `at`, apostrophe included, or 0. Folding case, U+017F is
/// an s too.
size_t contraction(std::string_view text, size_t at, bool fold) {
  if (text[at] != '\'') return 0;
  const std::string_view rest = text.substr(at + 1);
  const auto letter = [&](size_t i) -> char {
    if (i >= rest.size()) return 0;
    const char c = rest[i];
    return fold && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  };
  switch (letter(0)) {
    case 's':
    case 't':
    case 'm':
    case 'd':
      return 2;
    case 'r':
    case 'v':
      return letter(1) == 'e' ? 3 : 0;
    case 'l':
      return letter(1) == 'l' ? 3 : 0;
    default:
      return fold && rest.starts_with("\u017F") ? 3 : 0;
  }
}

/// End of the match of `\s+(?!\S)|\s+` for a run of white space that starts at `begin` and ends at `end`: all of it at
/// the end of the text, else all but its last character, which the next word takes along.
size_t white_end(std::string_view text, size_t begin, size_t end) {
  if (end == text.size()) return end;
  size_t last = end;
  previous_char(text, last);
  return last > begin ? last : end;
}

class Gpt2Scanner final : public Pattern {
 public:
  void find(std::string_view text, std::vector<Span>& out) const override {
    for (size_t at = 0; at < text.size();) {
      const size_t end = match(text, at);
      out.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(end)});
      at = end;
    }
  }

 private:
  static size_t match(std::string_view text, size_t at) {
    if (const size_t length = contraction(text, at, false)) return at + length;
    Cursor cursor{text, at};
    if (text[at] == ' ' && at + 1 < text.size()) {
      ++cursor.at;
      if (cursor.kind() == Kind::kSpace) --cursor.at;
    }
    const Kind kind = cursor.kind();
    cursor.skip_all(kind);
    return kind == Kind::kSpace ? white_end(text, at, cursor.at) : cursor.at;
  }
};

class Llama3Scanner final : public Pattern {
 public:
  explicit Llama3Scanner(size_t digits) : digits_(digits) {}
  void find(std::string_view text, std::vector<Span>& out) const override {
    for (size_t at = 0; at < text.size();) {
      const size_t end = match(text, at);
      out.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(end)});
      at = end;
    }
  }

 private:
  size_t match(std::string_view text, size_t at) const {
    if (const size_t length = contraction(text, at, true)) return at + length;
    Cursor cursor{text, at};
    const Kind kind = cursor.kind();
    const bool line_break = text[at] == '\r' || text[at] == '\n';
    // A word, with one character before it that is neither letter, number nor line break.
    if (kind != Kind::kNumber && !line_break) {
      if (kind != Kind::kLetter) cursor.skip();
      if (cursor.skip_all(Kind::kLetter) > 0) return cursor.at;
      cursor.at = at;
    }
    if (kind == Kind::kNumber) {
      cursor.skip_all(Kind::kNumber, digits_);
      return cursor.at;
    }
    // Symbols, with one space before and all line breaks after them.
    if (text[at] == ' ') cursor.skip();
    if (cursor.skip_all(Kind::kOther) > 0) {
      while (!cursor.done() && (text[cursor.at] == '\r' || text[cursor.at] == '\n')) ++cursor.at;
      return cursor.at;
    }
    // White space up to its last line break, else all but what the next word takes along.
    cursor.at = at;
    cursor.skip_all(Kind::kSpace);
    const size_t last_break = text.substr(at, cursor.at - at).find_last_of("\r\n");
    if (last_break != std::string_view::npos) return at + last_break + 1;
    return white_end(text, at, cursor.at);
  }

  size_t digits_;
};

}  // namespace

std::unique_ptr<const Pattern> scanner_pattern(std::string_view expression) {
  if (expression == kGpt2) return std::make_unique<Gpt2Scanner>();
  if (expression == kLlama3) return std::make_unique<Llama3Scanner>(3);
  if (expression == kQwen2) return std::make_unique<Llama3Scanner>(1);
  return nullptr;
}

const Pattern& gpt2_pattern() {
  static const Gpt2Scanner scanner;
  return scanner;
}

}  // namespace assay::text
