#include "formats/onnx_write.h"

#include <onnx/onnx-ml.pb.h>

#include <algorithm>
#include <limits>
#include <sstream>
#include <unordered_map>
#include <unordered_set>

#include "base/checked.h"
#include "base/file.h"
#include "formats/onnx_message.h"
#include "formats/onnx_tensor.h"
#include "formats/onnx_type.h"

namespace assay {
namespace {

using Opsets = std::map<std::string, int>;

constexpr int64_t kMessageLimit = std::numeric_limits<int>::max();

/// Decides which tensors leave the message, and where in the external file each one goes.
class External {
 public:
  External(std::string location, int64_t threshold) : location_(std::move(location)), threshold_(threshold) {}

  /// Whether the tensor goes outside; if so `proto` gets type, shape and place.
  bool place(const Tensor& t, onnx::TensorProto& proto) {
    if (location_.empty() || t.dtype() == DType::kString || t.bytes() < threshold_) return false;
    const std::pair key{t.data(), t.bytes()};
    auto it = offsets_.find(key);
    if (it == offsets_.end()) {
      // Page alignment lets a reader map a tensor on its own; small ones only need a cache line.
      const int64_t alignment = t.bytes() >= 4096 ? 4096 : 64;
      const int64_t offset = checked_add(size_, alignment - 1) / alignment * alignment;
      it = offsets_.emplace(key, offset).first;
      size_ = checked_add(offset, t.bytes());
      tensors_.emplace_back(offset, t);
    }
    type_and_shape_to_proto(t, proto);
    proto.set_data_location(onnx::TensorProto::EXTERNAL);
    const auto add = [&](const char* name, std::string value) {
      auto& entry = *proto.add_external_data();
      entry.set_key(name);
      entry.set_value(std::move(value));
    };
    add("location", location_);
    add("offset", std::to_string(it->second));
    add("length", std::to_string(t.bytes()));
    return true;
  }

  bool empty() const { return tensors_.empty(); }

  void write(std::ostream& out) const {
    int64_t at = 0;
    for (const auto& [offset, tensor] : tensors_) {
      for (; at < offset; ++at) out.put('\0');
      out.write(static_cast<const char*>(tensor.data()), tensor.bytes());
      at += tensor.bytes();
    }
  }

 private:
  std::string location_;
  int64_t threshold_;
  int64_t size_ = 0;
  std::map<std::pair<const void*, int64_t>, int64_t> offsets_;
  std::vector<std::pair<int64_t, Tensor>> tensors_;
};

/// Names of one graph's values, unique among themselves and in the graphs around it.
class Names {
 public:
  Names(const Graph& graph, const Names* outer) : outer_(outer), names_(graph.value_count()) {
    for (const Capture& c : graph.captures) names_[static_cast<size_t>(c.inner)] = outer->of(c.outer);
    for (ValueId id : graph.inputs) assign(graph, id);
    for (ValueId id : graph.outputs()) assign(graph, id);
    for (size_t i = 0; i < graph.value_count(); ++i) {
      const Value& v = graph.value(static_cast<ValueId>(i));
      if (v.constant || v.producer != kNoNode) assign(graph, static_cast<ValueId>(i));
    }
  }

  const std::string& of(ValueId id) const {
    static const std::string kAbsent;
    return id == kNoValue ? kAbsent : names_[static_cast<size_t>(id)];
  }
  /// A node's name, made different where an earlier node of the graph has it: runtimes refuse two of a name.
  std::string node_name(const std::string& base) {
    std::string name = base;
    for (int& i = next_node_[base]; !nodes_.insert(name).second;) name = fmt::format("{}_{}", base, ++i);
    return name;
  }
  /// A name nobody holds, made from `base`.
  std::string fresh(const std::string& base) {
    std::string name = base;
    for (int& i = next_[base]; taken(name);) name = fmt::format("{}_{}", base, ++i);
    taken_.insert(name);
    return name;
  }

 private:
  bool taken(const std::string& name) const {
    for (const Names* n = this; n != nullptr; n = n->outer_)
      if (n->taken_.count(name) != 0) return true;
    return false;
  }

