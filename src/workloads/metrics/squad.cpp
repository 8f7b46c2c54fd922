#include "workloads/metrics/squad.h"

#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <map>

namespace assay::workloads {
namespace {

/// Python's str.isspace.
bool is_space(UChar32 c) {
  return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

/// Python's \w: letters (by category), whatever has a numeric type, underscore.
bool is_word(UChar32 c) {
  return c == '_' || (U_GET_GC_MASK(c) & U_GC_L_MASK) != 0 || u_getIntPropertyValue(c, UCHAR_NUMERIC_TYPE) != U_NT_NONE;
}

bool is_punctuation(UChar32 c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

std::vector<std::string> words_of(const std::string& normal) {
  std::vector<std::string> out;
  for (size_t at = 0; at < normal.size();) {
    const size_t end = std::min(normal.find(' ', at), normal.size());
    out.push_back(normal.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

double f1_of(const std::string& prediction, const std::string& reference) {
  const auto a = words_of(prediction), b = words_of(reference);
  std::map<std::string_view, int64_t> count;
  for (const std::string& w : b) ++count[w];
  int64_t same = 0;
  for (const std::string& w : a) same += count[w]-- > 0 ? 1 : 0;
  if (same == 0) return 0.0;
  const double precision = static_cast<double>(same) / static_cast<double>(a.size());
  const double recall = static_cast<double>(same) / static_cast<double>(b.size());
  return 2.0 * precision * recall / (precision + recall);
}

}  // namespace

std::string normalize_answer(std::string_view text) {
  icu::UnicodeString s = icu::UnicodeString::fromUTF8(icu::StringPiece(text.data(), static_cast<int32_t>(text.size())));
  s.toLower(icu::Locale::getRoot());
  icu::UnicodeString kept;
  for (int32_t i = 0; i < s.length(); i = s.moveIndex32(i, 1))
    if (!is_punctuation(s.char32At(i))) kept.append(s.char32At(i));

  // One pass over maximal runs of word characters: an article is a whole run.
  icu::UnicodeString out;
  bool space = false;
  for (int32_t i = 0; i < kept.length();) {
    const UChar32 c = kept.char32At(i);
    if (is_word(c)) {
      int32_t end = i;
      while (end < kept.length() && is_word(kept.char32At(end))) end = kept.moveIndex32(end, 1);
      const icu::UnicodeString run(kept, i, end - i);
      i = end;
      if (run == icu::UnicodeString(u"a") || run == icu::UnicodeString(u"an") || run == icu::UnicodeString(u"the")) {
        space = true;
        continue;
      }
      if (space && !out.isEmpty()) out.append(u' ');
      space = false;
      out.append(run);
    } else {
      i = kept.moveIndex32(i, 1);
      if (is_space(c)) {
        space = true;
        continue;
      }
      if (space && !out.isEmpty()) out.append(u' ');
      space = false;
      out.append(c);
    }
  }
  std::string utf8;
  return out.toUTF8String(utf8);
}

double squad_exact_match(std::string_view prediction, const std::vector<std::string>& references) {
  const std::string normal = normalize_answer(prediction);
  return std::any_of(references.begin(), references.end(),
                     [&](const std::string& r) { return normalize_answer(r) == normal; })
             ? 1.0
             : 0.0;
}

double squad_f1(std::string_view prediction, const std::vector<std::string>& references) {
  const std::string normal = normalize_answer(prediction);
  double best = 0.0;
  for (const std::string& r : references) best = std::max(best, f1_of(normal, normalize_answer(r)));
  return best;
}

}  // namespace assay::workloads
