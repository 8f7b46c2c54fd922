#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "quant/scheme.h"

namespace assay::quant {

/// A graph and where it stands: the main graph, or the body of a node of another scope.
struct Scope {
  Graph* graph = nullptr;
  Scope* parent = nullptr;
  NodeId holder = kNoNode;  ///< the node of the parent whose body this is
  std::string path;         ///< "" for the main graph, "If 'n'/then_branch" below
};

/// A value in the scope it lives in.
struct Located {
  Scope* scope = nullptr;
  ValueId value = kNoValue;
  bool operator<(const Located& o) const { return std::pair(scope, value) < std::pair(o.scope, o.value); }
  bool operator==(const Located&) const = default;
};

/// A model made ready to be quantized: functions inlined, constants and what weights are computed from folded, opset
/// high enough for the scheme, element types known, every value named.
class Prepared {
 public:
  Prepared(Model model, const QuantScheme& scheme);

  Model model;
  std::vector<std::string> notes;  ///< what was changed to get here

  /// The main graph first, then bodies, each after what holds it.
  const std::vector<std::unique_ptr<Scope>>& scopes() const { return scopes_; }
  /// Follows captures outward to where a value is made.
  Located locate(Scope& scope, ValueId value) const;
  const Tensor* constant(const Located& at) const { return at.scope->graph->constant(at.value); }
  /// The value as seen in `scope`, captured into every body on the way.
  ValueId import(const Located& from, Scope& scope);
  /// `base`, or `base` with a number, whichever no value has; reserved from now on.
  std::string fresh_name(const std::string& base);
  /// The same for nodes.
  std::string fresh_node_name(const std::string& base);

 private:
  void add_scopes(Graph& graph, Scope* parent, NodeId holder, std::string path);
  void fold_constant_nodes(Graph& graph);
  void fold_weights(const QuantScheme& scheme);
  void name_values(Graph& graph);

  std::vector<std::unique_ptr<Scope>> scopes_;
  std::set<std::string, std::less<>> names_, node_names_;
};

/// Opset of ONNX that a scheme's operators need.
int needed_opset(const QuantScheme& scheme);

}  // namespace assay::quant
