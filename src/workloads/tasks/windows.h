#pragma once

#include <cstdint>
#include <vector>

namespace assay::workloads {

/// A stretch of a passage's tokens: [begin, begin + count).
struct Window {
  int64_t begin = 0, count = 0;
};

/// Windows of at most `room` tokens over a passage of `tokens`, each beginning `stride` tokens after the one before
/// (BERT: start += min(count, stride)) until the passage is covered. An empty passage has one empty window.
/// InvalidArgument unless room and stride are at least 1.
std::vector<Window> passage_windows(int64_t tokens, int64_t room, int64_t stride);

/// For each token of the passage the window that sees most around it: the largest min(left, right) context + 0.01 x
/// window length, ties to the first.
std::vector<int64_t> best_window(const std::vector<Window>& windows, int64_t tokens);

}  // namespace assay::workloads