  void assign(const Graph& graph, ValueId id) {
    std::string& name = names_[static_cast<size_t>(id)];
    if (!name.empty()) return;
    const Value& v = graph.value(id);
    std::string base = v.name;
    if (base.empty() && v.producer != kNoNode) {
      const Node& n = graph.node(v.producer);
      size_t slot = 0;
      while (n.outputs[slot] != id) ++slot;
      base = fmt::format("{}_output_{}", n.name.empty() ? n.op_type : n.name, slot);
    }
    if (base.empty()) base = v.constant ? "constant" : "value";
    name = fresh(base);
  }

  const Names* outer_;
  std::vector<std::string> names_;
  std::unordered_set<std::string> taken_, nodes_;
  std::unordered_map<std::string, int> next_, next_node_;  ///< last suffix tried, by base name
};

class Writer {
 public:
  Writer(const Model& model, External& external) : model_(model), external_(external) {}

  /// The weights of the message point into the model.
  OnnxMessage message();

 private:
  void graph(const Graph& g, const Names* outer, onnx::GraphProto& proto);
  void function(const Function& f, onnx::FunctionProto& proto);
  void node(const Graph& g, NodeId id, Names& names, onnx::NodeProto& proto);
  void attribute(const std::string& name, const Attribute& value, const Names* names, onnx::AttributeProto& proto);
  void initializer(const Tensor& t, bool of_main_graph, onnx::TensorProto& proto) {
    if (of_main_graph) raw_->emplace_back();
    if (external_.place(t, proto)) return;
    if (!of_main_graph || t.dtype() == DType::kString || t.bytes() < static_cast<int64_t>(kLargeRawBytes))
      return tensor_to_proto(t, proto);
    type_and_shape_to_proto(t, proto);
    raw_->back() = {static_cast<const std::byte*>(t.data()), static_cast<size_t>(t.bytes())};
  }

