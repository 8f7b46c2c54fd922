#include "text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/rng.h"
#include "text/utf8.h"

namespace assay::text {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

/// A small WordPiece file, to be changed by the tests.
json wordpiece() {
  return json::parse(R"({
    "version": "1.0",
    "added_tokens": [{"id": 0, "content": "[UNK]", "special": true, "normalized": false},
                     {"id": 1, "content": "[CLS]", "special": true, "normalized": false},
                     {"id": 2, "content": "[SEP]", "special": true, "normalized": false}],
    "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
      "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "jo": 3, "##ki": 4, "##c": 5, "un": 6, "##aff": 7, "##able": 8, "a": 9, "b": 10,
                "\u03b1": 11, "##\u03b2": 12, "\u306f": 13, "!": 14, "\u4e2d": 15, "\u6587": 16, "##a": 17, "c": 18}},
    "post_processor": {"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
      "pair": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
               {"Sequence": {"id": "B", "type_id": 1}}, {"SpecialToken": {"id": "[SEP]", "type_id": 1}}],
      "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [1], "tokens": ["[CLS]"]}, "[SEP]": {"id": "[SEP]", "ids": [2], "tokens": ["[SEP]"]}}},
    "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true}})");
}

json bpe() {
  return json::parse(R"({
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, "abc": 5, "<unk>": 6, "<0xC3>": 7, "<0xA9>": 8},
              "merges": ["b c", ["a", "b"], ["ab", "c"]], "unk_token": "<unk>"}})");
}

const EncodeOptions kPlain{false, std::nullopt};

Encoding encode(const json& file, std::string_view text, const EncodeOptions& options = kPlain) {
  return Tokenizer::parse(file.dump()).encode(text, options);
}

void expect_error(const json& file, ErrorCode code, const std::string& part) {
  try {
    Tokenizer::parse(file.dump());
    ADD_FAILURE() << "accepted, expected: " << part;
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    EXPECT_THAT(e.what(), HasSubstr(part));
  }
}

// ggml-org/llama.cpp#5496: accents and marks, precomposed or combining, as the config says.
TEST(WordPiece, PrecomposedAndCombiningAccentsGiveTheSameIds) {
  const Encoding composed = encode(wordpiece(), "Joki\u0107"), combining = encode(wordpiece(), "Jokic\u0301");
  EXPECT_THAT(composed.ids, ElementsAre(3, 4, 5));
  EXPECT_EQ(combining.ids, composed.ids);
  EXPECT_THAT(composed.offsets, ElementsAre(Span{0, 2}, Span{2, 4}, Span{4, 5}));
  EXPECT_THAT(composed.byte_offsets, ElementsAre(Span{0, 2}, Span{2, 4}, Span{4, 6}));
  EXPECT_EQ(combining.byte_offsets[2].begin, 4U);

  json kept = wordpiece();
  kept["normalizer"]["strip_accents"] = false;
  EXPECT_THAT(encode(kept, "Joki\u0107").ids, ElementsAre(0));
  kept["normalizer"]["lowercase"] = false;
  EXPECT_THAT(encode(kept, "Jokic").ids, ElementsAre(0));
}

// huggingface/tokenizers#215: offsets refer to the original text.
TEST(WordPiece, KanaVoicedMarksAndOffsetsRefertoTheOriginal) {
  const Encoding e = encode(wordpiece(), "\u3070!\u306F\u3099!");  // precomposed ba, then ha with the mark
  EXPECT_THAT(e.ids, ElementsAre(13, 14, 13, 14));
  EXPECT_THAT(e.offsets, ElementsAre(Span{0, 1}, Span{1, 2}, Span{2, 3}, Span{4, 5}));
}

// huggingface/tokenizers#404.
TEST(WordPiece, EmojiCollapseToOneUnknownThatSpansThemAll) {
  const Encoding e = encode(wordpiece(), "a \U0001F600\U0001F601\U0001F602\U0001F603 b");
  EXPECT_THAT(e.ids, ElementsAre(9, 0, 10));
  EXPECT_THAT(e.offsets, ElementsAre(Span{0, 1}, Span{2, 6}, Span{7, 8}));
  EXPECT_THAT(e.byte_offsets, ElementsAre(Span{0, 1}, Span{2, 18}, Span{19, 20}));
}

