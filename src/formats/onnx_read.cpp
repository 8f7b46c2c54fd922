#include "formats/onnx_read.h"

#include <onnx/onnx-ml.pb.h>

#include <limits>
#include <set>
#include <unordered_map>

#include "formats/onnx_message.h"
#include "formats/onnx_tensor.h"
#include "formats/onnx_type.h"

namespace assay {
namespace {

using Opsets = std::map<std::string, int>;

/// The newest operator set of ONNX's own domain in the schema this is built with.
constexpr int kNewestOpset = 28;
constexpr int kOldestOpset = 7;

std::string plain_domain(const std::string& domain) { return domain == "ai.onnx" ? std::string() : domain; }

/// Names visible in one graph, and the graph around it.
struct Scope {
  Graph& graph;
  Scope* outer;
  const Opsets& opsets;
  std::unordered_map<std::string, ValueId> names;
};

class Reader {
 public:
  Reader(const std::filesystem::path& base_dir, const std::filesystem::path& real_dir, const OnnxReadOptions& options)
      : files_(base_dir, real_dir), options_(options) {}

  Model model(OnnxMessage& message, std::shared_ptr<const MappedFile> keeper);

 private:
  template <typename... Args>
  void note(fmt::format_string<Args...> format, Args&&... args) {
    if (options_.notes == nullptr) return;
    auto text = fmt::format(format, std::forward<Args>(args)...);
    if (noted_.insert(text).second) options_.notes->push_back(std::move(text));
  }

  template <typename Imports>
  Opsets opsets(const Imports& imports);
  Graph graph(onnx::GraphProto& proto, Scope* outer, const Opsets& opsets);
  Function function(onnx::FunctionProto& proto);
  void initializers(onnx::GraphProto& proto, Scope& scope);
  void declare_outputs(onnx::NodeProto& proto, Scope& scope);
  void declare(Scope& scope, const std::string& name, ValueId id, std::string_view what);
  void set_types(const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& infos, Scope& scope);
  ValueId resolve(Scope& scope, const std::string& name);
  void node(onnx::NodeProto& proto, Scope& scope);
  Attribute attribute(onnx::AttributeProto& proto, Scope& scope);

