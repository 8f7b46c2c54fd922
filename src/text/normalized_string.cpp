#include "text/normalized_string.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "text/char_class.h"
#include "text/utf8.h"

namespace assay::text {
namespace {

uint32_t encoded_length(char32_t c) { return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4; }

}  // namespace

NormalizedString::NormalizedString(std::string_view slice, uint32_t origin) : origin_(origin) {
  chars_.reserve(slice.size());
  for (size_t at = 0; at < slice.size();) {
    const auto begin = static_cast<uint32_t>(at);
    const char32_t c = next_char(slice, at);
    ascii_ = ascii_ && c < 0x80;
    chars_.push_back({c, {origin + begin, origin + static_cast<uint32_t>(at)}});
  }
}

std::string NormalizedString::text() const {
  std::string out;
  out.reserve(chars_.size() + chars_.size() / 8);
  for (const Char& k : chars_) append_char(out, k.c);
  return out;
}

void NormalizedString::check_size(size_t chars) {
  require(chars <= kMaxTextBytes, ErrorCode::kResourceExhausted,
          "the text grows beyond {} characters under normalization; split it", kMaxTextBytes);
}

void NormalizedString::assign(std::vector<Char> chars) {
  chars_ = std::move(chars);
  ascii_ = std::all_of(chars_.begin(), chars_.end(), [](const Char& k) { return k.c < 0x80; });
}

void NormalizedString::apply(NormalForm form) {
  if (ascii_) return;
  std::u32string points;
  points.reserve(chars_.size());
  for (const Char& k : chars_) points.push_back(k.c);
  std::vector<Char> out;
  out.reserve(points.size());
  size_t next = 0;  // the source character that the next change stands for
  for (const Change& change : normal_form(points, form)) {
    Span source{origin_, origin_};
    if (change.change <= 0) {
      source = chars_[std::min(next, chars_.size() - 1)].source;
      next += 1 + static_cast<size_t>(-change.change);
    } else if (next > 0) {
      source = chars_[std::min(next, chars_.size()) - 1].source;
    }
    out.push_back({change.c, source});
  }
  assign(std::move(out));
}

void NormalizedString::lowercase() {
  if (ascii_) {
    for (Char& k : chars_) k.c = to_lower(k.c);
    return;
  }
  const bool longer = std::any_of(chars_.begin(), chars_.end(), [](const Char& k) { return k.c == 0x130; });
  if (!longer) {
    map(to_lower);
    return;
  }
  expand([](char32_t c, std::u32string& out) {
    out.push_back(to_lower(c));
    if (c == 0x130) out.push_back(0x307);
  });
}

void NormalizedString::strip(bool left, bool right) {
  const auto dark = [](const Char& k) { return !is_white(k.c); };
  if (right) chars_.erase(std::find_if(chars_.rbegin(), chars_.rend(), dark).base(), chars_.end());
  if (left) chars_.erase(chars_.begin(), std::find_if(chars_.begin(), chars_.end(), dark));
}

void NormalizedString::prepend(std::u32string_view prefix) {
  if (chars_.empty() || prefix.empty()) return;
  check_size(chars_.size() + prefix.size());
  std::vector<Char> out;
  out.reserve(prefix.size() + chars_.size());
  for (const char32_t c : prefix) out.push_back({c, chars_.front().source});
  out.insert(out.end(), chars_.begin(), chars_.end());
  assign(std::move(out));
}

void NormalizedString::replace(std::span<const Span> matches, std::u32string_view content) {
  if (matches.empty()) return;
  std::vector<Char> out;
  out.reserve(chars_.size());
  size_t next = 0;
  uint32_t at = 0;  // byte position of chars_[next]
  const auto advance = [&](uint32_t to, bool keep) {
    while (at < to && next < chars_.size()) {
      at += encoded_length(chars_[next].c);
      if (keep) out.push_back(chars_[next]);
      ++next;
    }
  };
  for (const Span& match : matches) {
    advance(match.begin, true);
    advance(match.end, false);
    // New characters stand for the last one they replace (or, between characters, for the one before).
    const Span source = next > 0 ? chars_[next - 1].source : Span{origin_, origin_};
    check_size(out.size() + content.size());
    for (const char32_t c : content) out.push_back({c, source});
  }
  advance(UINT32_MAX, true);
  assign(std::move(out));
}

}  // namespace assay::text
