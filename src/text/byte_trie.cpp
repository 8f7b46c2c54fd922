#include "text/byte_trie.h"

#include <utility>

#include "base/error.h"

namespace assay::text {

ByteTrie::ByteTrie() : edges_(64), shift_(58), values_(1, kNone) {}

void ByteTrie::place(Edge edge) {
  size_t i = slot(edge.key);
  while (edges_[i].key != 0) i = (i + 1) & (edges_.size() - 1);
  edges_[i] = edge;
}

void ByteTrie::grow() {
  std::vector<Edge> old(edges_.size() * 2);
  old.swap(edges_);
  --shift_;
  for (const Edge& edge : old)
    if (edge.key != 0) place(edge);
}

void ByteTrie::insert(std::string_view key, uint32_t value) {
  uint32_t node = 0;
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    uint32_t next = child(node, byte);
    if (next == 0) {
      require(values_.size() < kMaxNodes, ErrorCode::kResourceExhausted, "vocabulary needs more than {} trie nodes",
              kMaxNodes);
      next = static_cast<uint32_t>(values_.size());
      values_.push_back(kNone);
      if (values_.size() * 2 > edges_.size()) grow();
      place({(node << 8 | byte) + 1, next});
    }
    node = next;
  }
  values_[node] = value;
}

}  // namespace assay::text
