#include "quant/opset_upgrade.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace assay::quant {
namespace {

// The rank of a value where operators before it tell it, or -1.
int rank_of(const Graph& g, ValueId v, int depth = 16) {
  if (v == kNoValue || depth == 0) return -1;
  if (g.value(v).type.dims) return static_cast<int>(g.value(v).type.dims->size());
  const Node* n = g.producer(v);
  if (n == nullptr || !n->domain.empty()) return -1;
  static const std::set<std::string, std::less<>> kSame{"Cast",
                                                        "Identity",
                                                        "Relu",
                                                        "Sqrt",
                                                        "Neg",
                                                        "Exp",
                                                        "Softmax",
                                                        "Sigmoid",
                                                        "Dropout",
                                                        "Clip",
                                                        "Tanh",
                                                        "Erf",
                                                        "LayerNormalization",
                                                        "BatchNormalization",
                                                        "Conv",
                                                        "MaxPool"};
  static const std::set<std::string, std::less<>> kBroadcast{"Add", "Sub", "Mul", "Div", "Where", "Pow", "MatMul"};
  if (kSame.count(n->op_type) > 0) return rank_of(g, n->input(0), depth - 1);
  if (n->op_type == "Transpose" && n->has("perm")) return static_cast<int>(n->get_ints("perm").size());
  if (n->op_type == "Reshape") {
    if (const Tensor* shape = g.constant(n->input(1))) return static_cast<int>(shape->elements());
    const auto& dims = g.value(n->input(1)).type.dims;
    if (dims && dims->size() == 1 && (*dims)[0].known()) return static_cast<int>((*dims)[0].size);
    if (const Node* concat = g.producer(n->input(1)); concat != nullptr && concat->is("Concat")) {
      int total = 0;  // of one-element pieces: how exporters write a computed shape
      for (ValueId piece : concat->inputs) {
        const Tensor* t = g.constant(piece);
        const Node* p = g.producer(piece);
        const bool one = p != nullptr && p->is("Unsqueeze") && rank_of(g, p->input(0), depth - 1) <= 0;
        if (t == nullptr && !one) return -1;
        total += t != nullptr ? static_cast<int>(t->elements()) : 1;
      }
      return total;
    }
    return -1;
  }
  if (kBroadcast.count(n->op_type) > 0) {
    int rank = -1;
    for (ValueId in : n->inputs) {
      const int r = rank_of(g, in, depth - 1);
      if (r < 0) return -1;
      rank = std::max(rank, r);
    }
    return rank;
  }
  return -1;
}

class Upgrader {
 public:
  explicit Upgrader(int target) : target_(target) {}

  void run(Graph& g) {
    for (NodeId id : g.topological_order()) {
      for (Graph* body : subgraphs(g.node(id))) run(*body);
      if (!g.node(id).domain.empty()) continue;
      try {
        node(g, id);
      } catch (Error& e) {
        throw e.at("node", g.node(id).label());
      }
      g.node(id).version = target_;
    }
  }
  const std::map<std::string, int>& changed() const { return changed_; }

 private:
  static ValueId ints(Graph& g, const std::vector<int64_t>& v) {
    return g.add_constant(Tensor::from<int64_t>({static_cast<int64_t>(v.size())}, std::span<const int64_t>(v)));
  }
  static ValueId number(Graph& g, float v) { return g.add_constant(Tensor::scalar<float>(v)); }
  void note(const Node& n) { ++changed_[n.op_type]; }

  // An attribute of ints that became input `slot`.
  void ints_to_input(Graph& g, NodeId id, std::string_view attribute, size_t slot) {
    if (!g.node(id).has(attribute)) return;
    const auto v = g.node(id).get_ints(attribute);
    g.node(id).attributes.erase(g.node(id).attributes.find(attribute));
    g.set_input(id, slot, ints(g, v));
    note(g.node(id));
  }

