#include "graph/passes/fuse_attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace assay {
namespace {

/// The parts of one attention as found by structure: values around the two MatMuls and the Softmax.
struct Candidate {
  ValueId queries = kNoValue, keys = kNoValue, values = kNoValue;  // [B,H,S,D], [B,H,D,S], [B,H,S,D]
  ValueId softmax_in = kNoValue, probs = kNoValue, context = kNoValue;
  ValueId added_mask = kNoValue;
};

const float* floats(const Tensor* t) {
  return t != nullptr && t->dtype() == DType::kFloat32 ? t->values<float>().data() : nullptr;
}

bool is_scaling(const Graph& g, const Node& n) {
  return (n.is("Mul") && (g.constant(n.inputs[0]) != nullptr || g.constant(n.inputs[1]) != nullptr)) ||
         (n.is("Div") && g.constant(n.inputs[1]) != nullptr);
}

ValueId scaled_operand(const Graph& g, const Node& n) {
  return g.constant(n.inputs[0]) != nullptr ? n.inputs[1] : n.inputs[0];
}

/// Walks from the Softmax back to the product of queries and keys, through scalings, casts, one added mask and Where.
const Node* find_scores(const Graph& g, ValueId v, Candidate& c, std::string& why) {
  for (int depth = 0; depth < 12; ++depth) {
    const Node* n = g.producer(v);
    if (n == nullptr) return why = "the scores are not computed by a MatMul", nullptr;
    if (n->is("MatMul")) return n;
    if (is_scaling(g, *n)) {
      v = scaled_operand(g, *n);
    } else if (n->is("Cast") || n->is("Identity")) {
      v = n->inputs[0];
    } else if (n->is("Where")) {  // masked fill: the branch that is not a constant or broadcast mask holds the scores
      Candidate ignored;
      std::string unused;
      const bool then_side =
          g.constant(n->inputs[1]) == nullptr && find_scores(g, n->inputs[1], ignored, unused) != nullptr;
      v = then_side ? n->inputs[1] : n->inputs[2];
    } else if (n->is("Add") && c.added_mask == kNoValue) {
      Candidate ignored;
      ignored.added_mask = 0;  // at most one mask on the way
      std::string unused;
      const bool left = find_scores(g, n->inputs[0], ignored, unused) != nullptr;
      c.added_mask = left ? n->inputs[1] : n->inputs[0];
      v = left ? n->inputs[0] : n->inputs[1];
    } else {
      return why = "between MatMul and Softmax stands " + n->label(), nullptr;
    }
  }
  return why = "the scores lie too far from the Softmax", nullptr;
}

bool find_candidate(const Graph& g, const Node& softmax, Candidate& c, std::string& why) {
  c.softmax_in = softmax.inputs[0];
  const Node* scores = find_scores(g, c.softmax_in, c, why);
  if (scores == nullptr) return false;
  if (g.constant(scores->inputs[0]) != nullptr || g.constant(scores->inputs[1]) != nullptr)
    return why = "the scores are not of two activations", false;
  c.queries = scores->inputs[0];
  c.keys = scores->inputs[1];
  c.probs = softmax.outputs[0];
  // Behind the Softmax: a Where that guards rows without keys, a Cast, then the product with the values.
  ValueId p = c.probs;
  for (int depth = 0; depth < 4; ++depth) {
    const Node* next = nullptr;
    for (const NodeId u : g.value(p).users)
      if (g.node(u).is("MatMul") || g.node(u).is("Where") || g.node(u).is("Cast")) next = &g.node(u);
    if (next == nullptr) break;
    if (next->is("MatMul")) {
      if (next->inputs[0] != p) return why = "the probabilities are not the left factor", false;
      c.values = next->inputs[1];
      c.context = next->outputs[0];
      return true;
    }
    p = next->outputs[0];
  }
  return why = "the probabilities do not go to a MatMul", false;
}

/// How heads lie in a rank-4 tensor, for comparing it with a flat [batch, seq, heads*dim] one.
enum class Layout { kHeadSeqDim, kHeadDimSeq };

struct HeadShape {
  int64_t batch, heads, seq, dim;
};

/// Whether split == factor * flat under the layout, for one factor in all places (returned; 0 when it does not hold).
float split_factor(const Tensor& split, const Tensor& flat, Layout layout, const HeadShape& h) {
  const float* a = floats(&split);
  const float* b = floats(&flat);
  if (a == nullptr || b == nullptr || flat.elements() != split.elements()) return 0;
  const int rank = flat.shape().rank();
  if (rank != 3 || flat.shape()[0] != h.batch || flat.shape()[1] != h.seq || flat.shape()[2] != h.heads * h.dim)
    return 0;
  const auto at = [&](int64_t n, int64_t head, int64_t s, int64_t d) {
    return layout == Layout::kHeadSeqDim ? ((n * h.heads + head) * h.seq + s) * h.dim + d
                                         : ((n * h.heads + head) * h.dim + d) * h.seq + s;
  };
  // The factor from the largest element, then every element must agree.
  float largest = 0, factor = 0;
  for (int pass = 0; pass < 2; ++pass)
    for (int64_t n = 0; n < h.batch; ++n)
      for (int64_t s = 0; s < h.seq; ++s)
        for (int64_t head = 0; head < h.heads; ++head)
          for (int64_t d = 0; d < h.dim; ++d) {
            const float x = a[at(n, head, s, d)];
            const float y = b[(n * h.seq + s) * h.heads * h.dim + head * h.dim + d];
            if (pass == 0) {
              if (std::fabs(y) > largest) {
                largest = std::fabs(y);
                factor = x / y;
              }
            } else if (!(std::fabs(x - factor * y) <= 1e-5f * std::fabs(factor) * largest)) {
              return 0;
            }
          }
  return factor;
}

/// Walks back from a head-split tensor through reshapes, transposes and scalings to the flat tensor it was split from.
ValueId find_flat(const Graph& g, const Witness& w, ValueId split, Layout layout, const std::vector<HeadShape>& shapes,
                  float& factor) {
  ValueId v = split;
  for (int depth = 0; depth < 10; ++depth) {
    bool holds = true;
    float f0 = 0;
    for (size_t r = 0; r < w.runs.size() && holds; ++r) {
      const Tensor* a = w.value(r, split);
      const Tensor* b = w.value(r, v);
      const float f = a != nullptr && b != nullptr ? split_factor(*a, *b, layout, shapes[r]) : 0;
      holds = f != 0 && (r == 0 || std::fabs(f - f0) <= 1e-5f * std::fabs(f0));
      f0 = f;
    }
    if (holds) {
      factor = f0;
      return v;
    }
    const Node* n = g.producer(v);
    if (n == nullptr) return kNoValue;
    if (n->is("Reshape") || n->is("Transpose") || n->is("Cast") || n->is("Identity") || n->is("Squeeze") ||
        n->is("Unsqueeze")) {
      v = n->inputs[0];
    } else if (is_scaling(g, *n)) {
      v = scaled_operand(g, *n);
    } else {
      return kNoValue;
    }
  }
  return kNoValue;
}

/// Follows the context forward to where heads are side by side again.
ValueId find_merged(const Graph& g, const Witness& w, ValueId context, const std::vector<HeadShape>& shapes) {
  ValueId v = context;
  for (int depth = 0; depth < 6; ++depth) {
    bool holds = true;
    for (size_t r = 0; r < w.runs.size() && holds; ++r) {
      const Tensor* a = w.value(r, context);
      const Tensor* b = w.value(r, v);
      holds = a != nullptr && b != nullptr && split_factor(*a, *b, Layout::kHeadSeqDim, shapes[r]) == 1.0f;
    }
    if (holds && v != context) return v;
    const NodeId u = sole_user(g, v);
    if (u == kNoNode) return kNoValue;
    const Node& n = g.node(u);
    if (!(n.is("Reshape") || n.is("Transpose") || n.is("Cast") || n.is("Identity")) || n.inputs[0] != v)
      return kNoValue;
    v = n.outputs[0];
  }
  return kNoValue;
}

/// What is added to the scores, as the witness recorded it: from a 0/1 key mask, from a bias tensor, or nothing.
struct Mask {
  const Tensor* key_mask = nullptr;  // [B, S], any numeric type
  const Tensor* bias = nullptr;      // broadcastable to [B, H, S, S]
};

bool key_is_set(const Tensor& mask, int64_t i) {
  switch (mask.dtype()) {
    case DType::kInt64:
      return mask.values<int64_t>()[static_cast<size_t>(i)] != 0;
    case DType::kInt32:
      return mask.values<int32_t>()[static_cast<size_t>(i)] != 0;
    case DType::kBool:
      return mask.values<bool>()[static_cast<size_t>(i)];
    case DType::kFloat32:
      return mask.values<float>()[static_cast<size_t>(i)] != 0;
    default:
      return true;
  }
}

float bias_at(const Tensor& bias, int64_t b, int64_t h, int64_t i, int64_t j) {
  const int64_t index[4] = {b, h, i, j};
  const int lead = 4 - bias.shape().rank();
  int64_t at = 0;
  for (int d = 0; d < bias.shape().rank(); ++d)
    at = at * bias.shape()[d] + (bias.shape()[d] == 1 ? 0 : index[d + lead]);
  return bias.values<float>()[static_cast<size_t>(at)];
}

/// Whether recorded probabilities are softmax(scale * q k + mask), the proof of scale and mask at once.
bool explains_probabilities(const Tensor& q, const Tensor& k, const Tensor& probs, const HeadShape& h, float scale,
                            const Mask& mask) {
  const float* qp = floats(&q);
  const float* kp = floats(&k);
  const float* pp = floats(&probs);
  if (qp == nullptr || kp == nullptr || pp == nullptr) return false;
  std::vector<double> row(static_cast<size_t>(h.seq));
  for (int64_t b = 0; b < h.batch; ++b)
    for (int64_t head = 0; head < h.heads; ++head)
      for (int64_t i = 0; i < h.seq; ++i) {
        double top = -INFINITY;
        for (int64_t j = 0; j < h.seq; ++j) {
          double s = 0;
          for (int64_t d = 0; d < h.dim; ++d)
            s += static_cast<double>(qp[((b * h.heads + head) * h.seq + i) * h.dim + d]) *
                 kp[((b * h.heads + head) * h.dim + d) * h.seq + j];
          s *= scale;
          if (mask.key_mask != nullptr && !key_is_set(*mask.key_mask, b * h.seq + j)) s = -INFINITY;
          if (mask.bias != nullptr) s += bias_at(*mask.bias, b, head, i, j);
          row[static_cast<size_t>(j)] = s;
          top = std::max(top, s);
        }
        double sum = 0;
        for (double& s : row) sum += (s = std::exp(s - top));
        for (int64_t j = 0; j < h.seq; ++j)
          if (!(std::fabs(row[static_cast<size_t>(j)] / sum - pp[((b * h.heads + head) * h.seq + i) * h.seq + j]) <=
                2e-5))
            return false;
      }
  return true;
}

std::vector<HeadShape> head_shapes(const Witness& w, const Candidate& c) {
  std::vector<HeadShape> shapes;
  for (size_t r = 0; r < w.runs.size(); ++r) {
    const Tensor* q = w.value(r, c.queries);
    const Tensor* k = w.value(r, c.keys);
    const Tensor* v = w.value(r, c.values);
    if (q == nullptr || k == nullptr || v == nullptr || q->shape().rank() != 4 || !(v->shape() == q->shape()))
      return {};
    const Shape& s = q->shape();
    if (!(k->shape() == Shape{s[0], s[1], s[3], s[2]})) return {};
    shapes.push_back({s[0], s[1], s[2], s[3]});
  }
  return shapes;
}

bool all_runs(const Witness& w, const auto& holds) {
  for (size_t r = 0; r < w.runs.size(); ++r)
    if (!holds(r)) return false;
  return !w.runs.empty();
}

/// Merges three layers on the same input into one with the columns side by side; kNoValue when they do not fit
/// together.
ValueId merge_layers(Graph& g, Witness& w, const ValueId parts[3]) {
  const Node* n[3];
  for (int i = 0; i < 3; ++i) {
    n[i] = g.producer(parts[i]);
    if (n[i] == nullptr || n[i]->domain != "assay" || (n[i]->op_type != "Linear" && n[i]->op_type != "LinearInt8"))
      return kNoValue;
    if (g.value(parts[i]).users.size() != 1 || g.is_output(parts[i]) || n[i]->has("activation")) return kNoValue;
    if (n[i]->inputs[0] != n[0]->inputs[0] || n[i]->op_type != n[0]->op_type) return kNoValue;
    if (!(g.constant(n[i]->inputs[1])->shape() == g.constant(n[0]->inputs[1])->shape())) return kNoValue;
    if (g.constant(n[i]->inputs[1])->dtype() != g.constant(n[0]->inputs[1])->dtype()) return kNoValue;
  }
  const bool integer = n[0]->op_type == "LinearInt8";
  const size_t bias_slot = integer ? 4 : 2;
  const size_t residual_slot = bias_slot + 1;
  const auto same_constant = [&](ValueId a, ValueId b) {
    const Tensor* s = g.constant(a);
    const Tensor* t = g.constant(b);
    return s == t || (s != nullptr && t != nullptr && s->dtype() == t->dtype() && s->shape() == t->shape() &&
                      std::ranges::equal(s->raw(), t->raw()));
  };
  for (const Node* layer : n) {
    if (layer->input(residual_slot) != kNoValue) return kNoValue;
    if (layer->get_string("activation_scale", "") != n[0]->get_string("activation_scale", "")) return kNoValue;
    if (integer && (!same_constant(layer->input(6), n[0]->input(6)) || !same_constant(layer->input(7), n[0]->input(7))))
      return kNoValue;
    if (layer->input(bias_slot) != kNoValue && g.constant(layer->input(bias_slot)) == nullptr) return kNoValue;
  }
  const Shape wide = g.constant(n[0]->inputs[1])->shape();
  const int64_t k = wide[0];
  const int64_t cols = wide[1];
  const DType dtype = g.constant(n[0]->inputs[1])->dtype();
  const auto size = static_cast<size_t>(bits_of(dtype) / 8);
  Tensor weight(dtype, {k, 3 * cols});
  auto* dst = static_cast<std::byte*>(weight.mutable_view().data);
  for (int i = 0; i < 3; ++i) {
    const auto* src = static_cast<const std::byte*>(g.constant(n[i]->inputs[1])->data());
    for (int64_t r = 0; r < k; ++r)
      std::copy_n(src + static_cast<size_t>(r * cols) * size, static_cast<size_t>(cols) * size,
                  dst + static_cast<size_t>(r * 3 * cols + i * cols) * size);
  }
  // One vector of 3N from three of N or 1; absent ones are zeros.
  const auto side_by_side = [&](size_t slot, DType type) {
    Tensor out(type, {3 * cols});
    const auto bytes = static_cast<size_t>(bits_of(type) / 8);
    for (int i = 0; i < 3; ++i) {
      const Tensor* t = g.constant(n[i]->input(slot));
      if (t == nullptr) continue;
      for (int64_t c = 0; c < cols; ++c)
        std::memcpy(
            static_cast<std::byte*>(out.mutable_view().data) + static_cast<size_t>(i * cols + c) * bytes,
            static_cast<const std::byte*>(t->data()) + (t->elements() == 1 ? 0 : static_cast<size_t>(c)) * bytes,
            bytes);
    }
    return g.add_constant(std::move(out));
  };
  Node merged;
  merged.name = n[0]->name;
  merged.domain = "assay";
  merged.op_type = n[0]->op_type;
  merged.version = 1;
  merged.attributes = n[0]->attributes;
  const ValueId x = n[0]->inputs[0];
  const ValueId x_scale = n[0]->input(6);
  const ValueId x_zero_point = n[0]->input(7);
  const bool bias = std::any_of(n, n + 3, [&](const Node* l) { return l->input(bias_slot) != kNoValue; });
  const bool zero_point = integer && std::any_of(n, n + 3, [&](const Node* l) { return l->input(3) != kNoValue; });
  const ValueId bias_value = bias ? side_by_side(bias_slot, DType::kFloat32) : kNoValue;
  if (integer) {
    const ValueId scales = side_by_side(2, DType::kFloat32);
    const ValueId zero_points = zero_point ? side_by_side(3, dtype) : kNoValue;
    merged.inputs = {x,           g.add_constant(std::move(weight)), scales, zero_points, bias_value, kNoValue, x_scale,
                     x_zero_point};
  } else {
    merged.inputs = {x, g.add_constant(std::move(weight)), bias_value, kNoValue};
  }
  merged.outputs = {g.add_value()};
  const ValueId out = merged.outputs[0];
  g.add_node(std::move(merged));
  for (Witness::Run& r : w.runs) {  // only the shape is asked of it later
    r.values.resize(g.value_count());
    r.values[static_cast<size_t>(out)] = Tensor(DType::kFloat32, {r.batch, r.seq, 1});
  }
  return out;
}

}  // namespace