// tensorflow/tensorflow#45684.
TEST(WordPiece, GreekLettersShiftBytesButNotCodePoints) {
  const Encoding e = encode(wordpiece(), "\u0391\u0392 a");
  EXPECT_THAT(e.ids, ElementsAre(11, 12, 9));
  EXPECT_THAT(e.offsets, ElementsAre(Span{0, 1}, Span{1, 2}, Span{3, 4}));
  EXPECT_THAT(e.byte_offsets, ElementsAre(Span{0, 2}, Span{2, 4}, Span{5, 6}));
}

// skeskinen/bert.cpp#1: ideographs are words of their own; controls and zero-width characters go.
TEST(WordPiece, IdeographsControlsAndReplacementCharacters) {
  EXPECT_THAT(encode(wordpiece(), "a\u4E2D\u6587a").ids, ElementsAre(9, 15, 16, 9));
  EXPECT_THAT(encode(wordpiece(), std::string("a\0\u200B\uFFFD\u00ADa", 12)).ids, ElementsAre(9, 17));
  EXPECT_THAT(encode(wordpiece(), "a\u00A0\u3000\ta").ids, ElementsAre(9, 9));
  EXPECT_TRUE(encode(wordpiece(), "").ids.empty());
  EXPECT_THAT(encode(wordpiece(), "", {}).ids, ElementsAre(1, 2));
  EXPECT_TRUE(encode(wordpiece(), "\u200B").ids.empty());
}

TEST(WordPiece, VeryLongWordsAreOneUnknown) {
  EXPECT_EQ(encode(wordpiece(), std::string(100, 'a')).size(), 100U);
  EXPECT_THAT(encode(wordpiece(), std::string(101, 'a')).ids, ElementsAre(0));
  const Encoding e = encode(wordpiece(), std::string(10000, 'a') + " b");
  EXPECT_THAT(e.ids, ElementsAre(0, 10));
  EXPECT_THAT(e.offsets, ElementsAre(Span{0, 10000}, Span{10001, 10002}));
}

TEST(WordPiece, InvalidBytesAreReadAsReplacementCharacters) {
  json file = wordpiece();
  file["normalizer"]["clean_text"] = false;
  const Encoding e = encode(file, "a \xFF\xE4\xB8 b");
  EXPECT_THAT(e.ids, ElementsAre(9, 0, 10));
  EXPECT_THAT(e.offsets, ElementsAre(Span{0, 1}, Span{2, 4}, Span{5, 6}));
  EXPECT_THAT(e.byte_offsets, ElementsAre(Span{0, 1}, Span{2, 5}, Span{6, 7}));
}

TEST(WordPiece, PairsHaveTypesMasksAndSequences) {
  const Tokenizer t = Tokenizer::parse(wordpiece().dump());
  const Encoding e = t.encode("unaffable", "a b");
  EXPECT_THAT(e.ids, ElementsAre(1, 6, 7, 8, 2, 9, 10, 2));
  EXPECT_THAT(e.type_ids, ElementsAre(0, 0, 0, 0, 0, 1, 1, 1));
  EXPECT_THAT(e.special_tokens_mask, ElementsAre(1, 0, 0, 0, 1, 0, 0, 1));
  EXPECT_THAT(e.sequence_ids, ElementsAre(-1, 0, 0, 0, -1, 1, 1, -1));
  EXPECT_THAT(e.word_ids, ElementsAre(-1, 0, 0, 0, -1, 0, 1, -1));
  EXPECT_THAT(e.tokens, ElementsAre("[CLS]", "un", "##aff", "##able", "[SEP]", "a", "b", "[SEP]"));
  EXPECT_EQ(t.decode(e.ids), "unaffable a b");
  EXPECT_EQ(t.decode(e.ids, false), "[CLS] unaffable [SEP] a b [SEP]");
}

TEST(Bpe, LowestRankFirstThenLeftmost) {
  EXPECT_THAT(encode(bpe(), "abc").ids, ElementsAre(0, 4));
  EXPECT_THAT(encode(bpe(), "ababc").ids, ElementsAre(3, 0, 4));
  json whole = bpe();
  whole["model"]["ignore_merges"] = true;
  EXPECT_THAT(encode(whole, "abc").ids, ElementsAre(5));
}

