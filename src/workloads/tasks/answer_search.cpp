#include "workloads/tasks/answer_search.h"

#include <algorithm>
#include <numeric>

namespace assay::workloads {
namespace {

std::vector<int64_t> best(std::span<const float> logits, int64_t n) {
  std::vector<int64_t> order(logits.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  const auto count = std::min(order.size(), static_cast<size_t>(n));
  std::partial_sort(order.begin(), order.begin() + static_cast<int64_t>(count), order.end(), [&](int64_t a, int64_t b) {
    const float x = logits[static_cast<size_t>(a)], y = logits[static_cast<size_t>(b)];
    return x > y || (x == y && a < b);
  });
  order.resize(count);
  return order;
}

}  // namespace

std::vector<SpanCandidate> answer_candidates(std::span<const float> start, std::span<const float> end, int64_t passage,
                                             const std::vector<bool>& owned, int64_t n_best, int64_t max_answer) {
  std::vector<SpanCandidate> out;
  const auto beyond = passage + static_cast<int64_t>(owned.size());
  const auto ends = best(end, n_best);
  for (int64_t s : best(start, n_best)) {
    if (s < passage || s >= beyond || !owned[static_cast<size_t>(s - passage)]) continue;
    for (int64_t e : ends)
      if (e >= s && e < beyond && e - s < max_answer)
        out.push_back({double{start[static_cast<size_t>(s)]} + double{end[static_cast<size_t>(e)]}, s, e});
  }
  return out;
}

}  // namespace assay::workloads
