#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/patterns.h"

namespace assay::patterns {

/// A graph with what the finders ask again and again.
class View {
 public:
  explicit View(const Graph& g);

  const Graph& graph() const { return graph_; }
  const std::vector<NodeId>& order() const { return order_; }
  /// Place of a node in topological order.
  int place(NodeId n) const { return place_[static_cast<size_t>(n)]; }
  NodeId producer(ValueId v) const { return v == kNoValue ? kNoNode : graph_.value(v).producer; }
  /// The producer when it is an ONNX operator of this type, else nullptr.
  const Node* producer_is(ValueId v, std::string_view type) const;
  /// Known before running: a constant, or computed from constants only.
  bool is_constant(ValueId v) const;
  /// The number behind a constant of one element, through Cast, Sqrt and the like.
  std::optional<double> scalar(ValueId v, int depth = 8) const;
  /// The value before any Cast, Identity or Dropout.
  ValueId strip(ValueId v) const;
  bool is_float(ValueId v) const;

 private:
  const Graph& graph_;
  std::vector<NodeId> order_;
  std::vector<int> place_;
  mutable std::vector<signed char> constant_;  // -1 unknown
};

/// Cast, Identity, Dropout: the same numbers pass.
bool passes_through(const Node& n);
/// Distinct operator types of some nodes in running order: "ReduceMean/Sub/Pow".
std::string spelling_of(const View& view, std::vector<NodeId> nodes);

std::vector<PatternMatch> find_layernorm(const View& view, std::vector<PatternMiss>& misses);
std::vector<PatternMatch> find_gelu(const View& view, std::vector<PatternMiss>& misses);

}  // namespace assay::patterns
