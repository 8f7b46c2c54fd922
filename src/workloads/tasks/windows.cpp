#include "workloads/tasks/windows.h"

#include <algorithm>

#include "base/error.h"

namespace assay::workloads {

std::vector<Window> passage_windows(int64_t tokens, int64_t room, int64_t stride) {
  require(room >= 1 && stride >= 1, ErrorCode::kInvalidArgument,
          "windows of {} passage tokens that advance by {} cover nothing", room, stride);
  std::vector<Window> out;
  for (int64_t begin = 0;;) {
    const int64_t count = std::min(room, tokens - begin);
    out.push_back({begin, count});
    if (begin + count >= tokens) return out;
    begin += std::min(count, stride);
  }
}

std::vector<int64_t> best_window(const std::vector<Window>& windows, int64_t tokens) {
  std::vector<int64_t> owner(static_cast<size_t>(tokens), -1);
  std::vector<double> score(static_cast<size_t>(tokens), -1.0);
  for (size_t w = 0; w < windows.size(); ++w) {
    const auto [begin, count] = windows[w];
    for (int64_t t = begin; t < begin + count; ++t) {
      const double s =
          static_cast<double>(std::min(t - begin, begin + count - 1 - t)) + 0.01 * static_cast<double>(count);
      if (s > score[static_cast<size_t>(t)]) {
        score[static_cast<size_t>(t)] = s;
        owner[static_cast<size_t>(t)] = static_cast<int64_t>(w);
      }
    }
  }
  return owner;
}

}  // namespace assay::workloads
