#include "text/pattern.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/rng.h"
#include "text/pattern_scanners.h"
#include "text/utf8.h"

namespace assay::text {
namespace {

const char* const kExpressions[] = {
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};

std::vector<Span> find(const Pattern& pattern, std::string_view text) {
  std::vector<Span> out;
  pattern.find(text, out);
  return out;
}

std::string random_text(Rng& rng) {
  static const std::u32string kCommon =
      U"  \n\r\t'sSreEvVlLmMdDtT019.,!-\u00E9\u017F\u00A0\u2003\u0301\u4E2D\U0001F600\u0661\u212A";
  std::string out;
  for (uint64_t n = rng.below(24); n > 0; --n) {
    char32_t c = kCommon[rng.below(kCommon.size())];
    if (rng.below(8) == 0) c = static_cast<char32_t>(rng.below(0x20000));
    if (c >= 0xD800 && c < 0xE000) c = U'x';
    append_char(out, c);
  }
  return out;
}

TEST(PatternScanners, EqualOnigurumaOnRandomTexts) {
  Rng rng(11);
  for (const char* expression : kExpressions) {
    const auto scanner = scanner_pattern(expression);
    ASSERT_NE(scanner, nullptr);
    const auto reference = oniguruma_pattern(expression);
    for (int i = 0; i < 20000; ++i) {
      const std::string text = random_text(rng);
      ASSERT_EQ(find(*scanner, text), find(*reference, text)) << text;
    }
  }
}

// Case folding lets a contraction hold characters that are not ASCII; every code point says whether it does.
TEST(PatternScanners, EqualOnigurumaOnEveryCodePoint) {
  for (const char* expression : kExpressions) {
    const auto scanner = scanner_pattern(expression);
    const auto reference = oniguruma_pattern(expression);
    for (char32_t c = 0; c < 0x110000; ++c) {
      if (c >= 0xD800 && c < 0xE000) continue;
      std::string text = "'";
      append_char(text, c);
      text += "e ";
      append_char(text, c);
      append_char(text, c);
      ASSERT_EQ(find(*scanner, text), find(*reference, text)) << static_cast<uint32_t>(c);
    }
  }
}

TEST(Pattern, OtherExpressionsGoToOniguruma) {
  EXPECT_EQ(scanner_pattern(R"(\s+)"), nullptr);
  EXPECT_EQ(find(*regex_pattern(R"(\p{L}+)"), "ab1\u00E9"), (std::vector<Span>{{0, 2}, {3, 5}}));
  // U+1C89 is a letter since Unicode 16, in brackets, negated and alone.
  EXPECT_EQ(find(*regex_pattern(R"(\p{L})"), "\u1C89"), (std::vector<Span>{{0, 3}}));
  EXPECT_EQ(find(*regex_pattern(R"([^\s\p{L}]+)"), "\u1C89-"), (std::vector<Span>{{3, 4}}));
  EXPECT_TRUE(find(*regex_pattern(R"(\P{L})"), "\u1C89").empty());
}

TEST(Pattern, EmptyMatchesFallBetweenCharacters) {
  EXPECT_EQ(find(*literal_pattern(""), "a\u00E9"), (std::vector<Span>{{0, 0}, {1, 1}, {3, 3}}));
  EXPECT_EQ(find(*regex_pattern("x*"), "axb"), (std::vector<Span>{{0, 0}, {1, 2}, {3, 3}}));
}

TEST(Pattern, BadAndHostileExpressionsAreErrors) {
  EXPECT_THROW(regex_pattern("(unclosed"), Error);
  EXPECT_THROW(regex_pattern(std::string(100000, 'a')), Error);
  const auto explosive = regex_pattern("(a+)+$");
  std::vector<Span> out;
  EXPECT_THROW(explosive->find(std::string(60, 'a') + "b", out), Error);
}

struct SplitCase {
  SplitBehavior behavior;
  bool invert;
  std::vector<std::string> expected;
};

TEST(SplitAt, FollowsTheBehaviors) {
  const std::string text = "the-final--countdown";
  const auto dash = literal_pattern("-");
  const SplitCase cases[] = {
      {SplitBehavior::kRemoved, false, {"the", "final", "countdown"}},
      {SplitBehavior::kIsolated, false, {"the", "-", "final", "-", "-", "countdown"}},
      {SplitBehavior::kMergedWithPrevious, false, {"the-", "final-", "-", "countdown"}},
      {SplitBehavior::kMergedWithNext, false, {"the", "-final", "-", "-countdown"}},
      {SplitBehavior::kContiguous, false, {"the", "-", "final", "--", "countdown"}},
      {SplitBehavior::kRemoved, true, {"-", "-", "-"}},
  };
  for (const SplitCase& c : cases) {
    std::vector<Span> spans;
    split_at(find(*dash, text), static_cast<uint32_t>(text.size()), c.behavior, c.invert, spans);
    std::vector<std::string> parts;
    for (const Span& s : spans) parts.push_back(text.substr(s.begin, s.end - s.begin));
    EXPECT_EQ(parts, c.expected);
  }
}

}  // namespace
}  // namespace assay::text
