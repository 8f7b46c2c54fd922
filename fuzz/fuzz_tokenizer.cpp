// A tokenizer.json and a text from the fuzzer: only assay::Error may come out of reading, encoding and decoding.
//
// The input is the JSON, a zero byte, and the text.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/tokenizer.h"

namespace {

void check(bool ok) {
  if (!ok) __builtin_trap();
}

void check_encoding(const assay::text::Encoding& e, const std::vector<std::string_view>& texts) {
  const size_t n = e.size();
  check(e.type_ids.size() == n && e.tokens.size() == n && e.offsets.size() == n && e.byte_offsets.size() == n);
  check(e.word_ids.size() == n && e.sequence_ids.size() == n && e.special_tokens_mask.size() == n &&
        e.attention_mask.size() == n);
  for (size_t i = 0; i < n; ++i) {
    if (e.sequence_ids[i] < 0) continue;
    check(e.byte_offsets[i].end <= texts[static_cast<size_t>(e.sequence_ids[i])].size());
  }
  for (const auto& window : e.overflowing) check_encoding(window, texts);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t cut = input.find('\0');
  const std::string_view json = input.substr(0, cut);
  const std::string_view text = cut == std::string_view::npos ? std::string_view() : input.substr(cut + 1);
  try {
    const assay::text::Tokenizer tokenizer = assay::text::Tokenizer::parse(json);
    // Windows of a pair multiply: short texts keep a run to milliseconds.
    const std::string_view first = text.substr(0, 200), second = text.substr(text.size() / 2).substr(0, 100);
    assay::text::EncodeOptions options;
    for (int pass = 0; pass < 3; ++pass) {
      try {
        if (pass == 1) options.truncation = tokenizer.truncation();
        if (pass == 2) options.truncation = assay::text::Truncation{7, 2};
        check_encoding(tokenizer.encode(text, options), {text});
        auto pair = tokenizer.encode(first, second, options);
        check_encoding(pair, {first, second});
        tokenizer.decode(pair.ids, pass == 0);
        if (tokenizer.padding() && tokenizer.padding()->fixed_length.value_or(0) < 10000 &&
            tokenizer.padding()->multiple_of.value_or(0) < 10000)
          assay::text::pad_batch(std::span(&pair, 1), *tokenizer.padding());
      } catch (const assay::Error&) {
      }
    }
  } catch (const assay::Error&) {
  }
  return 0;
}
