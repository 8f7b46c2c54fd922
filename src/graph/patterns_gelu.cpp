#include <array>
#include <cmath>
#include <queue>
#include <set>

#include "graph/patterns_internal.h"

// GELU by meaning: what goes into Erf, Tanh or Sigmoid is written as a polynomial of some earlier value x, and what
// comes out is followed as A(x) + B(x) f. It is a GELU when those polynomials are GELU's, however they were written
// down.

namespace assay::patterns {
namespace {

using Poly = std::array<double, 4>;  // c0 + c1 x + c2 x^2 + c3 x^3
using MaybePoly = std::optional<Poly>;

bool near(const Poly& a, const Poly& b) {
  for (size_t i = 0; i < a.size(); ++i)
    if (std::abs(a[i] - b[i]) > 1e-3 * std::max(1.0, std::abs(b[i]))) return false;
  return true;
}
Poly add(const Poly& a, const Poly& b, double sign = 1.0) {
  Poly r{};
  for (size_t i = 0; i < r.size(); ++i) r[i] = a[i] + sign * b[i];
  return r;
}
MaybePoly mul(const Poly& a, const Poly& b) {
  Poly r{};
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = 0; j < b.size(); ++j) {
      if (a[i] == 0.0 || b[j] == 0.0) continue;
      if (i + j >= r.size()) return std::nullopt;
      r[i + j] += a[i] * b[j];
    }
  return r;
}
bool is_number(const Poly& p) { return p[1] == 0.0 && p[2] == 0.0 && p[3] == 0.0; }

class PolyOf {
 public:
  PolyOf(const View& view, ValueId x) : view_(view), x_(x) {}

  /// `v` as a polynomial of x, if that is what it is.
  MaybePoly operator()(ValueId v, int depth = 12) const {
    if (v == x_) return Poly{0, 1, 0, 0};
    if (v == kNoValue || depth == 0) return std::nullopt;
    if (const auto c = view_.scalar(v)) return Poly{*c, 0, 0, 0};
    const NodeId p = view_.producer(v);
    if (p == kNoNode) return std::nullopt;
    const Node& n = view_.graph().node(p);
    if (!n.domain.empty()) return std::nullopt;
    if (passes_through(n)) return (*this)(n.input(0), depth - 1);
    if (n.op_type == "Neg") {
      const auto a = (*this)(n.input(0), depth - 1);
      return a ? MaybePoly(add(Poly{}, *a, -1.0)) : a;
    }
    if (n.inputs.size() != 2) return std::nullopt;
    if (n.op_type != "Add" && n.op_type != "Sub" && n.op_type != "Mul" && n.op_type != "Div" && n.op_type != "Pow")
      return std::nullopt;
    const auto a = (*this)(n.input(0), depth - 1);
    if (!a) return a;
    const auto b = (*this)(n.input(1), depth - 1);
    if (!b) return b;
    if (n.op_type == "Add") return add(*a, *b);
    if (n.op_type == "Sub") return add(*a, *b, -1.0);
    if (n.op_type == "Mul") return mul(*a, *b);
    if (!is_number(*b)) return std::nullopt;
    if (n.op_type == "Div") return (*b)[0] == 0.0 ? MaybePoly{} : mul(*a, Poly{1.0 / (*b)[0], 0, 0, 0});
    if ((*b)[0] == 1.0) return a;
    if ((*b)[0] == 2.0) return mul(*a, *a);
    if ((*b)[0] != 3.0) return std::nullopt;
    const auto two = mul(*a, *a);
    return two ? mul(*two, *a) : two;
  }

 private:
  const View& view_;
  ValueId x_;
};

struct Form {
  const char* name;
  const char* op;
  Poly inside;  // P in f(P)
  Poly a, b;    // result A + B f
};
const double kRoot2OverPi = std::sqrt(2.0 / 3.14159265358979323846);
const std::array<Form, 3> kForms{{
    {"erf", "Erf", {0, std::sqrt(0.5), 0, 0}, {0, 0.5, 0, 0}, {0, 0.5, 0, 0}},
    {"tanh", "Tanh", {0, kRoot2OverPi, 0, kRoot2OverPi * 0.044715}, {0, 0.5, 0, 0}, {0, 0.5, 0, 0}},
    {"sigmoid", "Sigmoid", {0, 1.702, 0, 0}, {0, 0, 0, 0}, {0, 1, 0, 0}},
}};

// Values that `from` may be a polynomial of, deepest first.
std::vector<ValueId> candidates(const View& view, ValueId from) {
  std::vector<ValueId> found{from};
  std::set<ValueId> seen{from};
  for (size_t i = 0; i < found.size() && found.size() < 32; ++i) {
    const NodeId p = view.producer(found[i]);
    if (p == kNoNode) continue;
    const Node& n = view.graph().node(p);
    static const std::set<std::string, std::less<>> kOps{"Mul", "Div", "Add", "Sub", "Pow", "Neg"};
    if (!n.domain.empty() || (!passes_through(n) && kOps.count(n.op_type) == 0)) continue;
    for (ValueId v : n.inputs)
      if (v != kNoValue && !view.is_constant(v) && seen.insert(v).second) found.push_back(v);
  }
  return {found.rbegin(), found.rend()};
}

class Follower {
 public:
  Follower(const View& view, const Form& form, ValueId x, NodeId f)
      : view_(view), g_(view.graph()), form_(form), poly_(view, x) {
    set(g_.node(f).outputs[0], {Poly{}, Poly{1, 0, 0, 0}});
  }

