#pragma once

#include <span>
#include <utility>
#include <vector>

namespace assay::text {

enum class NormalForm { kNfd, kNfkd, kNfc, kNfkc };

/// A character of a changed text and how it came to be: 0 stands for the next source character, +1 is inserted, -n
/// stands for the next source character and swallows the n after it.
struct Change {
  char32_t c;
  int change;
};

/// The normal form of `text`, as changes, by the data of Unicode 9 (which is what the `tokenizers` package applies:
/// later characters neither decompose nor reorder).
std::vector<Change> normal_form(std::span<const char32_t> text, NormalForm form);

}  // namespace assay::text