  const Model& model_;
  External& external_;
  std::vector<std::span<const std::byte>>* raw_ = nullptr;
  Opsets* opsets_ = nullptr;  ///< of the model or function being written: gains the domains its nodes use
};

void put_info(const Value& v, const std::string& name, onnx::ValueInfoProto& proto) {
  proto.set_name(name);
  onnx::TypeProto type;
  if (type_to_proto(v.type, type)) *proto.mutable_type() = std::move(type);
}

template <typename Imports>
void put_opsets(const Opsets& opsets, Imports& imports) {
  for (const auto& [domain, version] : opsets) {
    auto& import = *imports.Add();
    import.set_domain(domain);
    import.set_version(version);
  }
}

OnnxMessage Writer::message() {
  OnnxMessage message;
  onnx::ModelProto& proto = message.proto;
  raw_ = &message.raw;
  proto.set_ir_version(model_.ir_version);
  proto.set_producer_name(model_.producer_name);
  proto.set_producer_version(model_.producer_version);
  if (!model_.domain.empty()) proto.set_domain(model_.domain);
  if (model_.model_version != 0) proto.set_model_version(model_.model_version);
  if (!model_.doc.empty()) proto.set_doc_string(model_.doc);
  for (const auto& [key, value] : model_.metadata) {
    auto& entry = *proto.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
  Opsets opsets = model_.opsets;
  for (const Function& f : model_.functions) function(f, *proto.add_functions());
  opsets_ = &opsets;
  auto& main = *proto.mutable_graph();
  graph(model_.graph, nullptr, main);
  if (main.name().empty()) main.set_name("main_graph");
  if (model_.ir_version < 4) {  // where every initializer had to be an input too
    std::unordered_set<std::string> listed;
    for (const auto& input : main.input()) listed.insert(input.name());
    for (const auto& t : main.initializer()) {
      if (listed.count(t.name()) != 0) continue;
      auto& info = *main.add_input();
      info.set_name(t.name());
      auto& type = *info.mutable_type()->mutable_tensor_type();
      type.set_elem_type(t.data_type());
      type.mutable_shape();
      for (int64_t d : t.dims()) type.mutable_shape()->add_dim()->set_dim_value(d);
    }
  }
  put_opsets(opsets, *proto.mutable_opset_import());
  return message;
}

void Writer::graph(const Graph& g, const Names* outer, onnx::GraphProto& proto) {
  Names names(g, outer);
  proto.set_name(g.name.empty() && outer != nullptr ? std::string("body") : g.name);
  if (!g.doc.empty()) proto.set_doc_string(g.doc);
  for (ValueId id : g.inputs) put_info(g.value(id), names.of(id), *proto.add_input());
  for (size_t i = 0; i < g.value_count(); ++i) {
    const auto id = static_cast<ValueId>(i);
    const Value& v = g.value(id);
    if (v.constant) {
      auto& t = *proto.add_initializer();
      t.set_name(names.of(id));
      initializer(v.constant, outer == nullptr, t);
    } else if (v.producer != kNoNode && !g.is_output(id)) {
      onnx::ValueInfoProto info;
      put_info(v, names.of(id), info);
      if (info.has_type()) *proto.add_value_info() = std::move(info);
    }
  }
  for (NodeId id : g.topological_order()) node(g, id, names, *proto.add_node());
  // An output needs a producer of its own: one that is captured, or listed before, goes through an Identity.
  std::unordered_set<ValueId> listed;
  for (const Capture& c : g.captures) listed.insert(c.inner);
  for (ValueId id : g.outputs()) {
    std::string name = names.of(id);
    if (!listed.insert(id).second) {
      auto& identity = *proto.add_node();
      identity.set_op_type("Identity");
      identity.add_input(name);
      name = names.fresh(name);
      identity.add_output(name);
    }
    put_info(g.value(id), name, *proto.add_output());
  }
}

void Writer::node(const Graph& g, NodeId id, Names& names, onnx::NodeProto& proto) {
  const Node& n = g.node(id);
  if (!n.name.empty()) proto.set_name(names.node_name(n.name));
  proto.set_op_type(n.op_type);
  if (!n.domain.empty()) proto.set_domain(n.domain);
  if (!n.overload.empty()) proto.set_overload(n.overload);
  if (!n.doc.empty()) proto.set_doc_string(n.doc);
  const auto known = opsets_->emplace(n.domain, n.version == 0 ? 1 : n.version).first;
  if (n.version != 0 && known->second != n.version)
    throw Error(ErrorCode::kInvalidArgument, fmt::format("has opset version {} of domain '{}', the model has {}",
                                                         n.version, n.domain, known->second))
        .at("node", n.label());
  for (ValueId v : n.inputs) proto.add_input(names.of(v));
  for (ValueId v : n.outputs) proto.add_output(names.of(v));
  for (const auto& [key, value] : n.attributes) attribute(key, value, &names, *proto.add_attribute());
}

void Writer::attribute(const std::string& name, const Attribute& value, const Names* names,
                       onnx::AttributeProto& proto) {
  using A = onnx::AttributeProto;
  const auto put = [&](const auto& v) {
    using T = std::decay_t<decltype(v)>;
    if constexpr (std::is_same_v<T, int64_t>) {
      proto.set_type(A::INT);
      proto.set_i(v);
    } else if constexpr (std::is_same_v<T, float>) {
      proto.set_type(A::FLOAT);
      proto.set_f(v);
    } else if constexpr (std::is_same_v<T, std::string>) {
      proto.set_type(A::STRING);
      proto.set_s(v);
    } else if constexpr (std::is_same_v<T, Tensor>) {
      proto.set_type(A::TENSOR);
      tensor_to_proto(v, *proto.mutable_t());
    } else if constexpr (std::is_same_v<T, std::shared_ptr<Graph>>) {
      proto.set_type(A::GRAPH);
      graph(*v, names, *proto.mutable_g());
    } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
      proto.set_type(A::INTS);
      for (int64_t x : v) proto.add_ints(x);
    } else if constexpr (std::is_same_v<T, std::vector<float>>) {
      proto.set_type(A::FLOATS);
      for (float x : v) proto.add_floats(x);
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      proto.set_type(A::STRINGS);
      for (const auto& x : v) proto.add_strings(x);
    } else if constexpr (std::is_same_v<T, std::vector<Tensor>>) {
      proto.set_type(A::TENSORS);
      for (const auto& x : v) tensor_to_proto(x, *proto.add_tensors());
    } else if constexpr (std::is_same_v<T, std::vector<std::shared_ptr<Graph>>>) {
      proto.set_type(A::GRAPHS);
      for (const auto& x : v) graph(*x, names, *proto.add_graphs());
    } else if constexpr (std::is_same_v<T, AttributeRef>) {
      proto.set_ref_attr_name(v.name);
      proto.set_type(static_cast<A::AttributeType>(v.type));
    } else {
      static_assert(std::is_same_v<T, RawAttribute>);
      require(proto.ParseFromString(v.bytes), ErrorCode::kInternal, "a kept attribute is not an AttributeProto");
    }
  };
  std::visit(put, value);
  proto.set_name(name);
}

void Writer::function(const Function& f, onnx::FunctionProto& proto) {
  Opsets opsets = f.opsets;
  opsets_ = &opsets;
  if (!f.domain.empty()) proto.set_domain(f.domain);
  proto.set_name(f.name);
  if (!f.overload.empty()) proto.set_overload(f.overload);
  if (!f.doc.empty()) proto.set_doc_string(f.doc);
  for (const auto& name : f.attributes) proto.add_attribute(name);
  for (const auto& [name, value] : f.defaults) attribute(name, value, nullptr, *proto.add_attribute_proto());
  Names names(f.body, nullptr);
  const Graph& g = f.body;
  for (ValueId id : g.inputs) proto.add_input(names.of(id));
  for (size_t i = 0; i < g.value_count(); ++i) {
    const auto id = static_cast<ValueId>(i);
    const Value& v = g.value(id);
    if (v.constant) {
      auto& constant = *proto.add_node();
      constant.set_op_type("Constant");
      constant.add_output(names.of(id));
      attribute("value", v.constant, nullptr, *constant.add_attribute());
    } else if (v.type.dtype != DType::kUndefined || !v.type.other.empty()) {
      put_info(v, names.of(id), *proto.add_value_info());
    }
  }
  for (NodeId id : g.topological_order()) node(g, id, names, *proto.add_node());
  for (ValueId id : g.outputs()) proto.add_output(names.of(id));
  put_opsets(opsets, *proto.mutable_opset_import());
}

/// Bytes of all tensors that a graph's constants hold, subgraphs included.
int64_t constant_bytes(const Graph& g) {
  int64_t total = 0;
  for (size_t i = 0; i < g.value_count(); ++i) {
    const Tensor* t = g.constant(static_cast<ValueId>(i));
    if (t != nullptr && t->dtype() != DType::kString) total = checked_add(total, t->bytes());
  }
  for (size_t i = 0; i < g.node_slots(); ++i)
    if (g.alive(static_cast<NodeId>(i)))
      for (const Graph* sub : subgraphs(g.node(static_cast<NodeId>(i))))
        total = checked_add(total, constant_bytes(*sub));
  return total;
}

void require_fits(const OnnxMessage& message) {
  require(message.bytes() <= static_cast<size_t>(kMessageLimit), ErrorCode::kResourceExhausted,
          "what cannot be external data takes {} bytes, more than the 2 GB of one message", message.bytes());
}

}  // namespace

void write_onnx(const Model& model, const std::filesystem::path& path, const OnnxWriteOptions& options) {
  try {
    const bool split = constant_bytes(model.graph) > std::min<int64_t>(options.inline_limit_bytes, kMessageLimit);
    const auto data_path = std::filesystem::path(path).concat(".data");
    External external(split ? data_path.filename().string() : std::string(), options.external_threshold_bytes);
    OnnxMessage message = Writer(model, external).message();
    require_fits(message);
    if (!external.empty()) write_atomically(data_path, [&](std::ostream& out) { external.write(out); });
    write_atomically(path, [&](std::ostream& out) { message.write(out); });
  } catch (Error& e) {
    throw e.at("file", path.string());
  }
}

std::string onnx_bytes(const Model& model) {
  const int64_t constants = constant_bytes(model.graph);  // asked first: what cannot fit is not copied
  require(constants <= kMessageLimit, ErrorCode::kResourceExhausted,
          "{} bytes of tensors do not fit the 2 GB of one message", constants);
  External inside({}, 0);
  OnnxMessage message = Writer(model, inside).message();
  require_fits(message);
  std::ostringstream bytes;
  message.write(bytes);
  return std::move(bytes).str();
}

}  // namespace assay
