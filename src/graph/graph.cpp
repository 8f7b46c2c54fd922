#include "graph/graph.h"

#include <algorithm>
#include <queue>

namespace assay {
namespace {

template <typename T>
const T* find_attribute(const Node& node, std::string_view name, std::string_view wanted) {
  const auto it = node.attributes.find(name);
  if (it == node.attributes.end()) return nullptr;
  const T* value = std::get_if<T>(&it->second);
  if (value == nullptr)
    throw Error(ErrorCode::kBadFile, fmt::format("attribute '{}' is not {}", name, wanted)).at("node", node.label());
  return value;
}

}  // namespace

int64_t Node::get_int(std::string_view attribute, int64_t otherwise) const {
  const auto* v = find_attribute<int64_t>(*this, attribute, "an integer");
  return v != nullptr ? *v : otherwise;
}

float Node::get_float(std::string_view attribute, float otherwise) const {
  const auto* v = find_attribute<float>(*this, attribute, "a float");
  return v != nullptr ? *v : otherwise;
}

std::string Node::get_string(std::string_view attribute, std::string_view otherwise) const {
  const auto* v = find_attribute<std::string>(*this, attribute, "a string");
  return v != nullptr ? *v : std::string(otherwise);
}

std::vector<int64_t> Node::get_ints(std::string_view attribute, std::vector<int64_t> otherwise) const {
  const auto* v = find_attribute<std::vector<int64_t>>(*this, attribute, "a list of integers");
  return v != nullptr ? *v : std::move(otherwise);
}

std::vector<float> Node::get_floats(std::string_view attribute, std::vector<float> otherwise) const {
  const auto* v = find_attribute<std::vector<float>>(*this, attribute, "a list of floats");
  return v != nullptr ? *v : std::move(otherwise);
}

std::vector<std::string> Node::get_strings(std::string_view attribute) const {
  const auto* v = find_attribute<std::vector<std::string>>(*this, attribute, "a list of strings");
  return v != nullptr ? *v : std::vector<std::string>{};
}

const Tensor* Node::get_tensor(std::string_view attribute) const {
  return find_attribute<Tensor>(*this, attribute, "a tensor");
}

std::shared_ptr<Graph> Node::get_graph(std::string_view attribute) const {
  const auto* v = find_attribute<std::shared_ptr<Graph>>(*this, attribute, "a graph");
  return v != nullptr ? *v : nullptr;
}

std::string Node::label() const {
  const std::string type = domain.empty() ? op_type : domain + "." + op_type;
  return name.empty() ? type : fmt::format("{} '{}'", type, name);
}

ValueId Graph::add_value(std::string value_name, TensorType type) {
  Value v;
  v.name = std::move(value_name);
  v.type = std::move(type);
  values_.push_back(std::move(v));
  return static_cast<ValueId>(values_.size() - 1);
}

ValueId Graph::add_constant(Tensor tensor, std::string value_name) {
  TensorType type;
  type.dtype = tensor.dtype();
  type.dims.emplace();
  for (int64_t d : tensor.shape()) type.dims->push_back({d, {}});
  const ValueId id = add_value(std::move(value_name), std::move(type));
  value(id).constant = std::move(tensor);
  return id;
}

ValueId Graph::add_input(std::string value_name, TensorType type) {
  const ValueId id = add_value(std::move(value_name), std::move(type));
  inputs.push_back(id);
  return id;
}

const Tensor* Graph::constant(ValueId id) const {
  if (id == kNoValue) return nullptr;
  const Tensor& t = value(id).constant;
  return t && !is_input(id) ? &t : nullptr;
}

bool Graph::is_input(ValueId id) const { return std::find(inputs.begin(), inputs.end(), id) != inputs.end(); }
bool Graph::is_output(ValueId id) const { return std::find(outputs_.begin(), outputs_.end(), id) != outputs_.end(); }

ValueId Graph::find_value(std::string_view value_name) const {
  for (size_t i = 0; i < values_.size(); ++i)
    if (values_[i].name == value_name) return static_cast<ValueId>(i);
  return kNoValue;
}

void Graph::add_user(ValueId v, NodeId n) {
  if (v != kNoValue) value(v).users.push_back(n);
}

void Graph::drop_user(ValueId v, NodeId n) {
  if (v == kNoValue) return;
  auto& users = value(v).users;
  const auto it = std::find(users.begin(), users.end(), n);
  require(it != users.end(), ErrorCode::kInternal, "value {} does not know its user {}", v, n);
  users.erase(it);
}

NodeId Graph::add_node(Node new_node) {
  const auto id = static_cast<NodeId>(nodes_.size());
  for (ValueId v : new_node.inputs) add_user(v, id);
  for (ValueId v : captured_by(new_node)) add_user(v, id);
  for (ValueId v : new_node.outputs) {
    if (v == kNoValue) continue;
    require(value(v).producer == kNoNode && !value(v).constant, ErrorCode::kBadFile, "value '{}' is produced twice",
            value(v).name);
    value(v).producer = id;
  }
  nodes_.push_back(std::move(new_node));
  alive_.push_back(true);
  return id;
}

NodeId Graph::add_node(std::string op_type, std::vector<ValueId> node_inputs, size_t n_outputs, std::string node_name,
                       std::string domain, int version) {
  Node n;
  n.op_type = std::move(op_type);
  n.name = std::move(node_name);
  n.domain = std::move(domain);
  n.version = version;
  n.inputs = std::move(node_inputs);
  for (size_t i = 0; i < n_outputs; ++i) n.outputs.push_back(add_value());
  return add_node(std::move(n));
}

std::vector<NodeId> Graph::topological_order() const {
  std::vector<int> waiting(nodes_.size(), 0);
  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
  size_t alive_count = 0;
  const auto needs = [&](const Node& n) {
    int count = 0;
    for (ValueId v : n.inputs) count += v != kNoValue && value(v).producer != kNoNode;
    for (ValueId v : captured_by(n)) count += value(v).producer != kNoNode;
    return count;
  };
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (!alive_[i]) continue;
    ++alive_count;
    waiting[i] = needs(nodes_[i]);
    if (waiting[i] == 0) ready.push(static_cast<NodeId>(i));
  }
  std::vector<NodeId> order;
  order.reserve(alive_count);
  while (!ready.empty()) {
    const NodeId id = ready.top();
    ready.pop();
    order.push_back(id);
    for (ValueId v : node(id).outputs) {
      if (v == kNoValue) continue;
      for (NodeId user : value(v).users)
        if (--waiting[static_cast<size_t>(user)] == 0) ready.push(user);
    }
  }
  if (order.size() != alive_count) {
    for (size_t i = 0; i < nodes_.size(); ++i)
      if (alive_[i] && waiting[i] > 0)
        throw Error(ErrorCode::kBadFile, "the graph has a cycle").at("node", nodes_[i].label());
  }
  return order;
}

