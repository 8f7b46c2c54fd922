#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace assay::text {

/// A trie over bytes with a 32-bit value for each key. Edges live in one open-addressing table (node and byte to
/// child), so a step costs one probe or two, whatever the fan-out.
class ByteTrie {
 public:
  struct Match {
    uint32_t length, value;
  };

  ByteTrie();
  /// Adds or replaces a non-empty key. Throws ResourceExhausted beyond 2^24 nodes.
  void insert(std::string_view key, uint32_t value);
  /// The longest key that `text` starts with.
  std::optional<Match> longest(std::string_view text) const {
    uint32_t node = 0;
    std::optional<Match> best;
    for (uint32_t i = 0; i < text.size(); ++i) {
      node = child(node, static_cast<unsigned char>(text[i]));
      if (node == 0) break;
      if (values_[node] != kNone) best = {i + 1, static_cast<uint32_t>(values_[node])};
    }
    return best;
  }
  bool empty() const { return values_.size() == 1; }

 private:
  struct Edge {
    uint32_t key = 0;  // node << 8 | byte, plus one so that 0 is free
    uint32_t child = 0;
  };
  static constexpr int64_t kNone = -1;
  static constexpr uint32_t kMaxNodes = (1u << 24) - 1;

  size_t slot(uint32_t key) const { return (key * 0x9E3779B97F4A7C15ULL) >> shift_; }
  /// 0 where there is none (the root is nobody's child).
  uint32_t child(uint32_t node, unsigned char byte) const {
    const uint32_t key = (node << 8 | byte) + 1;
    for (size_t i = slot(key);; i = (i + 1) & (edges_.size() - 1)) {
      if (edges_[i].key == key) return edges_[i].child;
      if (edges_[i].key == 0) return 0;
    }
  }
  void grow();
  void place(Edge edge);

  std::vector<Edge> edges_;
  int shift_;
  std::vector<int64_t> values_;  // of each node
};

}  // namespace assay::text
