#include <algorithm>
#include <queue>
#include <set>

#include "graph/patterns_internal.h"

// Layer normalisation by meaning: starting from a mean of x, each value that follows gets the role it has in
// y = (x - mean) / sqrt(var + eps) * scale + shift, by what its operator does to the roles of its inputs. Whatever
// reaches the role of a normalised value is a match, in any spelling.

namespace assay::patterns {
namespace {

enum class Role {
  kNone,
  kX,
  kSumX,     // sum x, a mean but for a constant factor
  kMean,     // mean x
  kDev,      // x - mean
  kXSq,      // x^2
  kSumXSq,   // sum x^2
  kMeanXSq,  // mean x^2
  kMeanSq,   // (mean x)^2
  kSq,       // (x - mean)^2
  kSumSq,    // sum (x - mean)^2
  kVar,      // variance, with or without epsilon
  kStd,      // its root
  kInv,      // 1 / root, perhaps times the scale
  kXInv,     // x * inv
  kMeanInv,  // mean * inv
  kShift,    // shift - mean * inv
  kNorm,     // (x - mean) * inv
  kScaled,   // norm * scale
  kOut       // + shift
};

class Tracer {
 public:
  Tracer(const View& view, bool rms) : view_(view), g_(view.graph()), rms_(rms) {}

  // Follows roles forward from x. Returns whether a normalised value was reached.
  bool trace(ValueId x) {
    set(x, Role::kX);
    while (!queue_.empty()) {
      const NodeId n = queue_.top().second;
      queue_.pop();
      if (!done_.insert(n).second) continue;
      const Role role = role_of(g_.node(n));
      if (role == Role::kNone) {
        if (first_other_ == kNoNode && advanced_input(g_.node(n))) first_other_ = n;
        continue;
      }
      set(g_.node(n).outputs[0], role);
    }
    return best_ != kNoValue;
  }

  ValueId output() const { return best_; }
  /// Whether at least a variance was computed, and the first node after it that had no place.
  bool began() const { return began_; }
  NodeId first_other() const { return first_other_; }

  std::vector<NodeId> nodes(ValueId x) const {
    std::set<NodeId> found;
    std::vector<ValueId> stack{best_};
    while (!stack.empty()) {
      const ValueId v = stack.back();
      stack.pop_back();
      const NodeId p = view_.producer(v);
      if (v == x || p == kNoNode || roles_.count(v) == 0 || !found.insert(p).second) continue;
      for (ValueId in : g_.node(p).inputs)
        if (in != kNoValue) stack.push_back(in);
    }
    return {found.begin(), found.end()};
  }

 private:
  Role get(ValueId v) const {
    const auto it = roles_.find(v);
    return it == roles_.end() ? Role::kNone : it->second;
  }
  void set(ValueId v, Role role) {
    roles_[v] = role;
    began_ |= role == Role::kVar || role == Role::kStd || role == Role::kInv;
    if (role >= Role::kNorm && (best_ == kNoValue || role > get(best_))) best_ = v;
    for (NodeId user : g_.value(v).users) queue_.push({-view_.place(user), user});
  }
  bool advanced_input(const Node& n) const {
    return std::any_of(n.inputs.begin(), n.inputs.end(), [&](ValueId v) {
      const Role r = get(v);
      return r >= Role::kVar && r < Role::kNorm;
    });
  }