const Node* Graph::producer(ValueId id) const {
  if (id == kNoValue || value(id).producer == kNoNode) return nullptr;
  return &node(value(id).producer);
}

void Graph::set_input(NodeId n, size_t slot, ValueId v) {
  auto& node_inputs = node(n).inputs;
  while (node_inputs.size() <= slot) node_inputs.push_back(kNoValue);
  drop_user(node_inputs[slot], n);
  node_inputs[slot] = v;
  add_user(v, n);
}

void Graph::replace_uses(ValueId from, ValueId to, bool outputs_too) {
  const auto users = value(from).users;
  for (NodeId n : users) {
    for (ValueId& v : node(n).inputs)
      if (v == from) {
        v = to;
        drop_user(from, n);
        add_user(to, n);
      }
    for (Graph* g : subgraphs(node(n)))
      for (Capture& c : g->captures)
        if (c.outer == from) {
          c.outer = to;
          drop_user(from, n);
          add_user(to, n);
        }
  }
  if (outputs_too) std::replace(outputs_.begin(), outputs_.end(), from, to);
}

void Graph::erase_node(NodeId id) {
  Node& n = node(id);
  for (ValueId v : n.outputs) {
    if (v == kNoValue) continue;
    require(value(v).users.empty() && !is_output(v), ErrorCode::kInternal, "node {} is still used", n.label());
    value(v).producer = kNoNode;
  }
  for (ValueId v : n.inputs) drop_user(v, id);
  for (ValueId v : captured_by(n)) drop_user(v, id);
  n = Node{};
  alive_[static_cast<size_t>(id)] = false;
}