  // The value that is the GELU, or kNoValue.
  ValueId find() {
    while (!queue_.empty()) {
      const NodeId n = queue_.top().second;
      queue_.pop();
      if (!done_.insert(n).second) continue;
      const auto e = apply(g_.node(n));
      if (!e) {
        if (first_other_ == kNoNode) first_other_ = n;
        continue;
      }
      const ValueId out = g_.node(n).outputs[0];
      if (near(e->a, form_.a) && near(e->b, form_.b)) return out;
      set(out, *e);
    }
    return kNoValue;
  }
  NodeId first_other() const { return first_other_; }

 private:
  struct Expr {
    Poly a, b;
  };
  void set(ValueId v, const Expr& e) {
    exprs_[v] = e;
    for (NodeId user : g_.value(v).users) queue_.push({-view_.place(user), user});
  }
  std::optional<Expr> get(ValueId v) const {
    if (const auto it = exprs_.find(v); it != exprs_.end()) return it->second;
    if (const auto p = poly_(v)) return Expr{*p, Poly{}};
    return std::nullopt;
  }
  std::optional<Expr> apply(const Node& n) const {
    if (!n.domain.empty() || n.outputs.empty()) return std::nullopt;
    if (passes_through(n)) return get(n.input(0));
    if (n.inputs.size() != 2) return std::nullopt;
    const auto l = get(n.input(0)), r = get(n.input(1));
    if (!l || !r) return std::nullopt;
    if (n.op_type == "Add") return Expr{add(l->a, r->a), add(l->b, r->b)};
    if (n.op_type == "Sub") return Expr{add(l->a, r->a, -1.0), add(l->b, r->b, -1.0)};
    if (n.op_type == "Mul") {
      if (near(l->b, Poly{}) || near(r->b, Poly{})) {
        const Expr& f = near(l->b, Poly{}) ? *r : *l;
        const Poly& p = near(l->b, Poly{}) ? l->a : r->a;
        const auto a = mul(f.a, p), b = mul(f.b, p);
        if (a && b) return Expr{*a, *b};
      }
      return std::nullopt;
    }
    if (n.op_type == "Div" && is_number(r->a) && near(r->b, Poly{}) && r->a[0] != 0.0) {
      const Poly inverse{1.0 / r->a[0], 0, 0, 0};
      return Expr{*mul(l->a, inverse), *mul(l->b, inverse)};
    }
    return std::nullopt;
  }

  const View& view_;
  const Graph& g_;
  const Form& form_;
  PolyOf poly_;
  std::map<ValueId, Expr> exprs_;
  std::set<NodeId> done_;
  std::priority_queue<std::pair<int, NodeId>> queue_;
  NodeId first_other_ = kNoNode;
};

std::vector<NodeId> between(const View& view, ValueId x, ValueId out) {
  std::set<NodeId> found;
  std::vector<ValueId> stack{out};
  while (!stack.empty()) {
    const ValueId v = stack.back();
    stack.pop_back();
    const NodeId p = view.producer(v);
    if (v == x || p == kNoNode || view.is_constant(v) || !found.insert(p).second) continue;
    for (ValueId in : view.graph().node(p).inputs)
      if (in != kNoValue) stack.push_back(in);
  }
  return {found.begin(), found.end()};
}

bool is_fused(const Node& n) {
  if (n.domain.empty()) return n.op_type == "Gelu";
  return n.op_type == "Gelu" || n.op_type == "FastGelu" || n.op_type == "BiasGelu" || n.op_type == "QuickGelu";
}

}  // namespace

std::vector<PatternMatch> find_gelu(const View& view, std::vector<PatternMiss>& misses) {
  const Graph& g = view.graph();
  std::vector<PatternMatch> out;
  for (NodeId id : view.order()) {
    const Node& n = g.node(id);
    if (is_fused(n)) {
      out.push_back({Pattern::kGelu, {id}, n.input(0), n.output(0), "fused " + n.op_type});
      continue;
    }
    if (!n.domain.empty()) continue;
    for (const Form& form : kForms) {
      if (n.op_type != form.op) continue;
      bool inside_matches = false;
      bool found = false;
      NodeId other = kNoNode;
      for (ValueId x : candidates(view, n.input(0))) {
        const auto inside = PolyOf(view, x)(n.input(0));
        if (!inside || !near(*inside, form.inside)) continue;
        inside_matches = true;
        Follower follower(view, form, x, id);
        const ValueId result = follower.find();
        if (result == kNoValue) {
          other = follower.first_other();
          continue;
        }
        out.push_back({Pattern::kGelu, between(view, x, result), x, result, form.name});
        found = true;
        break;
      }
      if (found) continue;
      if (inside_matches)
        misses.push_back({Pattern::kGelu, other == kNoNode ? id : other,
                          fmt::format("{} is what GELU's {} form takes, but what follows is not 0.5 x (1 + f)",
                                      n.label(), form.name)});
      else if (n.op_type == "Erf")
        misses.push_back({Pattern::kGelu, id, fmt::format("{} is not taken of x / sqrt 2", n.label())});
    }
  }
  return out;
}

}  // namespace assay::patterns