  Role role_of(const Node& n) const {
    if (!n.domain.empty() || n.outputs.empty()) return Role::kNone;
    const ValueId in0 = n.input(0), in1 = n.input(1);
    const Role a = get(in0), b = get(in1);
    if (passes_through(n)) return a;
    if (n.op_type == "ReduceMean") {
      if (!keeps_dims(n)) return Role::kNone;
      if (a == Role::kX && !rms_) return Role::kMean;
      if (a == Role::kSq) return Role::kVar;
      if (a == Role::kXSq) return rms_ ? Role::kVar : Role::kMeanXSq;
      return Role::kNone;
    }
    if (n.op_type == "ReduceSum") {
      if (!keeps_dims(n)) return Role::kNone;
      if (a == Role::kX && !rms_) return Role::kSumX;
      if (a == Role::kSq) return Role::kSumSq;
      if (a == Role::kXSq) return Role::kSumXSq;
      return Role::kNone;
    }
    if (n.op_type == "Neg") return a == Role::kMean || a == Role::kDev || a == Role::kMeanInv ? a : Role::kNone;
    if (n.op_type == "Sqrt") return a == Role::kVar ? Role::kStd : Role::kNone;
    if (n.op_type == "Reciprocal") return a == Role::kStd ? Role::kInv : Role::kNone;
    if (n.op_type == "Relu" || n.op_type == "Clip" || n.op_type == "Max") {
      if (a == Role::kVar || b == Role::kVar) return Role::kVar;
      return Role::kNone;
    }
    if (n.op_type == "Pow") return power(a, view_.scalar(in1));
    const bool ca = view_.is_constant(in0), cb = view_.is_constant(in1);
    if (n.op_type == "Sub") return difference(a, b, ca, cb);
    if (n.op_type == "Div") return quotient(a, b, ca, cb);
    if (n.op_type == "Add") {
      const Role r = sum(a, b, cb);
      return r != Role::kNone ? r : sum(b, a, ca);
    }
    if (n.op_type == "Mul") {
      const Role r = product(a, b, cb);
      return r != Role::kNone ? r : product(b, a, ca);
    }
    return Role::kNone;
  }

  static bool keeps_dims(const Node& n) { return n.get_int("keepdims", 1) != 0; }

  static Role power(Role a, std::optional<double> exponent) {
    if (!exponent) return Role::kNone;
    if (*exponent == 2.0) return square(a);
    if (a == Role::kVar && *exponent == 0.5) return Role::kStd;
    if (a == Role::kVar && *exponent == -0.5) return Role::kInv;
    if (a == Role::kStd && *exponent == -1.0) return Role::kInv;
    return Role::kNone;
  }
  static Role square(Role a) {
    if (a == Role::kX) return Role::kXSq;
    if (a == Role::kDev) return Role::kSq;
    if (a == Role::kMean) return Role::kMeanSq;
    return Role::kNone;
  }
  static Role scaled_sum(Role a) {
    if (a == Role::kSumX) return Role::kMean;
    if (a == Role::kSumSq) return Role::kVar;
    if (a == Role::kSumXSq) return Role::kMeanXSq;
    return Role::kNone;
  }
  static Role difference(Role a, Role b, bool ca, bool cb) {
    if ((a == Role::kX && b == Role::kMean) || (a == Role::kMean && b == Role::kX)) return Role::kDev;
    if (a == Role::kMeanXSq && b == Role::kMeanSq) return Role::kVar;
    if (a == Role::kXInv && b == Role::kMeanInv) return Role::kNorm;
    if (ca && b == Role::kMeanInv) return Role::kShift;
    if (cb && (a == Role::kNorm || a == Role::kScaled)) return Role::kOut;
    return Role::kNone;
  }
  Role quotient(Role a, Role b, bool ca, bool cb) const {
    if (b == Role::kStd) {
      if (a == Role::kDev || (rms_ && a == Role::kX)) return Role::kNorm;
      if (a == Role::kX) return Role::kXInv;
      if (a == Role::kMean) return Role::kMeanInv;
      if (ca) return Role::kInv;
    }
    if (cb) {
      if (a == Role::kDev) return Role::kDev;
      const Role s = scaled_sum(a);
      return rms_ && s == Role::kMeanXSq ? Role::kVar : s;
    }
    return Role::kNone;
  }
  static Role sum(Role a, Role b, bool cb) {
    if (cb) {
      if (a == Role::kVar || a == Role::kStd) return a;
      if (a == Role::kNorm || a == Role::kScaled) return Role::kOut;
    }
    if (a == Role::kX && b == Role::kMean) return Role::kDev;  // the mean was negated
    if (a == Role::kXInv && b == Role::kShift) return Role::kOut;
    if (a == Role::kXInv && b == Role::kMeanInv) return Role::kNorm;
    return Role::kNone;
  }
  Role product(Role a, Role b, bool cb) const {
    if (a == b && square(a) != Role::kNone) return square(a);
    if (b == Role::kInv) {
      if (a == Role::kDev || (rms_ && a == Role::kX)) return Role::kNorm;
      if (a == Role::kX) return Role::kXInv;
      if (a == Role::kMean) return Role::kMeanInv;
    }
    if (cb) {
      if (a == Role::kInv || a == Role::kDev) return a;
      if (a == Role::kNorm) return Role::kScaled;
      const Role s = scaled_sum(a);
      return rms_ && s == Role::kMeanXSq ? Role::kVar : s;
    }
    return Role::kNone;
  }