int Graph::remove_dead() {
  int removed = 0;
  const auto order = topological_order();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const auto& outs = node(*it).outputs;
    const bool used = std::any_of(outs.begin(), outs.end(), [&](ValueId v) {
      return v != kNoValue && (!value(v).users.empty() || is_output(v));
    });
    if (!used) {
      erase_node(*it);
      ++removed;
    }
  }
  for (size_t i = 0; i < values_.size(); ++i) {
    Value& v = values_[i];
    const auto id = static_cast<ValueId>(i);
    if (v.constant && v.users.empty() && !is_output(id) && !is_input(id)) v.constant = Tensor{};
  }
  return removed;
}

std::vector<ValueId> Graph::captured_by(const Node& n) {
  std::vector<ValueId> out;
  for (const Graph* g : subgraphs(n))
    for (const Capture& c : g->captures) out.push_back(c.outer);
  return out;
}

void Graph::verify() const {
  std::vector<std::vector<NodeId>> users(values_.size());
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (!alive_[i]) continue;
    const auto id = static_cast<NodeId>(i);
    const auto check = [&](ValueId v) {
      require(v >= kNoValue && v < static_cast<ValueId>(values_.size()), ErrorCode::kInternal, "node {} names value {}",
              nodes_[i].label(), v);
    };
    for (ValueId v : nodes_[i].inputs) {
      check(v);
      if (v != kNoValue) users[static_cast<size_t>(v)].push_back(id);
    }
    for (ValueId v : captured_by(nodes_[i])) {
      check(v);
      users[static_cast<size_t>(v)].push_back(id);
    }
    for (ValueId v : nodes_[i].outputs) {
      check(v);
      require(v == kNoValue || value(v).producer == id, ErrorCode::kInternal, "value {} does not name its producer {}",
              v, nodes_[i].label());
    }
    for (const Graph* g : subgraphs(nodes_[i])) g->verify();
  }
  for (size_t v = 0; v < values_.size(); ++v) {
    auto known = values_[v].users;
    std::sort(known.begin(), known.end());
    require(known == users[v], ErrorCode::kInternal, "users of value {} '{}' are out of date", v, values_[v].name);
    require(values_[v].producer == kNoNode || alive(values_[v].producer), ErrorCode::kInternal,
            "value {} has a dead producer", v);
  }
  for (ValueId v : outputs_)
    require(v >= 0 && v < static_cast<ValueId>(values_.size()), ErrorCode::kInternal, "output {} is out of range", v);
  topological_order();
}

Graph Graph::clone() const {
  Graph copy = *this;
  for (Node& n : copy.nodes_)
    for (auto& [key, attribute] : n.attributes) {
      if (auto* g = std::get_if<std::shared_ptr<Graph>>(&attribute)) *g = std::make_shared<Graph>((*g)->clone());
      if (auto* list = std::get_if<std::vector<std::shared_ptr<Graph>>>(&attribute))
        for (auto& g : *list) g = std::make_shared<Graph>(g->clone());
    }
  return copy;
}

std::vector<const Graph*> subgraphs(const Node& node) {
  std::vector<const Graph*> out;
  for (const auto& [key, attribute] : node.attributes) {
    if (const auto* g = std::get_if<std::shared_ptr<Graph>>(&attribute)) out.push_back(g->get());
    if (const auto* list = std::get_if<std::vector<std::shared_ptr<Graph>>>(&attribute))
      for (const auto& g : *list) out.push_back(g.get());
  }
  return out;
}

std::vector<Graph*> subgraphs(Node& node) {
  std::vector<Graph*> out;
  for (const Graph* g : subgraphs(std::as_const(node))) out.push_back(const_cast<Graph*>(g));
  return out;
}

}  // namespace assay
