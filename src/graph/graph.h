#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tensor/tensor.h"

namespace assay {

using ValueId = int32_t;
using NodeId = int32_t;
/// An absent optional input or output.
constexpr ValueId kNoValue = -1;
constexpr NodeId kNoNode = -1;

/// One dimension of a type: a size, a named symbol ("batch"), or unknown.
struct Dim {
  int64_t size = -1;
  std::string symbol;
  bool known() const { return size >= 0; }
  bool operator==(const Dim&) const = default;
};

/// What is known before running. `dims` is absent when not even the rank is known.
struct TensorType {
  DType dtype = DType::kUndefined;
  std::optional<std::vector<Dim>> dims;
  /// Sequence, optional, map and sparse types: the ONNX TypeProto, serialized, kept for writing back.
  std::string other;
};

class Graph;

/// Inside a function body: the attribute takes the value given at the call site.
struct AttributeRef {
  std::string name;
  int32_t type = 0;  ///< ONNX AttributeProto.AttributeType
};
/// An attribute kind the IR has no use for (sparse tensors, type protos), serialized, kept for writing back.
struct RawAttribute {
  int32_t type = 0;
  std::string bytes;
};
using Attribute = std::variant<int64_t, float, std::string, Tensor, std::shared_ptr<Graph>, std::vector<int64_t>,
                               std::vector<float>, std::vector<std::string>, std::vector<Tensor>,
                               std::vector<std::shared_ptr<Graph>>, AttributeRef, RawAttribute>;

/// An operator application. `domain` "" is ONNX's own; "assay" holds the fused operators that passes make.
struct Node {
  std::string name;
  std::string domain;
  std::string op_type;
  int version = 0;  ///< opset version of `domain` that gives op_type its meaning
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::map<std::string, Attribute, std::less<>> attributes;
  std::string doc;
  std::string overload;  ///< which of several functions of this name is called (ONNX FunctionProto.overload)

  bool is(std::string_view type, std::string_view in_domain = "") const {
    return op_type == type && domain == in_domain;
  }
  /// kNoValue when absent or beyond the list.
  ValueId input(size_t i) const { return i < inputs.size() ? inputs[i] : kNoValue; }
  ValueId output(size_t i) const { return i < outputs.size() ? outputs[i] : kNoValue; }

  bool has(std::string_view attribute) const { return attributes.find(attribute) != attributes.end(); }
  /// The attribute, or `otherwise` when absent; BadFile naming node and attribute when it has another type.
  int64_t get_int(std::string_view attribute, int64_t otherwise) const;
  float get_float(std::string_view attribute, float otherwise) const;
  std::string get_string(std::string_view attribute, std::string_view otherwise) const;
  std::vector<int64_t> get_ints(std::string_view attribute, std::vector<int64_t> otherwise = {}) const;
  std::vector<float> get_floats(std::string_view attribute, std::vector<float> otherwise = {}) const;
  std::vector<std::string> get_strings(std::string_view attribute) const;
  /// nullptr when absent.
  const Tensor* get_tensor(std::string_view attribute) const;
  /// nullptr when absent.
  std::shared_ptr<Graph> get_graph(std::string_view attribute) const;
  /// "MatMul 'encoder/0/q'": how messages call it.
  std::string label() const;
};

/// An edge: produced by one node, or a graph input, a captured outer value, or a constant.
struct Value {
  std::string name;  ///< unique in the file; may be empty inside (names are made unique when written)
  TensorType type;
  Tensor constant;  ///< set for initializers and folded constants
  NodeId producer = kNoNode;
  std::vector<NodeId> users;  ///< each using node once per use, in no promised order
};

/// A value of the enclosing graph seen inside a subgraph.
struct Capture {
  ValueId outer;
  ValueId inner;
};

/// A dataflow graph of nodes and values by integer id. Ids stay valid until compact(); erased nodes leave a hole
/// (`alive(id)` is false). Users and producers are kept true by the mutators below; edit edges only through them.
class Graph {
 public:
  std::string name;
  std::string doc;
  std::vector<ValueId> inputs;
  std::vector<Capture> captures;  ///< only in subgraphs