TEST(Bpe, LongWordsMergeAsShortOnes) {
  // Beyond a certain length a heap finds the merges; cutting the word at c, which no merge spans, must not matter.
  std::string word;
  std::vector<uint32_t> expected;
  for (int i = 0; i < 50; ++i) {
    word += i % 3 == 0 ? "abc" : i % 3 == 1 ? "bbc" : "ac";
    for (const uint32_t id : encode(bpe(), i % 3 == 0 ? "abc" : i % 3 == 1 ? "bbc" : "ac").ids) expected.push_back(id);
  }
  EXPECT_EQ(encode(bpe(), word).ids, expected);
}

TEST(Bpe, UnknownCharactersFuseOrFallBackToBytes) {
  json file = bpe();
  EXPECT_THAT(encode(file, "ax\u00E9\u00E9b").ids, ElementsAre(0, 6, 6, 6, 1));
  file["model"]["fuse_unk"] = true;
  EXPECT_THAT(encode(file, "ax\u00E9\u00E9b").ids, ElementsAre(0, 6, 1));
  EXPECT_THAT(encode(file, "ax\u00E9\u00E9b").offsets, ElementsAre(Span{0, 1}, Span{1, 4}, Span{4, 5}));
  file["model"]["byte_fallback"] = true;
  EXPECT_THAT(encode(file, "a\u00E9b").ids, ElementsAre(0, 7, 8, 1));
  file["model"].erase("unk_token");
  EXPECT_THAT(encode(file, "cxa").ids, ElementsAre(2, 0));
}

// ggml-org/llama.cpp#2810, #7036, #23252: what we do not know is refused by name, not guessed.
TEST(TokenizerJson, ComponentsThatWeDoNotKnowAreRefusedByNameAndPath) {
  for (const char* part : {"normalizer", "pre_tokenizer", "post_processor", "decoder", "model"}) {
    json file = wordpiece();
    file[part] = {{"type", "Frobnicate"}};
    expect_error(file, ErrorCode::kUnsupported, "'Frobnicate' at $." + std::string(part));
  }
  json file = wordpiece();
  file["pre_tokenizer"] = {{"type", "Sequence"},
                           {"pretokenizers", {{{"type", "Whitespace"}}, {{"type", "UnicodeScripts"}}}}};
  expect_error(file, ErrorCode::kUnsupported, "'UnicodeScripts' at $.pre_tokenizer.pretokenizers[1]");
  file = wordpiece();
  file["model"] = {{"type", "Unigram"}, {"vocab", json::array()}};
  expect_error(file, ErrorCode::kUnsupported, "'Unigram' at $.model");
  file = bpe();
  file["model"]["dropout"] = 0.1;
  expect_error(file, ErrorCode::kUnsupported, "$.model.dropout");
}

TEST(TokenizerJson, WrongValuesAreNamedWithTheirPath) {
  const auto with = [](const char* pointer, const json& value) {
    json file = wordpiece();
    file[json::json_pointer(pointer)] = value;
    return file;
  };
  expect_error(with("/version", "2.0"), ErrorCode::kBadFile, "$.version");
  expect_error(with("/model/vocab", 3), ErrorCode::kBadFile, "$.model.vocab");
  expect_error(with("/model/vocab/a", -1), ErrorCode::kBadFile, "token 'a'");
  expect_error(with("/model/unk_token", 1), ErrorCode::kBadFile, "$.model.unk_token: expected a string, found number");
  expect_error(with("/normalizer/lowercase", "yes"), ErrorCode::kBadFile, "$.normalizer.lowercase");
  expect_error(with("/added_tokens/0/content", nullptr), ErrorCode::kBadFile,
               "$.added_tokens[0]: member 'content' is missing");
  expect_error(with("/post_processor/single/0/SpecialToken/id", "[X]"), ErrorCode::kBadFile, "'[X]' is not among");
  expect_error(with("/post_processor/single/1/Sequence/id", "B"), ErrorCode::kBadFile,
               "$.post_processor.single[1].Sequence.id");
  expect_error(with("/pre_tokenizer", {{"type", "Split"}, {"pattern", {{"Regex", "("}}}, {"behavior", "Isolated"}}),
               ErrorCode::kBadFile, "$.pre_tokenizer.pattern.Regex");
  expect_error(with("/truncation", {{"max_length", 1.5}}), ErrorCode::kBadFile, "$.truncation.max_length");
  json file = bpe();
  file["model"]["merges"][1] = "a";
  expect_error(file, ErrorCode::kBadFile, "$.model.merges[1]");
  file["model"]["merges"][1] = {"a", "zz"};
  expect_error(file, ErrorCode::kBadFile, "token 'zz'");
}