  void node(Graph& g, NodeId id) {
    const std::string op = g.node(id).op_type;
    const int from = g.node(id).version;
    const auto crosses = [&](int at) { return from < at && target_ >= at; };
    if (op == "Upsample") return upsample(g, id);
    if (op == "Scan" && crosses(9))
      fail(ErrorCode::kUnsupported, "Scan of opset 8 has no equal at opset {}: export the model at opset {} or later",
           target_, target_);
    if (op == "Slice" && crosses(10)) return slice(g, id);
    if (op == "TopK" && crosses(10)) {
      const int64_t k = g.node(id).get_int("k", 0);
      g.node(id).attributes.erase("k");
      g.set_input(id, 1, ints(g, {k}));
      note(g.node(id));
    }
    if (op == "Clip" && crosses(11)) return clip(g, id);
    if (op == "Pad" && crosses(11)) return pad(g, id);
    if (op == "Resize" && crosses(11)) return resize(g, id);
    if (op == "Dropout" && crosses(12)) {
      Node& n = g.node(id);
      n.attributes.erase("ratio");  // only training reads it
      if (n.outputs.size() > 1 && n.outputs[1] != kNoValue)
        require(g.value(n.outputs[1]).users.empty() && !g.is_output(n.outputs[1]), ErrorCode::kUnsupported,
                "the mask output of Dropout changed its type: export the model at opset {} or later", target_);
    }
    if (op == "BatchNormalization" && from < 9 && target_ >= 9) {
      require(g.node(id).get_int("spatial", 1) == 1, ErrorCode::kUnsupported,
              "BatchNormalization with spatial = 0 has no equal at opset {}", target_);
      g.node(id).attributes.erase("spatial");
    }
    if ((op == "Softmax" || op == "LogSoftmax" || op == "Hardmax") && crosses(13)) return softmax(g, id);
    if ((op == "Squeeze" || op == "Unsqueeze" || op == "ReduceSum") && crosses(13)) ints_to_input(g, id, "axes", 1);
    if (op == "Split" && crosses(13)) ints_to_input(g, id, "split", 1);
  }

  // Upsample (gone at 10): Resize as Resize 10 meant it.
  void upsample(Graph& g, NodeId id) {
    const auto scales = g.node(id).get_floats("scales");
    if (g.node(id).input(1) == kNoValue) {
      g.set_input(
          id, 1,
          g.add_constant(Tensor::from<float>({static_cast<int64_t>(scales.size())}, std::span<const float>(scales))));
      g.node(id).attributes.erase("scales");
    }
    g.node(id).op_type = "Resize";
    if (target_ >= 11) resize(g, id);
    note(g.node(id));
  }

  void slice(Graph& g, NodeId id) {
    const auto starts = g.node(id).get_ints("starts"), ends = g.node(id).get_ints("ends");
    std::vector<int64_t> axes = g.node(id).get_ints("axes");
    if (axes.empty())
      for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
    for (const char* name : {"starts", "ends", "axes"}) g.node(id).attributes.erase(name);
    g.set_input(id, 1, ints(g, starts));
    g.set_input(id, 2, ints(g, ends));
    g.set_input(id, 3, ints(g, axes));
    note(g.node(id));
  }

  void clip(Graph& g, NodeId id) {
    const bool has_min = g.node(id).has("min"), has_max = g.node(id).has("max");
    const float min = g.node(id).get_float("min", std::numeric_limits<float>::lowest());
    const float max = g.node(id).get_float("max", std::numeric_limits<float>::max());
    const DType type = g.value(g.node(id).input(0)).type.dtype;
    require(type == DType::kFloat32 || type == DType::kUndefined || (!has_min && !has_max), ErrorCode::kUnsupported,
            "Clip on {} is not upgraded: export the model at opset {} or later", to_string(type), target_);
    g.node(id).attributes.erase("min");
    g.node(id).attributes.erase("max");
    if (has_min) g.set_input(id, 1, number(g, min));
    if (has_max) g.set_input(id, 2, number(g, max));
    note(g.node(id));
  }

