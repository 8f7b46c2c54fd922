#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay::workloads {

/// The normal form of SQuAD v1.1's evaluate script: Unicode lower case, ASCII punctuation dropped, the words a, an, the
/// replaced by a space, white space squeezed. Words are bounded as Python's \b bounds them.
std::string normalize_answer(std::string_view text);

/// 1 when the normal forms are equal, else 0; the best over the references (0 when there are none).
double squad_exact_match(std::string_view prediction, const std::vector<std::string>& references);
/// Harmonic mean of precision and recall over the words of the normal forms, as multisets; the best over the
/// references.
double squad_f1(std::string_view prediction, const std::vector<std::string>& references);

}  // namespace assay::workloads
