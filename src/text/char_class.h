#pragma once

#include <cstdint>

namespace assay::text {

/// What a code point is to the `tokenizers` package (see make_unicode_tables.py), as bits.
enum CharBit : uint16_t {
  kOtherBit = 1 << 0,           ///< control, format, private use: dropped by BertNormalizer's clean_text
  kMarkBit = 1 << 1,            ///< any combining mark: StripAccents
  kNonspacingMarkBit = 1 << 2,  ///< Mn: BertNormalizer's strip_accents
  kPunctuationBit = 1 << 3,     ///< BertPreTokenizer and Punctuation, ASCII symbols included
  kNumericBit = 1 << 4,         ///< Digits
  kWhiteBit = 1 << 5,           ///< White_Space
  kWordBit = 1 << 6,            ///< \w of Whitespace and of single_word
  kLetterBit = 1 << 7,          ///< \p{L} of regular expressions
  kNumberBit = 1 << 8           ///< \p{N} of regular expressions
};

/// The bits of a code point below 0x110000.
uint16_t char_bits(char32_t c);
inline bool is_white(char32_t c) { return (char_bits(c) & kWhiteBit) != 0; }
inline bool is_word(char32_t c) { return (char_bits(c) & kWordBit) != 0; }

/// Han ideographs as BERT takes them: the CJK blocks, without kana and hangul.
bool is_chinese(char32_t c);

/// Lower case; of U+0130, which alone has two characters, the first (the second is U+0307).
char32_t to_lower(char32_t c);

}  // namespace assay::text
