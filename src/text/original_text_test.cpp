// What holds for every tokenizer and any text: tokens lie in the original, in order, and mean it.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/rng.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace assay::text {
namespace {

using nlohmann::json;
const EncodeOptions kPlain{false, std::nullopt};

// The WordPiece and the byte-level BPE of the committed goldens.
std::vector<std::pair<std::string, json>> files() {
  const json golden = json::parse(read_text(std::string(ASSAY_SOURCE_DIR) + "/tests/text/small_golden.json"));
  std::vector<std::pair<std::string, json>> out;
  for (const json& entry : golden["tokenizers"])
    out.emplace_back(entry["json"]["model"]["type"].get<std::string>(), entry["json"]);
  EXPECT_EQ(out.size(), 2U);
  return out;
}

// Text of words, scripts, marks, emoji, controls, blanks and bytes that are not UTF-8.
std::string any_text(Rng& rng, bool valid) {
  static const std::vector<std::string> kPieces{" ",
                                                "  ",
                                                "\t",
                                                "\n",
                                                "a",
                                                "the",
                                                "Jok",
                                                "123",
                                                "'s",
                                                "!",
                                                "-",
                                                "\u00e9",
                                                "e\u0301",
                                                "Doni\u0107",
                                                "\u010d",
                                                "\u0130",
                                                "\u00df",
                                                "\u0391\u0392\u03a3",
                                                "\u0451\u0439",
                                                "\u4e2d\u6587",
                                                "\u3070",
                                                "\u306f\u3099",
                                                "\uff8a\uff9e",
                                                "\ud55c",
                                                "\u1112\u1161\u11ab",
                                                "\U0001F600",
                                                "\U0001F999",
                                                "\U0001F468\u200D\U0001F469\uFE0F",
                                                "\U0001F44D\U0001F3FD",
                                                "\U0001F1E6\U0001F1FA",
                                                "\u2014",
                                                "\u2019",
                                                "\u00a0",
                                                "\u200b",
                                                "\u00ad",
                                                "\ufeff",
                                                "\ufffd",
                                                "\u0085",
                                                "\u2028",
                                                "\u0e01\u0e33",
                                                "\u0915\u094d\u0937",
                                                std::string(1, '\0'),
                                                "\x07",
                                                "\x7f"};
  static const std::vector<std::string> kBroken{"\xff", "\xc0", "\xe4\xb8", "\xf0\x9f\xa6", "\xed\xa0\x80", "\x80"};
  std::string out;
  for (uint64_t n = rng.below(20); n > 0; --n)
    out += !valid && rng.below(5) == 0 ? kBroken[rng.below(kBroken.size())] : kPieces[rng.below(kPieces.size())];
  return out;
}

// huggingface/tokenizers#215, #404, tensorflow/tensorflow#45684: code point and byte offsets of every token lie in the
// original, never run backwards, name the same place, and never cut a character.
TEST(OriginalText, OffsetsNameTheSamePlaceInCodePointsAndBytes) {
  for (const auto& [name, file] : files()) {
    const Tokenizer t = Tokenizer::parse(file.dump());
    Rng rng(45684);
    for (int i = 0; i < 4000; ++i) {
      const std::string text = any_text(rng, true);
      SCOPED_TRACE(name + ": " + text);
      const Encoding e = t.encode(text, kPlain);
      Span before{0, 0};
      for (size_t k = 0; k < e.size(); ++k) {
        const Span chars = e.offsets[k], bytes = e.byte_offsets[k];
        ASSERT_LE(chars.begin, chars.end);
        ASSERT_GE(chars.begin, before.begin);
        ASSERT_GE(chars.end, before.end);
        ASSERT_LE(bytes.end, text.size());
        ASSERT_EQ(to_code_points(text.substr(0, bytes.begin)).size(), chars.begin);
        ASSERT_EQ(to_code_points(text.substr(0, bytes.end)).size(), chars.end);
        before = chars;
      }
    }
  }
}

// ggml-org/llama.cpp#5496: an uncased vocabulary gives the same ids however an accent is written, wherever it stands.
TEST(OriginalText, ComposedAndCombiningAccentsAreOneText) {
  const std::vector<std::pair<std::string, std::string>> pairs{
      {"\u0107", "c\u0301"},      {"\u010d", "c\u030c"},      {"\u00e9", "e\u0301"},
      {"\u00fc", "u\u0308"},      {"\u017d", "Z\u030c"},      {"\u1eb9\u0301", "e\u0323\u0301"},
      {"\u0439", "\u0438\u0306"}, {"\u03ac", "\u03b1\u0301"}, {"\u3070", "\u306f\u3099"},
      {"\u1e9b", "\u017f\u0307"}, {"\u00c5", "A\u030a"}};
  const auto [name, file] = files().front();
  ASSERT_EQ(name, "WordPiece");
  const Tokenizer t = Tokenizer::parse(file.dump());
  Rng rng(5496);
  const std::vector<std::string> words{"luka don", "nikola joki", "a", " ", "the ", "Caf", "."};
  for (int i = 0; i < 500; ++i) {
    std::string composed, combining;
    for (int k = 0; k < 6; ++k) {
      const auto& [one, two] = pairs[rng.below(pairs.size())];
      const std::string& word = words[rng.below(words.size())];
      composed += word + one;
      combining += word + two;
    }
    SCOPED_TRACE(composed);
    EXPECT_EQ(t.encode(composed).ids, t.encode(combining).ids);
  }
  EXPECT_EQ(t.encode("Luka Don\u010di\u0107").ids, t.encode("luka doncic").ids);
}

// ggml-org/llama.cpp#2810, #7036: byte-level BPE loses nothing: whatever the pattern makes of a text, decoding gives it
// back, and joined pieces of the original are the original.
TEST(OriginalText, ByteLevelPiecesAreTheWholeText) {
  const auto [name, file] = files().back();
  ASSERT_EQ(name, "BPE");
  const Tokenizer t = Tokenizer::parse(file.dump());
  Rng rng(2810);
  std::vector<std::string> texts{" this is \U0001F999.cpp", "F\u00fchrer",
                                 "Caf\u00e9 d\u00e9j\u00e0 vu - 123 \u2014 \U0001F600"};
  for (int i = 0; i < 3000; ++i) texts.push_back(any_text(rng, true));
  for (const std::string& text : texts) {
    SCOPED_TRACE(text);
    const Encoding e = t.encode(text, kPlain);
    EXPECT_EQ(t.decode(e.ids), text);
  }
}

// Any bytes at all: an answer or an Error, and offsets inside the text, for every tokenizer.
TEST(OriginalText, BytesThatAreNotUtf8AreReadSafely) {
  for (const auto& [name, file] : files()) {
    const Tokenizer t = Tokenizer::parse(file.dump());
    Rng rng(77);
    for (int i = 0; i < 3000; ++i) {
      const std::string text = any_text(rng, false);
      const Encoding e = t.encode(text);
      for (const Span& s : e.byte_offsets) {
        ASSERT_LE(s.begin, s.end);
        ASSERT_LE(s.end, text.size());
      }
    }
  }
}

}  // namespace
}  // namespace assay::text
