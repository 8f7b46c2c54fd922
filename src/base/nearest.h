#pragma once

#include <span>
#include <string>
#include <string_view>

namespace assay {

/// The name closest to `word` by edit distance, for "did you mean"; empty when none is within a third of its length (at
/// least 2).
std::string nearest_name(std::string_view word, std::span<const std::string> names);

/// "; did you mean 'x'?" or, with no near name, "; known: a, b, c" (40 at most).
std::string nearest_hint(std::string_view word, std::span<const std::string> names);

}  // namespace assay