void fuse_attention(Graph& graph, Witness& witness, std::vector<FusionNote>& notes) {
  ValueId key_bias = kNoValue;  // 0/-infinity from the 0/1 mask, for models that fill instead of adding
  for (const NodeId id : graph.topological_order()) {
    if (!graph.alive(id) || !graph.node(id).is("Softmax")) continue;
    const Node softmax = graph.node(id);
    const auto miss = [&](std::string why) { notes.push_back({"attention", softmax.label(), false, std::move(why)}); };
    const int rank = witness.rank(softmax.inputs[0]);
    const int64_t axis = softmax.get_int("axis", softmax.version >= 13 ? -1 : 1);
    if (rank != 4 || (axis != -1 && axis != 3)) {
      miss("the Softmax is not over the last axis of [batch, heads, seq, seq]");
      continue;
    }
    Candidate c;
    std::string why;
    if (!find_candidate(graph, softmax, c, why)) {
      miss(why);
      continue;
    }
    const auto shapes = head_shapes(witness, c);
    if (shapes.empty()) {
      miss("queries, keys and values are not [batch, heads, seq, dim] of one size");
      continue;
    }
    float q_factor = 0, k_factor = 0, v_factor = 0;
    const ValueId q = find_flat(graph, witness, c.queries, Layout::kHeadSeqDim, shapes, q_factor);
    const ValueId k = find_flat(graph, witness, c.keys, Layout::kHeadDimSeq, shapes, k_factor);
    const ValueId v = find_flat(graph, witness, c.values, Layout::kHeadSeqDim, shapes, v_factor);
    const ValueId merged = find_merged(graph, witness, c.context, shapes);
    if (q == kNoValue || k == kNoValue || v == kNoValue || std::fabs(v_factor - 1) > 1e-5f) {
      miss(fmt::format("{} are not a split of one [batch, seq, heads*dim] tensor", q == kNoValue   ? "queries"
                                                                                   : k == kNoValue ? "keys"
                                                                                                   : "values"));
      continue;
    }
    if (merged == kNoValue) {
      miss("the heads are not put side by side again behind the product with the values");
      continue;
    }
    // Scalings between the score product and the Softmax: constants only.
    float scale_after = 1;
    for (ValueId s = c.softmax_in; !graph.producer(s)->is("MatMul");) {
      const Node& n = *graph.producer(s);
      if (is_scaling(graph, n)) {
        const auto left = scalar_constant(graph, n.inputs[0]);
        const auto factor = left ? left : scalar_constant(graph, n.inputs[1]);
        if (!factor) {
          why = "a scaling of the scores is not one number";
          break;
        }
        scale_after = n.is("Div") ? scale_after / *factor : scale_after * *factor;
        s = scaled_operand(graph, n);
      } else if (n.is("Add")) {
        s = n.inputs[0] == c.added_mask ? n.inputs[1] : n.inputs[0];
      } else if (n.is("Where")) {
        Candidate ignored;
        std::string unused;
        s = graph.constant(n.inputs[1]) == nullptr && find_scores(graph, n.inputs[1], ignored, unused) != nullptr
                ? n.inputs[1]
                : n.inputs[2];
      } else {
        s = n.inputs[0];
      }
    }
    if (!why.empty()) {
      miss(why);
      continue;
    }
    // The mask: a graph input of [batch, seq], else nothing, else the added tensor itself.
    const auto proves = [&](size_t r, const Mask& m) {
      return explains_probabilities(*witness.value(r, c.queries), *witness.value(r, c.keys), *witness.value(r, c.probs),
                                    shapes[r], scale_after, m);
    };
    ValueId key_mask = kNoValue;
    ValueId bias = kNoValue;
    for (const ValueId in : graph.inputs) {
      if (key_mask == kNoValue && witness.rank(in) == 2 && witness.per_token(in) && all_runs(witness, [&](size_t r) {
            return proves(r, {witness.value(r, in), nullptr});
          }))
        key_mask = in;
    }
    bool proven = key_mask != kNoValue;
    if (!proven) proven = all_runs(witness, [&](size_t r) { return proves(r, {}); });
    if (c.added_mask != kNoValue) {
      const auto recorded = [&](size_t r) {
        return graph.constant(c.added_mask) != nullptr ? graph.constant(c.added_mask) : witness.value(r, c.added_mask);
      };
      const bool fits = all_runs(witness, [&](size_t r) {
        const Tensor* t = recorded(r);
        return t != nullptr && t->dtype() == DType::kFloat32 && t->shape().rank() <= 4 && t->shape().rank() > 0 &&
               t->shape()[t->shape().rank() - 1] == shapes[r].seq && proves(r, {nullptr, t});
      });
      if (fits) bias = c.added_mask;
      proven = proven || fits;
    }
    if (!proven) {
      miss(
          "the recorded probabilities are not a softmax of scaled scores under a mask that is an input or an added "
          "tensor");
      continue;
    }
    // q_factor and k_factor are ratios of floats: the usual 1/sqrt(dim) is restored to its exact value.
    float scale = scale_after * q_factor * k_factor;
    const float usual = 1.0f / std::sqrt(static_cast<float>(shapes[0].dim));
    if (std::fabs(scale - usual) <= 1e-5f * usual) scale = usual;

    Node fused;
    fused.name = softmax.name;
    fused.domain = "assay";
    fused.op_type = "Attention";
    fused.version = 1;
    fused.attributes["heads"] = shapes[0].heads;
    fused.attributes["scale"] = scale;
    if (key_mask != kNoValue) fused.attributes["key_mask_input"] = static_cast<int64_t>(key_mask);
    if (key_mask != kNoValue && bias == kNoValue) {
      if (key_bias == kNoValue)
        key_bias = graph.node(graph.add_node("KeyBias", {key_mask}, 1, {}, "assay", 1)).outputs[0];
      bias = key_bias;
    }
    const ValueId parts[3] = {q, k, v};
    fused.inputs = {q, k, v, kNoValue, bias};
    const ValueId out = replace_value(graph, merged, std::move(fused), &witness);
    graph.remove_dead();
    const ValueId merged_layers = merge_layers(graph, witness, parts);
    if (merged_layers != kNoValue) {
      const NodeId attention = graph.value(out).producer;
      graph.set_input(attention, 0, merged_layers);
      graph.set_input(attention, 1, kNoValue);
      graph.set_input(attention, 2, kNoValue);
    }
    notes.push_back({"attention", softmax.label(), true,
                     fmt::format("{} heads of {}, scale {:.6g}, {}{}", shapes[0].heads, shapes[0].dim, scale,
                                 key_mask != kNoValue ? "key mask '" + graph.value(key_mask).name + "'"
                                 : bias != kNoValue   ? "added mask"
                                                      : "no mask",
                                 merged_layers != kNoValue ? ", query, key and value layers merged" : "")});
  }
  graph.remove_dead();
}

}  // namespace assay
