#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace assay::workloads {

/// A stretch of a passage's tokens that may be the answer.
struct SpanCandidate {
  double score = 0;             ///< start logit + end logit
  int64_t first = 0, last = 0;  ///< tokens of the row, both included
};

/// Pairs the `n_best` best starts with the `n_best` best ends of a row (ties to the earlier token) and keeps the pairs
/// that lie in the passage [passage, passage + passage_tokens), run forward, are at most `max_answer` tokens long and
/// begin at a token of `owned` (one flag a passage token). In order of starts, then ends, best first.
std::vector<SpanCandidate> answer_candidates(std::span<const float> start, std::span<const float> end, int64_t passage,
                                             const std::vector<bool>& owned, int64_t n_best, int64_t max_answer);

}  // namespace assay::workloads