TEST(TokenizerJson, TextThatIsNotJsonIsBadFile) {
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), std::string("{\"a\": \"\xFF\"}"), std::string(100000, '['),
        "{\"model\":" + std::string(300, '[') + std::string(300, ']') + "}"})
    EXPECT_THROW(Tokenizer::parse(text), Error);
  EXPECT_THROW(Tokenizer::load("/nonexistent/tokenizer.json"), Error);
}

TEST(AddedTokens, AreCutOutBeforeAndAfterNormalization) {
  json file = wordpiece();
  file["added_tokens"].push_back(
      {{"id", 19}, {"content", "[MASK]"}, {"lstrip", true}, {"special", true}, {"normalized", false}});
  file["added_tokens"].push_back({{"id", 20}, {"content", "B\u00E9"}, {"single_word", true}, {"normalized", true}});
  const Tokenizer t = Tokenizer::parse(file.dump());
  EXPECT_EQ(t.vocab_size(), 21U);
  EXPECT_EQ(t.vocab_size(false), 19U);
  const Encoding e = t.encode("a  [MASK]a BE\u0301 bea", kPlain);
  EXPECT_THAT(e.ids, ElementsAre(9, 19, 9, 20, 0));
  EXPECT_EQ(e.tokens[1], "  [MASK]");
  EXPECT_EQ(e.offsets[1], (Span{1, 9}));
  EXPECT_EQ(e.offsets[3], (Span{11, 13}));
  EXPECT_EQ(t.token_to_id("[MASK]"), 19U);
  EXPECT_EQ(t.id_to_token(20), "be");
  EXPECT_EQ(t.id_to_token(500), std::nullopt);
}

// OpenNMT/CTranslate2#1157, #1646, #819, #587: too long, empty and impossible inputs.
TEST(Truncation, WindowsOverlapByTheStrideAndCoverEverything) {
  const Tokenizer t = Tokenizer::parse(wordpiece().dump());
  std::string passage;
  for (int i = 0; i < 97; ++i) passage += i % 2 == 0 ? "a " : "b ";
  EncodeOptions options;
  options.truncation = Truncation{16, 4, TruncationStrategy::kOnlySecond};
  const auto windows = take_windows(t.encode("c", passage, options));
  ASSERT_GT(windows.size(), 5U);
  uint32_t covered = 0;
  for (size_t w = 0; w < windows.size(); ++w) {
    const Encoding& e = windows[w];
    EXPECT_LE(e.size(), 16U);
    EXPECT_EQ(e.ids[1], 18U);
    std::vector<Span> spans;
    for (size_t i = 0; i < e.size(); ++i)
      if (e.sequence_ids[i] == 1) spans.push_back(e.offsets[i]);
    ASSERT_FALSE(spans.empty());
    if (w > 0) {
      EXPECT_EQ(spans[3].end, covered);  // four tokens in common
    }
    covered = spans.back().end;
  }
  EXPECT_EQ(covered, 2 * 97U - 1);
}

TEST(Truncation, ImpossibleRequestsAreInvalidArgument) {
  const Tokenizer t = Tokenizer::parse(wordpiece().dump());
  const auto refused = [&](const Truncation& truncation, bool pair) {
    EncodeOptions options;
    options.truncation = truncation;
    try {
      pair ? t.encode("a a a a a a", "a b a b", options) : t.encode("a a a a a a", options);
      return false;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::kInvalidArgument) << e.what();
      return true;
    }
  };
  EXPECT_TRUE(refused({1, 0}, false));                                   // no room for [CLS] and [SEP]
  EXPECT_TRUE(refused({4, 2}, false));                                   // stride fills the room
  EXPECT_TRUE(refused({4, 0, TruncationStrategy::kOnlySecond}, false));  // no second text
  EXPECT_TRUE(refused({5, 0, TruncationStrategy::kOnlySecond}, true));   // the first alone is too long
  EXPECT_FALSE(refused({4, 1}, false));
}

