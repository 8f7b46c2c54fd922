#include "text/char_class.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace assay::text {
namespace {

struct Range {
  char32_t first, last;
};
/// Code points first, first + step, ... last have their lower case at a distance of delta.
struct LowerRun {
  char32_t first, last;
  int32_t delta;
  char32_t step;
};

#include "text/unicode_tables.inc"

constexpr size_t kBlockSize = 256;
constexpr size_t kBlocks = 0x110000 / kBlockSize;

/// Two stages: most blocks of 256 code points are uniform and share storage.
struct Table {
  std::array<uint16_t, kBlocks> block;
  std::vector<uint16_t> bits;

  Table() {
    std::vector<uint16_t> all(0x110000, 0);
    const auto mark = [&](std::span<const Range> ranges, uint16_t bit) {
      for (const Range& r : ranges)
        for (char32_t c = r.first; c <= r.last; ++c) all[c] |= bit;
    };
    mark(kOther, kOtherBit);
    mark(kMark, kMarkBit);
    mark(kNonspacingMark, kNonspacingMarkBit);
    mark(kPunctuation, kPunctuationBit);
    mark(kNumeric, kNumericBit);
    mark(kWhite, kWhiteBit);
    mark(kWord, kWordBit);
    mark(kLetter, kLetterBit);
    mark(kNumber, kNumberBit);
    std::map<uint16_t, uint16_t> uniform;
    for (size_t b = 0; b < kBlocks; ++b) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(b * kBlockSize), end = begin + kBlockSize;
      const auto next = static_cast<uint16_t>(bits.size() / kBlockSize);
      const bool flat = std::all_of(begin, end, [&](uint16_t v) { return v == *begin; });
      const auto [it, fresh] = flat ? uniform.try_emplace(*begin, next) : std::pair{uniform.end(), true};
      block[b] = flat ? it->second : next;
      if (fresh) bits.insert(bits.end(), begin, end);
    }
  }
};

const Table& table() {
  static const Table t;
  return t;
}

}  // namespace

uint16_t char_bits(char32_t c) {
  const Table& t = table();
  return t.bits[t.block[c / kBlockSize] * kBlockSize + c % kBlockSize];
}

bool is_chinese(char32_t c) {
  if (c < 0x3400) return false;
  return (c >= 0x4E00 && c <= 0x9FFF) || c <= 0x4DBF || (c >= 0xF900 && c <= 0xFAFF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) ||
         (c >= 0x2B920 && c <= 0x2CEAF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

char32_t to_lower(char32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 32 : c;
  if (c == 0x130) return 'i';
  const auto after = std::upper_bound(std::begin(kLower), std::end(kLower), c,
                                      [](char32_t value, const LowerRun& run) { return value < run.first; });
  if (after == std::begin(kLower)) return c;
  const LowerRun& run = *std::prev(after);
  if (c > run.last || (c - run.first) % run.step != 0) return c;
  return static_cast<char32_t>(static_cast<int32_t>(c) + run.delta);
}

}  // namespace assay::text