  struct Weights {
    const OnnxMessage* message = nullptr;
    std::shared_ptr<const MappedFile> keeper;
  };
  ExternalFiles files_;
  Weights weights_;
  const OnnxReadOptions& options_;
  std::set<std::string> noted_;
};

std::string label_of(const onnx::NodeProto& proto) {
  Node n;
  n.op_type = proto.op_type();
  n.domain = plain_domain(proto.domain());
  n.name = proto.name();
  if (n.name.empty() && proto.output_size() > 0) n.name = proto.output(0);
  return n.label();
}

bool is_constant_node(const onnx::NodeProto& proto) {
  if (proto.op_type() != "Constant" || !plain_domain(proto.domain()).empty() || proto.output_size() != 1) return false;
  return proto.attribute_size() == 1 && proto.attribute(0).ref_attr_name().empty();
}

template <typename T, typename Field>
Tensor list_tensor(const Field& field) {
  return Tensor::from<T>(Shape{field.size()}, std::span<const T>(field.data(), static_cast<size_t>(field.size())));
}

/// The value of a Constant node's single attribute.
Tensor constant_value(onnx::AttributeProto& a, ExternalFiles& files) {
  if (a.name() == "value") return tensor_from_proto(*a.mutable_t(), &files);
  if (a.name() == "sparse_value") return tensor_from_proto(*a.mutable_sparse_tensor(), &files);
  if (a.name() == "value_float") return Tensor::scalar<float>(a.f());
  if (a.name() == "value_floats") return list_tensor<float>(a.floats());
  if (a.name() == "value_int") return Tensor::scalar<int64_t>(a.i());
  if (a.name() == "value_ints") return list_tensor<int64_t>(a.ints());
  if (a.name() == "value_string") return Tensor::strings(Shape{}, {a.s()});
  if (a.name() == "value_strings")
    return Tensor::strings(Shape{a.strings_size()}, {a.strings().begin(), a.strings().end()});
  fail(ErrorCode::kBadFile, "'{}' is not an attribute of Constant", a.name());
}

/// Files of IR version 1 name no type: it is the field that is set.
onnx::AttributeProto::AttributeType type_of(const onnx::AttributeProto& a) {
  using A = onnx::AttributeProto;
  if (a.type() != A::UNDEFINED) return a.type();
  if (a.has_f()) return A::FLOAT;
  if (a.has_i()) return A::INT;
  if (a.has_s()) return A::STRING;
  if (a.has_t()) return A::TENSOR;
  if (a.has_g()) return A::GRAPH;
  if (a.floats_size() > 0) return A::FLOATS;
  if (a.ints_size() > 0) return A::INTS;
  if (a.strings_size() > 0) return A::STRINGS;
  if (a.tensors_size() > 0) return A::TENSORS;
  if (a.graphs_size() > 0) return A::GRAPHS;
  return A::UNDEFINED;
}

template <typename Imports>
Opsets Reader::opsets(const Imports& imports) {
  Opsets out;
  for (const auto& import : imports) {
    const auto domain = plain_domain(import.domain());
    require(import.version() > 0 && import.version() <= std::numeric_limits<int>::max(), ErrorCode::kBadFile,
            "opset version {} of domain '{}' is out of range", import.version(), domain);
    const auto version = static_cast<int>(import.version());
    const auto [it, fresh] = out.emplace(domain, version);
    require(fresh || it->second == version, ErrorCode::kBadFile,
            "domain '{}' is imported with opset versions {} and {}", domain, it->second, version);
    if (domain.empty() && (version < kOldestOpset || version > kNewestOpset))
      note("opset {} is outside {} to {}, the versions known here: operators may be missing or mean something else",
           version, kOldestOpset, kNewestOpset);
  }
  return out;
}

Model Reader::model(OnnxMessage& message, std::shared_ptr<const MappedFile> keeper) {
  onnx::ModelProto& proto = message.proto;
  weights_ = {&message, std::move(keeper)};
  require(proto.has_graph(), ErrorCode::kBadFile, "holds no graph: it is not an ONNX model");
  Model m;
  m.ir_version = proto.ir_version();
  m.producer_name = proto.producer_name();
  m.producer_version = proto.producer_version();
  m.domain = proto.domain();
  m.doc = proto.doc_string();
  m.model_version = proto.model_version();
  if (m.ir_version > onnx::IR_VERSION)
    note("IR version {} is newer than {}, the newest known here", m.ir_version, static_cast<int>(onnx::IR_VERSION));
  for (const auto& entry : proto.metadata_props()) m.metadata[entry.key()] = entry.value();
  m.opsets = opsets(proto.opset_import());
  if (m.opsets.count("") == 0 && m.ir_version < 3) m.opsets[""] = 1;
  if (proto.training_info_size() > 0) note("training graphs are left out");
  if (proto.configuration_size() > 0) note("device configurations are left out");
  std::set<std::tuple<std::string, std::string, std::string>> known;
  for (auto& f : *proto.mutable_functions()) {
    require(known.emplace(plain_domain(f.domain()), f.name(), f.overload()).second, ErrorCode::kBadFile,
            "function '{}' of domain '{}' is defined twice", f.name(), f.domain());
    try {
      m.functions.push_back(function(f));
    } catch (Error& e) {
      throw e.at("function", f.name());
    }
  }
  m.graph = graph(*proto.mutable_graph(), nullptr, m.opsets);
  if (m.ir_version < 4)
    std::erase_if(m.graph.inputs, [&](ValueId id) { return static_cast<bool>(m.graph.value(id).constant); });
  if (options_.data_files != nullptr) *options_.data_files = files_.paths();
  return m;
}

void Reader::declare(Scope& scope, const std::string& name, ValueId id, std::string_view what) {
  require(!name.empty(), ErrorCode::kBadFile, "{} has no name", what);
  require(scope.names.emplace(name, id).second, ErrorCode::kBadFile, "{} '{}' is defined twice", what, name);
}

void Reader::initializers(onnx::GraphProto& proto, Scope& scope) {
  Graph& g = scope.graph;
  const std::set<ValueId> inputs(g.inputs.begin(), g.inputs.end());
  std::set<std::string> seen;
  const auto add = [&](const std::string& name, Tensor tensor) {
    require(seen.insert(name).second, ErrorCode::kBadFile, "initializer '{}' is defined twice", name);
    const auto it = scope.names.find(name);
    if (it == scope.names.end()) {
      declare(scope, name, g.add_constant(std::move(tensor), name), "initializer");
      return;
    }
    Value& v = g.value(it->second);
    require(v.type.dtype == DType::kUndefined || v.type.dtype == tensor.dtype(), ErrorCode::kBadFile,
            "input '{}' is declared {}, its initializer is {}", name, to_string(v.type.dtype),
            to_string(tensor.dtype()));
    v.type.dtype = tensor.dtype();
    v.constant = std::move(tensor);
  };
  const bool main = scope.outer == nullptr;
  for (int i = 0; i < proto.initializer_size(); ++i) {
    auto& t = *proto.mutable_initializer(i);
    const std::string name = t.name();
    const RawData beside{main ? weights_.message->raw_of(i) : std::span<const std::byte>(), weights_.keeper};
    add(name, tensor_from_proto(t, &files_, beside));
  }
  for (auto& t : *proto.mutable_sparse_initializer()) {
    const std::string name = t.values().name();
    add(name, tensor_from_proto(t, &files_));
    note("sparse initializer '{}' is stored dense", name);
  }
}

void Reader::declare_outputs(onnx::NodeProto& proto, Scope& scope) {
  try {
    if (is_constant_node(proto)) {
      declare(scope, proto.output(0),
              scope.graph.add_constant(constant_value(*proto.mutable_attribute(0), files_), proto.output(0)), "value");
      return;
    }
    for (const auto& name : proto.output())
      if (!name.empty()) declare(scope, name, scope.graph.add_value(name), "value");
  } catch (Error& e) {
    throw e.at("node", label_of(proto));
  }
}

void Reader::set_types(const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& infos, Scope& scope) {
  for (const auto& info : infos) {
    const auto it = scope.names.find(info.name());
    if (it == scope.names.end()) continue;
    Value& v = scope.graph.value(it->second);
    if (v.constant || v.type.dtype != DType::kUndefined || !v.type.other.empty()) continue;
    try {
      v.type = type_from_proto(info.type());
    } catch (Error& e) {
      throw e.at("value", info.name());
    }
  }
}

ValueId Reader::resolve(Scope& scope, const std::string& name) {
  const auto it = scope.names.find(name);
  if (it != scope.names.end()) return it->second;
  if (scope.outer == nullptr) return kNoValue;
  const ValueId outer = resolve(*scope.outer, name);
  if (outer == kNoValue) return kNoValue;
  const ValueId inner = scope.graph.add_value(name, scope.outer->graph.value(outer).type);
  scope.graph.captures.push_back({outer, inner});
  scope.names.emplace(name, inner);
  return inner;
}

Graph Reader::graph(onnx::GraphProto& proto, Scope* outer, const Opsets& opsets) {
  Graph g;
  g.name = proto.name();
  g.doc = proto.doc_string();
  Scope scope{g, outer, opsets, {}};
  for (const auto& info : proto.input()) {
    TensorType type;
    try {
      type = type_from_proto(info.type());
    } catch (Error& e) {
      throw e.at("input", info.name());
    }
    declare(scope, info.name(), g.add_input(info.name(), std::move(type)), "graph input");
  }
  initializers(proto, scope);
  for (auto& n : *proto.mutable_node()) declare_outputs(n, scope);
  set_types(proto.output(), scope);
  set_types(proto.value_info(), scope);
  for (auto& n : *proto.mutable_node()) {
    if (is_constant_node(n)) continue;
    try {
      node(n, scope);
    } catch (Error& e) {
      throw e.at("node", label_of(n));
    }
  }
  for (const auto& info : proto.output()) {
    const ValueId id = resolve(scope, info.name());
    require(id != kNoValue, ErrorCode::kBadFile, "graph output '{}' is produced by nothing", info.name());
    g.add_output(id);
  }
  if (proto.quantization_annotation_size() > 0) note("quantization annotations are left out");
  if (proto.metadata_props_size() > 0) note("metadata of graphs is left out");
  g.topological_order();  // names a node on a cycle
  return g;
}

void Reader::node(onnx::NodeProto& proto, Scope& scope) {
  require(!proto.op_type().empty(), ErrorCode::kBadFile, "the operator has no type");
  Node n;
  n.name = proto.name();
  n.domain = plain_domain(proto.domain());
  n.op_type = proto.op_type();
  n.overload = proto.overload();
  n.doc = proto.doc_string();
  const auto version = scope.opsets.find(n.domain);
  if (version != scope.opsets.end()) {
    n.version = version->second;
  } else {
    note("domain '{}' of operator {} is not among the opset imports", n.domain, n.op_type);
  }
  if (proto.metadata_props_size() > 0) note("metadata of nodes is left out");
  if (proto.device_configurations_size() > 0) note("device configurations are left out");
  for (auto& a : *proto.mutable_attribute()) {
    try {
      require(!a.name().empty(), ErrorCode::kBadFile, "an attribute has no name");
      require(n.attributes.find(a.name()) == n.attributes.end(), ErrorCode::kBadFile, "is given twice");
      n.attributes.emplace(a.name(), attribute(a, scope));
    } catch (Error& e) {
      throw e.at("attribute", a.name());
    }
  }
  for (const auto& name : proto.input()) {
    const ValueId id = name.empty() ? kNoValue : resolve(scope, name);
    require(name.empty() || id != kNoValue, ErrorCode::kBadFile, "input '{}' is produced by nothing", name);
    n.inputs.push_back(id);
  }
  for (const auto& name : proto.output()) n.outputs.push_back(name.empty() ? kNoValue : scope.names.at(name));
  scope.graph.add_node(std::move(n));
}

Attribute Reader::attribute(onnx::AttributeProto& a, Scope& scope) {
  using A = onnx::AttributeProto;
  const auto type = type_of(a);
  if (!a.ref_attr_name().empty()) return AttributeRef{a.ref_attr_name(), type};
  switch (type) {
    case A::FLOAT:
      return a.f();
    case A::INT:
      return static_cast<int64_t>(a.i());
    case A::STRING:
      return a.s();
    case A::TENSOR:
      return tensor_from_proto(*a.mutable_t(), &files_);
    case A::GRAPH:
      return std::make_shared<Graph>(graph(*a.mutable_g(), &scope, scope.opsets));
    case A::FLOATS:
      return std::vector<float>(a.floats().begin(), a.floats().end());
    case A::INTS:
      return std::vector<int64_t>(a.ints().begin(), a.ints().end());
    case A::STRINGS:
      return std::vector<std::string>(a.strings().begin(), a.strings().end());
    case A::TENSORS: {
      std::vector<Tensor> list;
      for (auto& t : *a.mutable_tensors()) list.push_back(tensor_from_proto(t, &files_));
      return list;
    }
    case A::GRAPHS: {
      std::vector<std::shared_ptr<Graph>> list;
      for (auto& g : *a.mutable_graphs()) list.push_back(std::make_shared<Graph>(graph(g, &scope, scope.opsets)));
      return list;
    }
    case A::SPARSE_TENSOR:
    case A::SPARSE_TENSORS:
    case A::TYPE_PROTO:
    case A::TYPE_PROTOS:
      return RawAttribute{type, a.SerializeAsString()};
    case A::UNDEFINED:
      break;
  }
  fail(ErrorCode::kBadFile, "has neither a type nor a value");
}

Function Reader::function(onnx::FunctionProto& proto) {
  require(!proto.name().empty(), ErrorCode::kBadFile, "a function has no name");
  Function f;
  f.domain = plain_domain(proto.domain());
  f.name = proto.name();
  f.overload = proto.overload();
  f.doc = proto.doc_string();
  f.opsets = opsets(proto.opset_import());
  f.attributes.assign(proto.attribute().begin(), proto.attribute().end());
  Scope scope{f.body, nullptr, f.opsets, {}};
  for (auto& a : *proto.mutable_attribute_proto()) {
    require(!a.name().empty() && f.defaults.find(a.name()) == f.defaults.end(), ErrorCode::kBadFile,
            "default attribute '{}' is nameless or given twice", a.name());
    f.defaults.emplace(a.name(), attribute(a, scope));
  }
  f.body.name = f.name;
  for (const auto& name : proto.input()) declare(scope, name, f.body.add_input(name, {}), "function input");
  for (auto& n : *proto.mutable_node()) declare_outputs(n, scope);
  set_types(proto.value_info(), scope);
  for (auto& n : *proto.mutable_node()) {
    if (is_constant_node(n)) continue;
    try {
      node(n, scope);
    } catch (Error& e) {
      throw e.at("node", label_of(n));
    }
  }
  for (const auto& name : proto.output()) {
    const ValueId id = resolve(scope, name);
    require(id != kNoValue, ErrorCode::kBadFile, "output '{}' is produced by nothing", name);
    f.body.add_output(id);
  }
  if (proto.metadata_props_size() > 0) note("metadata of functions is left out");
  f.body.topological_order();
  return f;
}

/// `keeper` holds `bytes`; null: whoever called does, and tensors are copied.
Model parse(std::span<const std::byte> bytes, std::shared_ptr<const MappedFile> keeper,
            const std::filesystem::path& base_dir, const std::filesystem::path& real_dir,
            const OnnxReadOptions& options) {
  OnnxMessage message = parse_onnx_message(bytes);
  return Reader(base_dir, real_dir, options).model(message, keeper);
}

}  // namespace

Model read_onnx(std::span<const std::byte> bytes, const std::filesystem::path& base_dir,
                const OnnxReadOptions& options) {
  return parse(bytes, nullptr, base_dir, {}, options);
}

Model read_onnx(const std::filesystem::path& path, const OnnxReadOptions& options) {
  const auto file = MappedFile::open(path);
  try {
    std::error_code ec;
    const auto real = std::filesystem::canonical(path, ec);
    return parse(file->bytes(), file, path.parent_path(), ec ? std::filesystem::path() : real.parent_path(), options);
  } catch (Error& e) {
    throw e.at("file", path.string());
  }
}

}  // namespace assay