TEST(Truncation, NoRoomForTextGivesSpecialTokensOnly) {
  const Tokenizer t = Tokenizer::parse(wordpiece().dump());
  EncodeOptions options;
  options.truncation = Truncation{2, 0};
  EXPECT_THAT(t.encode("a a a", options).ids, ElementsAre(1, 2));
  EXPECT_THAT(t.encode("", options).ids, ElementsAre(1, 2));
}

TEST(Padding, FillsBothSidesAndRoundsUp) {
  const Tokenizer t = Tokenizer::parse(wordpiece().dump());
  std::vector<Encoding> batch{t.encode("a"), t.encode("a b a")};
  Padding padding;
  padding.multiple_of = 4;
  padding.id = 7;
  padding.side = Side::kLeft;
  pad_batch(batch, padding);
  EXPECT_THAT(batch[0].ids, ElementsAre(7, 7, 7, 7, 7, 1, 9, 2));
  EXPECT_THAT(batch[0].attention_mask, ElementsAre(0, 0, 0, 0, 0, 1, 1, 1));
  EXPECT_EQ(batch[1].size(), 8U);
}

TEST(Tokenizer, IsSafeToShareBetweenThreads) {
  const Tokenizer t = Tokenizer::parse(bpe().dump());
  Rng rng(5);
  std::vector<std::string> words;
  for (int i = 0; i < 500; ++i) {
    std::string word;
    for (uint64_t n = 1 + rng.below(30); n > 0; --n) word.push_back("abc"[rng.below(3)]);
    words.push_back(word);
  }
  std::vector<std::vector<uint32_t>> expected;
  for (const std::string& word : words) expected.push_back(Tokenizer::parse(bpe().dump()).encode(word).ids);
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (size_t k = 0; k < wrong.size(); ++k)
    threads.emplace_back([&, k] {
      for (size_t i = 0; i < words.size(); ++i) wrong[k] += t.encode(words[i]).ids != expected[i];
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, testing::Each(0));
}

// What the `tokenizers` package said about a few awkward lines, kept in the project (make_goldens.py --small).
TEST(Tokenizer, EqualsTheCommittedGoldens) {
  const json golden = json::parse(read_text(std::string(ASSAY_SOURCE_DIR) + "/tests/text/small_golden.json"));
  const auto lines = golden["lines"].get<std::vector<std::string>>();
  ASSERT_GE(lines.size(), 50U);
  for (const json& entry : golden["tokenizers"]) {
    const Tokenizer t = Tokenizer::parse(entry["json"].dump());
    ASSERT_EQ(entry["records"].size(), lines.size());
    for (size_t i = 0; i < lines.size(); ++i) {
      SCOPED_TRACE(lines[i]);
      const json& record = entry["records"][i];
      const std::string& partner = lines[lines.size() - 1 - i];
      const Encoding e = t.encode(lines[i]);
      EXPECT_EQ(e.ids, record["ids"].get<std::vector<uint32_t>>());
      std::vector<Span> offsets;
      for (const json& pair : record["offsets"]) offsets.push_back({pair[0].get<uint32_t>(), pair[1].get<uint32_t>()});
      EXPECT_EQ(e.offsets, offsets);
      EXPECT_EQ(t.decode(e.ids), record["text"].get<std::string>());
      const Encoding pair = t.encode(lines[i], partner);
      EXPECT_EQ(pair.ids, record["pair_ids"].get<std::vector<uint32_t>>());
      EXPECT_EQ(pair.type_ids, record["pair_types"].get<std::vector<uint32_t>>());
      EXPECT_EQ(pair.special_tokens_mask, record["pair_mask"].get<std::vector<uint8_t>>());
      EncodeOptions options;
      options.truncation = Truncation{12, 3};
      std::vector<std::vector<uint32_t>> windows;
      for (const Encoding& w : take_windows(t.encode(lines[i], partner, options))) windows.push_back(w.ids);
      EXPECT_EQ(windows, record["windows"].get<std::vector<std::vector<uint32_t>>>());
    }
  }
}

}  // namespace
}  // namespace assay::text
