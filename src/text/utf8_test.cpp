#include "text/utf8.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/rng.h"

namespace assay::text {
namespace {

TEST(Utf8, EveryCodePointSurvives) {
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string s;
    append_char(s, c);
    ASSERT_EQ(valid_prefix(s), s.size());
    size_t at = 0, back = s.size();
    ASSERT_EQ(next_char(s, at), c);
    ASSERT_EQ(at, s.size());
    ASSERT_EQ(previous_char(s, back), c);
    ASSERT_EQ(back, 0U);
  }
}

TEST(Utf8, InvalidSubpartsBecomeOneReplacementEach) {
  EXPECT_EQ(replace_invalid("a\xFFz"), "a\uFFFDz");
  EXPECT_EQ(replace_invalid("\xE4\xB8"), "\uFFFD");  // cut short: one subpart
  EXPECT_EQ(replace_invalid("\xE4\xB8z"), "\uFFFDz");
  EXPECT_EQ(replace_invalid("\xC0\xAF"), "\uFFFD\uFFFD");            // overlong
  EXPECT_EQ(replace_invalid("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");  // a surrogate
  EXPECT_EQ(replace_invalid("\xF0\x9F\x98\xF0\x9F\x98\x80"), "\uFFFD\U0001F600");
  EXPECT_EQ(replace_invalid("\xF5\x80"), "\uFFFD\uFFFD");
}

TEST(Utf8, RandomBytesAlwaysBecomeValid) {
  Rng rng(3);
  for (int i = 0; i < 20000; ++i) {
    std::string s;
    for (uint64_t n = rng.below(12); n > 0; --n)
      s.push_back(static_cast<char>(rng.below(2) != 0 ? rng.below(256) : 0x80 + rng.below(128)));
    const std::string fixed = replace_invalid(s);
    ASSERT_EQ(valid_prefix(fixed), fixed.size());
    const SourceText source(s);
    ASSERT_EQ(source.text(), fixed);
    const auto chars = static_cast<uint32_t>(to_code_points(fixed).size());
    ASSERT_EQ(source.to_original_bytes({0, chars}), (Span{0, static_cast<uint32_t>(s.size())}));
  }
}

TEST(SourceText, TurnsBytesIntoCodePointsAndBack) {
  const SourceText source(
      "a\u00E9\U0001F600\xFF"
      "b");
  EXPECT_EQ(source.text(), "a\u00E9\U0001F600\uFFFDb");
  EXPECT_EQ(source.to_chars({1, 3}), (Span{1, 2}));
  EXPECT_EQ(source.to_chars({7, 11}), (Span{3, 5}));
  EXPECT_EQ(source.to_original_bytes({3, 5}), (Span{7, 9}));
  EXPECT_EQ(source.to_original_bytes({2, 3}), (Span{3, 7}));
}

}  // namespace
}  // namespace assay::text
