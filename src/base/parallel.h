#pragma once

#include <cstdint>

namespace assay {

/// Calls fn(begin, end) over disjoint ranges that cover [0, n), on `threads` OpenMP threads, the one thread pool.
/// Ranges are multiples of `grain` (the last may be short) and depend on `threads` only in how
/// they are cut, so fn must compute each item the same way whatever range it falls in. fn must not throw.
template <typename Fn>
void parallel_for(int threads, int64_t n, int64_t grain, const Fn& fn) {
  if (n <= 0) return;
  const int64_t chunks = (n + grain - 1) / grain;
  if (threads <= 1 || chunks <= 1) {
    fn(int64_t{0}, n);
    return;
  }
  const int used = static_cast<int>(chunks < threads ? chunks : threads);
#pragma omp parallel for num_threads(used) schedule(static)
  for (int t = 0; t < used; ++t) {
    const int64_t begin = chunks * t / used * grain;
    int64_t end = chunks * (t + 1) / used * grain;
    if (end > n) end = n;
    if (begin < end) fn(begin, end);
  }
}

}  // namespace assay