  void pad(Graph& g, NodeId id) {
    const auto pads = g.node(id).get_ints("pads");
    const float value = g.node(id).get_float("value", 0.0f);
    const DType type = g.value(g.node(id).input(0)).type.dtype;
    require(type == DType::kFloat32 || type == DType::kUndefined || value == 0.0f, ErrorCode::kUnsupported,
            "Pad of {} is not upgraded: export the model at opset {} or later", to_string(type), target_);
    g.node(id).attributes.erase("pads");
    g.node(id).attributes.erase("value");
    g.set_input(id, 1, ints(g, pads));
    if (value != 0.0f) g.set_input(id, 2, number(g, value));
    note(g.node(id));
  }

  // Resize 10 (X, scales): asymmetric coordinates, floor for nearest. Its scales stay float32 whatever X is.
  void resize(Graph& g, NodeId id) {
    const ValueId scales = g.node(id).input(1);
    g.set_input(id, 2, scales);
    g.set_input(id, 1, g.add_constant(Tensor(DType::kFloat32, Shape{0})));
    g.node(id).attributes["coordinate_transformation_mode"] = std::string("asymmetric");
    if (g.node(id).get_string("mode", "nearest") == "nearest")
      g.node(id).attributes["nearest_mode"] = std::string("floor");
    note(g.node(id));
  }

  // Before 13 the input is seen as 2-D, cut at `axis` (default 1): the same thing when that is the last axis. Otherwise
  // Flatten, Softmax over the last axis, and back to the old shape.
  void softmax(Graph& g, NodeId id) {
    const int64_t axis = g.node(id).get_int("axis", 1);
    const int rank = rank_of(g, g.node(id).input(0));
    const bool last = axis == -1 || (rank > 0 && axis == rank - 1);
    note(g.node(id));
    if (last) {
      g.node(id).attributes["axis"] = int64_t{-1};
      return;
    }
    const ValueId x = g.node(id).input(0);
    const auto named = [name = g.node(id).name](const char* suffix) {
      return name.empty() ? std::string() : name + suffix;
    };
    const NodeId shape = g.add_node("Shape", {x}, 1, named("_shape"), "", target_);
    const NodeId flat = g.add_node("Flatten", {x}, 1, named("_flatten"), "", target_);
    g.node(flat).attributes["axis"] = axis;
    g.set_input(id, 0, g.node(flat).outputs[0]);
    g.node(id).attributes["axis"] = int64_t{-1};
    const ValueId old = g.node(id).outputs[0];
    const ValueId back = g.add_value({}, g.value(old).type);
    g.replace_uses(old, back);
    std::swap(g.value(old).name, g.value(back).name);
    g.value(old).type.dims.reset();
    Node reshape;
    reshape.op_type = "Reshape";
    reshape.name = named("_unflatten");
    reshape.version = target_;
    reshape.inputs = {old, g.node(shape).outputs[0]};
    reshape.outputs = {back};
    g.add_node(std::move(reshape));
  }

  int target_;
  std::map<std::string, int> changed_;
};

}  // namespace

std::vector<std::string> upgrade_opset(Model& model, int target) {
  const int from = model.opsets.count("") > 0 ? model.opsets[""] : target;
  if (from >= target) return {};
  require(from >= 7, ErrorCode::kUnsupported,
          "a model of opset {} cannot be raised to {}: export it at opset 7 or later", from, target);
  require(target == 11 || target == 13, ErrorCode::kInternal, "no upgrade to opset {}", target);
  require(model.functions.empty(), ErrorCode::kInternal, "functions are inlined before an upgrade");
  Upgrader upgrader(target);
  upgrader.run(model.graph);
  model.opsets[""] = target;
  model.ir_version = std::max<int64_t>(model.ir_version, target >= 13 ? 7 : 6);
  std::vector<std::string> notes{fmt::format("opset raised from {} to {}", from, target)};
  for (const auto& [op, count] : upgrader.changed())
    notes.push_back(fmt::format("{} {} node{} written the way of opset {}", count, op, count == 1 ? "" : "s", target));
  return notes;
}

}  // namespace assay::quant
