#include "workloads/tasks/bert_alignment.h"

#include <unicode/locid.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <vector>

#include "base/error.h"

namespace assay::workloads {
namespace {

using Text = std::u32string;

Text decode(std::string_view utf8) {
  const auto s = icu::UnicodeString::fromUTF8(icu::StringPiece(utf8.data(), static_cast<int32_t>(utf8.size())));
  Text out;
  for (int32_t i = 0; i < s.length(); i = s.moveIndex32(i, 1)) out += static_cast<char32_t>(s.char32At(i));
  return out;
}

icu::UnicodeString to_icu(const Text& text) {
  icu::UnicodeString s;
  for (char32_t c : text) s.append(static_cast<UChar32>(c));
  return s;
}

std::string encode(const Text& text) {
  std::string out;
  return to_icu(text).toUTF8String(out);
}

Text lower_without_accents(const Text& word) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* nfd = icu::Normalizer2::getNFDInstance(status);
  require(U_SUCCESS(status), ErrorCode::kInternal, "ICU has no NFD data");
  icu::UnicodeString s = to_icu(word).toLower(icu::Locale::getRoot());
  s = nfd->normalize(s, status);
  require(U_SUCCESS(status), ErrorCode::kInternal, "ICU cannot normalize");
  Text out;
  for (int32_t i = 0; i < s.length(); i = s.moveIndex32(i, 1))
    if (u_charType(s.char32At(i)) != U_NON_SPACING_MARK) out += static_cast<char32_t>(s.char32At(i));
  return out;
}

bool is_white(char32_t c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || u_charType(static_cast<UChar32>(c)) == U_SPACE_SEPARATOR;
}

bool is_dropped(char32_t c) {
  const auto type = u_charType(static_cast<UChar32>(c));
  return c == 0 || c == 0xfffd || type == U_CONTROL_CHAR || type == U_FORMAT_CHAR;
}

bool is_punctuation(char32_t c) {
  if ((c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126)) return true;
  return (U_GET_GC_MASK(static_cast<UChar32>(c)) & U_GC_P_MASK) != 0;
}

/// The CJK blocks that BERT sets apart.
bool is_cjk(char32_t c) {
  return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x20000 && c <= 0x2a6df) ||
         (c >= 0x2a700 && c <= 0x2b73f) || (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b820 && c <= 0x2ceaf) ||
         (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

Text basic(const Text& text, bool lower_case) {
  std::vector<Text> words;
  Text word;
  const auto flush = [&] {
    if (word.empty()) return;
    // Lower-casing comes before the split at punctuation, as it may change what is punctuation.
    Text run;
    for (char32_t c : lower_case ? lower_without_accents(word) : word) {
      if (!is_punctuation(c)) {
        run += c;
        continue;
      }
      if (!run.empty()) words.push_back(std::move(run));
      run.clear();
      words.emplace_back(1, c);
    }
    if (!run.empty()) words.push_back(std::move(run));
    word.clear();
  };
  for (char32_t c : text) {
    if (is_white(c)) {
      flush();
    } else if (is_dropped(c)) {
      continue;
    } else if (is_cjk(c)) {
      flush();
      word += c;
      flush();
    } else {
      word += c;
    }
  }
  flush();
  Text out;
  for (const Text& w : words) out += (out.empty() ? U"" : U" ") + w;
  return out;
}

/// Positions of the characters that are not spaces.
std::vector<size_t> solid(const Text& text) {
  std::vector<size_t> out;
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] != U' ') out.push_back(i);
  return out;
}

}  // namespace

std::string basic_tokens(std::string_view text, bool lower_case) { return encode(basic(decode(text), lower_case)); }

std::string align_answer(std::string_view predicted, std::string_view original, bool lower_case) {
  const std::string whole(original);
  const Text wanted = decode(predicted), source = decode(original);
  if (wanted.empty()) return whole;
  const Text tokens = basic(source, lower_case);
  const size_t at = tokens.find(wanted);
  if (at == Text::npos) return whole;
  const auto source_solid = solid(source), token_solid = solid(tokens);
  if (source_solid.size() != token_solid.size()) return whole;
  const auto index = [&](size_t position) {
    return std::lower_bound(token_solid.begin(), token_solid.end(), position) - token_solid.begin();
  };
  const size_t last = at + wanted.size() - 1;
  const auto i = static_cast<size_t>(index(at)), j = static_cast<size_t>(index(last));
  if (i >= token_solid.size() || j >= token_solid.size() || token_solid[i] != at || token_solid[j] != last)
    return whole;
  return encode(source.substr(source_solid[i], source_solid[j] - source_solid[i] + 1));
}

}  // namespace assay::workloads