  // Values
  ValueId add_value(std::string value_name = {}, TensorType type = {});
  ValueId add_constant(Tensor tensor, std::string value_name = {});
  ValueId add_input(std::string value_name, TensorType type);
  size_t value_count() const { return values_.size(); }
  Value& value(ValueId id) { return values_[static_cast<size_t>(id)]; }
  const Value& value(ValueId id) const { return values_[static_cast<size_t>(id)]; }
  /// The constant behind a value, or nullptr (also for kNoValue, and for an input with a default, which a caller may
  /// replace: that one is only in Value::constant).
  const Tensor* constant(ValueId id) const;
  bool is_input(ValueId id) const;
  bool is_output(ValueId id) const;
  /// By name; kNoValue when there is none. Linear.
  ValueId find_value(std::string_view value_name) const;

  // Nodes
  /// Appends a node; sets it as producer of its outputs and user of its inputs and of what its subgraphs capture.
  NodeId add_node(Node node);
  /// A node with `n_outputs` fresh outputs.
  NodeId add_node(std::string op_type, std::vector<ValueId> node_inputs, size_t n_outputs = 1,
                  std::string node_name = {}, std::string domain = {}, int version = 0);
  bool alive(NodeId id) const { return alive_[static_cast<size_t>(id)]; }
  Node& node(NodeId id) { return nodes_[static_cast<size_t>(id)]; }
  const Node& node(NodeId id) const { return nodes_[static_cast<size_t>(id)]; }
  size_t node_slots() const { return nodes_.size(); }
  /// Alive nodes in a topological order, stable with regard to insertion. BadFile naming a node on a cycle.
  std::vector<NodeId> topological_order() const;
  /// The producer node of a value, or nullptr.
  const Node* producer(ValueId id) const;

  // Edges
  const std::vector<ValueId>& outputs() const { return outputs_; }
  void add_output(ValueId id) { outputs_.push_back(id); }
  void set_outputs(std::vector<ValueId> ids) { outputs_ = std::move(ids); }
  void set_input(NodeId node, size_t slot, ValueId value);
  /// Every use of `from` (node inputs, subgraph captures, and graph outputs unless told otherwise) becomes `to`.
  void replace_uses(ValueId from, ValueId to, bool outputs_too = true);
  /// Removes a node whose outputs nobody uses any more (Internal otherwise).
  void erase_node(NodeId id);
  /// Removes nodes that reach no output, then constants nobody uses. Returns how many nodes went.
  int remove_dead();

  /// All outer values that a node's subgraphs capture.
  static std::vector<ValueId> captured_by(const Node& node);
  /// Internal error when producers, users or ids disagree: run after each pass in tests and debug builds.
  void verify() const;
  /// A deep copy (subgraphs too); tensors share their memory.
  Graph clone() const;

 private:
  void add_user(ValueId value, NodeId node);
  void drop_user(ValueId value, NodeId node);

  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::vector<bool> alive_;
  std::vector<ValueId> outputs_;
};

/// A model-local function (ONNX FunctionProto): kept when files are rewritten, inlined before running.
struct Function {
  std::string domain, name, overload, doc;
  std::map<std::string, int> opsets;
  std::vector<std::string> attributes;        ///< names without default
  std::map<std::string, Attribute> defaults;  ///< attributes with default
  Graph body;
};

/// A whole model: main graph, functions, versions and metadata.
struct Model {
  Graph graph;
  std::vector<Function> functions;
  std::map<std::string, int> opsets;  ///< domain -> version; "" is ONNX's own
  int64_t ir_version = 10;
  std::string producer_name, producer_version, domain, doc;
  int64_t model_version = 0;
  std::map<std::string, std::string> metadata;
};

/// The subgraphs held by a node's attributes.
std::vector<Graph*> subgraphs(Node& node);
std::vector<const Graph*> subgraphs(const Node& node);

}  // namespace assay
