#include "text/normal_form.h"

#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/utf16.h>

#include <algorithm>
#include <optional>

#include "base/error.h"

namespace assay::text {
namespace {

constexpr uint8_t kUnicodeVersion = 9;

bool known(char32_t c) {
  UVersionInfo age;
  u_charAge(static_cast<UChar32>(c), age);
  return age[0] != 0 && (age[0] < kUnicodeVersion || (age[0] == kUnicodeVersion && age[1] == 0));
}

const UNormalizer2* data_of(bool compatible) {
  UErrorCode status = U_ZERO_ERROR;
  const UNormalizer2* data = compatible ? unorm2_getNFKCInstance(&status) : unorm2_getNFCInstance(&status);
  require(U_SUCCESS(status) && data != nullptr, ErrorCode::kInternal, "ICU has no normalization data: {}",
          u_errorName(status));
  return data;
}

uint8_t combining_class(char32_t c) {
  if (c < 0x300) return 0;
  const uint8_t ccc = u_getCombiningClass(static_cast<UChar32>(c));
  return ccc != 0 && known(c) ? ccc : 0;
}

std::optional<char32_t> compose(const UNormalizer2* canonical, char32_t a, char32_t b) {
  const UChar32 c = unorm2_composePair(canonical, static_cast<UChar32>(a), static_cast<UChar32>(b));
  if (c < 0 || !known(static_cast<char32_t>(c))) return std::nullopt;
  return static_cast<char32_t>(c);
}

/// Full decomposition in canonical order. Marks carry their change with them when they are reordered.
std::vector<Change> decompose(std::span<const char32_t> text, const UNormalizer2* data) {
  std::vector<Change> out;
  out.reserve(text.size() + text.size() / 4);
  std::vector<std::pair<uint8_t, Change>> pending;  // marks since the last starter
  const auto flush = [&] {
    std::stable_sort(pending.begin(), pending.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [ccc, change] : pending) out.push_back(change);
    pending.clear();
  };
  const auto push = [&](char32_t c, int change) {
    const uint8_t ccc = combining_class(c);
    if (ccc == 0) {
      flush();
      out.push_back({c, change});
    } else {
      pending.push_back({ccc, {c, change}});
    }
  };
  for (const char32_t c : text) {
    if (c < 0xA0) {
      push(c, 0);
      continue;
    }
    UChar parts[64];
    UErrorCode status = U_ZERO_ERROR;
    const int32_t length = unorm2_getDecomposition(data, static_cast<UChar32>(c), parts, 64, &status);
    require(U_SUCCESS(status), ErrorCode::kInternal, "ICU cannot decompose U+{:04X}: {}", static_cast<uint32_t>(c),
            u_errorName(status));
    if (length < 0 || !known(c)) {
      push(c, 0);
      continue;
    }
    for (int32_t i = 0; i < length;) {
      const bool first = i == 0;
      UChar32 d;
      U16_NEXT(parts, i, length, d);
      push(static_cast<char32_t>(d), first ? 0 : 1);
    }
  }
  flush();
  return out;
}

/// Canonical composition of decomposed changes. A composed character adds up the changes of its parts.
std::vector<Change> recompose(std::span<const Change> parts) {
  const UNormalizer2* canonical = data_of(false);
  std::vector<Change> out, marks;  // marks that follow the starter and did not compose with it
  out.reserve(parts.size());
  std::optional<Change> starter;
  int last_class = -1;  // of the last uncomposed mark; -1 directly after the starter
  const auto flush = [&] {
    if (starter) out.push_back(*starter);
    out.insert(out.end(), marks.begin(), marks.end());
    marks.clear();
    last_class = -1;
  };
  for (const Change& part : parts) {
    const int ccc = combining_class(part.c);
    if (!starter) {
      if (ccc != 0) {
        out.push_back(part);
      } else {
        starter = part;
      }
      continue;
    }
    if (last_class < ccc) {  // not blocked
      if (const auto composed = compose(canonical, starter->c, part.c)) {
        starter = Change{*composed, starter->change + part.change - 1};
        continue;
      }
    }
    if (ccc == 0) {
      flush();
      starter = part;
    } else {
      marks.push_back(part);
      last_class = ccc;
    }
  }
  flush();
  return out;
}

}  // namespace

std::vector<Change> normal_form(std::span<const char32_t> text, NormalForm form) {
  const bool compatible = form == NormalForm::kNfkd || form == NormalForm::kNfkc;
  std::vector<Change> parts = decompose(text, data_of(compatible));
  return form == NormalForm::kNfd || form == NormalForm::kNfkd ? parts : recompose(parts);
}

}  // namespace assay::text