  const View& view_;
  const Graph& g_;
  bool rms_;
  bool began_ = false;
  std::map<ValueId, Role> roles_;
  std::set<NodeId> done_;
  std::priority_queue<std::pair<int, NodeId>> queue_;
  ValueId best_ = kNoValue;
  NodeId first_other_ = kNoNode;
};

bool is_fused(const Node& n) {
  static const std::set<std::string, std::less<>> kOnnx{"LayerNormalization", "RMSNormalization",
                                                        "SimplifiedLayerNormalization"};
  static const std::set<std::string, std::less<>> kContrib{"LayerNormalization", "SkipLayerNormalization",
                                                           "EmbedLayerNormalization", "SimplifiedLayerNormalization",
                                                           "SkipSimplifiedLayerNormalization"};
  return n.domain.empty() ? kOnnx.count(n.op_type) > 0 : kContrib.count(n.op_type) > 0;
}

// The base of Pow(b, 2) or Mul(b, b), seen through casts.
ValueId squared(const View& view, ValueId v) {
  v = view.strip(v);
  if (const Node* mul = view.producer_is(v, "Mul"); mul != nullptr && mul->input(0) == mul->input(1))
    return mul->input(0);
  if (const Node* pow = view.producer_is(v, "Pow"); pow != nullptr && view.scalar(pow->input(1)) == 2.0)
    return pow->input(0);
  return kNoValue;
}

}  // namespace

std::vector<PatternMatch> find_layernorm(const View& view, std::vector<PatternMiss>& misses) {
  const Graph& g = view.graph();
  std::vector<PatternMatch> out;
  std::set<NodeId> taken;
  for (NodeId id : view.order()) {
    const Node& n = g.node(id);
    if (!is_fused(n)) continue;
    out.push_back({Pattern::kLayerNorm, {id}, n.input(0), n.output(0), "fused " + n.op_type});
    taken.insert(id);
  }
  for (const bool rms : {false, true}) {
    for (NodeId id : view.order()) {
      const Node& n = g.node(id);
      if (!n.domain.empty() || (n.op_type != "ReduceMean" && n.op_type != "ReduceSum") || taken.count(id) > 0) continue;
      const ValueId base = rms ? squared(view, n.input(0)) : n.input(0);
      if (base == kNoValue || view.is_constant(base)) continue;
      const ValueId x = view.strip(base);
      Tracer tracer(view, rms);
      if (!tracer.trace(x)) {
        if (tracer.began() && tracer.first_other() != kNoNode && !rms)
          misses.push_back({Pattern::kLayerNorm, tracer.first_other(),
                            fmt::format("{} reads a variance of '{}' but does not divide x - mean by its root",
                                        g.node(tracer.first_other()).label(), g.value(x).name)});
        continue;
      }
      PatternMatch m{Pattern::kLayerNorm, tracer.nodes(x), x, tracer.output(), {}};
      if (std::find(m.nodes.begin(), m.nodes.end(), id) == m.nodes.end()) continue;
      m.spelling = (rms ? "RMS " : "") + spelling_of(view, m.nodes);
      taken.insert(m.nodes.begin(), m.nodes.end());
      out.push_back(std::move(m));
    }
  }
  misses.erase(
      std::remove_if(misses.begin(), misses.end(), [&](const PatternMiss& miss) { return taken.count(miss.node) > 0; }),
      misses.end());
  return out;
}

}  // namespace assay::patterns
