#pragma once

#include <string>
#include <string_view>

namespace assay::workloads {

/// Words of BERT's basic tokenizer, joined by single spaces: control characters dropped, CJK characters and punctuation
/// apart, with `lower_case` also lower-cased and without accents.
std::string basic_tokens(std::string_view text, bool lower_case);

/// The part of `original` (whitespace words joined by spaces) that `predicted` (word pieces joined by spaces) stands
/// for: run_squad's get_final_text. `original` itself when the two cannot be aligned character by character.
std::string align_answer(std::string_view predicted, std::string_view original, bool lower_case);

}  // namespace assay::workloads
