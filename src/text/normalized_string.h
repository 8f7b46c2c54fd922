#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/encoding.h"
#include "text/normal_form.h"

namespace assay::text {

/// A text under normalization: its characters, each with the bytes of the source text it stands for. Every change keeps
/// those alignments as the `tokenizers` package does, so that a token can always be traced back to the original.
class NormalizedString {
 public:
  struct Char {
    char32_t c;
    Span source;
  };

  /// A slice of valid UTF-8 that starts at byte `origin` of the source.
  NormalizedString(std::string_view slice, uint32_t origin);

  bool empty() const { return chars_.empty(); }
  std::span<const Char> chars() const { return chars_; }
  std::string text() const;
  /// Where the slice starts in the source.
  uint32_t origin() const { return origin_; }
  /// No character beyond U+007F.
  bool ascii() const { return ascii_; }

  /// Replaces each character by `to(c)`.
  template <typename To>
  void map(const To& to) {
    bool ascii = true;
    for (Char& k : chars_) {
      k.c = to(k.c);
      ascii = ascii && k.c < 0x80;
    }
    ascii_ = ascii;
  }
  /// Keeps the characters for which `keep(c)`.
  template <typename Keep>
  void filter(const Keep& keep) {
    std::erase_if(chars_, [&](const Char& k) { return !keep(k.c); });
  }
  /// Replaces each character by those that `expand(c, out)` appends to `out` (at least one): all stand for the same
  /// source.
  template <typename Expand>
  void expand(const Expand& expand) {
    std::vector<Char> out;
    out.reserve(chars_.size() + chars_.size() / 4);
    std::u32string parts;
    for (const Char& k : chars_) {
      parts.clear();
      expand(k.c, parts);
      for (const char32_t c : parts) out.push_back({c, k.source});
    }
    check_size(out.size());
    assign(std::move(out));
  }
  void apply(NormalForm form);
  void lowercase();
  void strip(bool left, bool right);
  /// Does nothing to an empty text.
  void prepend(std::u32string_view prefix);
  /// Puts `content` in place of each of `matches`: ranges of bytes of text(), in order.
  void replace(std::span<const Span> matches, std::u32string_view content);

 private:
  static void check_size(size_t chars);
  void assign(std::vector<Char> chars);

  std::vector<Char> chars_;
  uint32_t origin_;
  bool ascii_ = true;
};

}  // namespace assay::text
