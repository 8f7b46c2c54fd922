// Einsum: any equation. Every term is a strided walk over the labels; a batched matrix product is recognised and given
// to the product kernel.

#include <map>

#include "kernels/gemm_f32.h"
#include "ops/support.h"

namespace assay {
namespace {

constexpr int kMaxLabels = 16;

// Labels of one term: letters as characters, dimensions under "..." as 128 + index counted from the last.
using Labels = std::vector<int>;

Labels labels_of(std::string_view term) {
  Labels labels;
  for (size_t i = 0; i < term.size(); ++i) {
    if (term[i] == '.') {
      require(term.substr(i, 3) == "...", ErrorCode::kInvalidArgument, "'{}' holds a lone point", term);
      labels.push_back('.');
      i += 2;
    } else {
      const bool letter = (term[i] >= 'a' && term[i] <= 'z') || (term[i] >= 'A' && term[i] <= 'Z');
      require(letter, ErrorCode::kInvalidArgument, "'{}' in the equation is no letter", term[i]);
      labels.push_back(term[i]);
    }
  }
  return labels;
}

struct Equation {
  explicit Equation(std::string text) {
    std::erase(text, ' ');
    const size_t arrow = text.find("->");
    std::string_view left = std::string_view(text).substr(0, arrow);
    while (true) {
      const size_t comma = left.find(',');
      terms.push_back(labels_of(left.substr(0, comma)));
      if (comma == std::string_view::npos) break;
      left.remove_prefix(comma + 1);
    }
    if (arrow != std::string::npos) {
      output = labels_of(std::string_view(text).substr(arrow + 2));
      return;
    }
    // Implicit output: the ellipsis, then labels that occur once, in alphabetical order.
    std::map<int, int> count;
    bool dots = false;
    for (const Labels& t : terms)
      for (int l : t) l == '.' ? void(dots = true) : void(++count[l]);
    if (dots) output.push_back('.');
    for (const auto& [label, n] : count)
      if (n == 1) output.push_back(label);
  }

  std::vector<Labels> terms;
  Labels output;
};

// One label of the walk: its size and each term's stride along it.
struct Axis {
  int label = 0;
  int64_t size = 1;
  SmallInts strides;
};

class Einsum final : public Op {
 public:
  explicit Einsum(const OpInit& init) : equation_(init.node.get_string("equation", "")), isa_(init.isa) {
    require(equation_.terms.size() <= kMaxRank, ErrorCode::kUnsupported, "{} operands, at most {} are supported",
            equation_.terms.size(), kMaxRank);
  }

  void run(OpContext& ctx) const override {
    require(ctx.input_count() == equation_.terms.size(), ErrorCode::kInvalidArgument, "{} inputs for {} terms",
            ctx.input_count(), equation_.terms.size());
    std::array<Axis, kMaxLabels> axes;
    int n = 0;
    int dots = 0;
    for (size_t t = 0; t < equation_.terms.size(); ++t) {
      same_dtype(ctx.input(0), ctx.input(t));
      dots = std::max(dots, add_term(ctx.input(t), t, axes, n));
    }
    Shape shape;
    std::array<int, kMaxLabels> order{};  // positions in `axes`: output labels first, then those summed over
    int kept = 0;
    const auto keep = [&](int label) {
      for (int i = 0; i < n; ++i) {
        if (axes[static_cast<size_t>(i)].label != label) continue;
        order[static_cast<size_t>(kept++)] = i;
        shape.push_back(axes[static_cast<size_t>(i)].size);
        return;
      }
      fail(ErrorCode::kInvalidArgument, "output label '{}' is in no input", static_cast<char>(label));
    };
    for (int label : equation_.output) {
      if (label != '.') {
        keep(label);
      } else {
        for (int d = dots - 1; d >= 0; --d) keep(128 + d);
      }
    }
    int total = kept;
    for (int i = 0; i < n; ++i)
      if (std::find(order.begin(), order.begin() + kept, i) == order.begin() + kept)
        order[static_cast<size_t>(total++)] = i;
    const MutableTensorView y = ctx.output(0, ctx.input(0).dtype, shape);
    std::array<Axis, kMaxLabels> sorted;
    for (int i = 0; i < n; ++i)
      sorted[static_cast<size_t>(i)] = axes[static_cast<size_t>(order[static_cast<size_t>(i)])];
    if (y.dtype == DType::kFloat32 && as_product(ctx, sorted, kept, n, y)) return;
    dispatch(Join<FloatTypes, Types<int32_t, int64_t, uint32_t, uint64_t>>{}, y.dtype, "Einsum",
             [&]<typename T>() { walk<T>(ctx, sorted, kept, n, y.as<T>()); });
  }

 private:
  static Axis& axis_of(std::array<Axis, kMaxLabels>& axes, int& n, int label) {
    for (int i = 0; i < n; ++i)
      if (axes[static_cast<size_t>(i)].label == label) return axes[static_cast<size_t>(i)];
    require(n < kMaxLabels, ErrorCode::kUnsupported, "more than {} labels", kMaxLabels);
    axes[static_cast<size_t>(n)].label = label;
    return axes[static_cast<size_t>(n++)];
  }

  // Enters a term's dimensions; a label that repeats within it walks the diagonal. Returns its ellipsis' rank.
  int add_term(const TensorView& x, size_t t, std::array<Axis, kMaxLabels>& axes, int& n) const {
    const Labels& labels = equation_.terms[t];
    const bool has_dots = std::find(labels.begin(), labels.end(), '.') != labels.end();
    const int named = static_cast<int>(labels.size()) - (has_dots ? 1 : 0);
    const int dots = x.shape.rank() - named;
    require(dots == 0 || (has_dots && dots > 0), ErrorCode::kInvalidArgument, "input {} of shape {} has {} labels", t,
            x.shape, named);
    const SmallInts strides = strides_of(x.shape);
    int d = 0;
    for (int label : labels) {
      for (int k = label == '.' ? dots - 1 : 0; k >= 0; --k, ++d) {
        Axis& axis = axis_of(axes, n, label == '.' ? 128 + k : label);
        const int64_t size = x.shape[d];
        require(size == axis.size || size == 1 || axis.size == 1, ErrorCode::kInvalidArgument,
                "dimension {} of input {} {} has size {} where another input has {}", d, t, x.shape, size, axis.size);
        if (size != 1) {
          axis.size = size;
          axis.strides[static_cast<int>(t)] += strides[d];
        }
      }
    }
    return dots;
  }

  template <typename T>
  void walk(const OpContext& ctx, const std::array<Axis, kMaxLabels>& axes, int kept, int n, T* out) const {
    using C = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;
    const size_t terms = equation_.terms.size();
    int64_t outputs = 1, sums = 1;
    for (int i = 0; i < n; ++i) (i < kept ? outputs : sums) *= axes[static_cast<size_t>(i)].size;
    for (int64_t o = 0; o < outputs; ++o) {
      SmallInts base;
      step_to(axes, 0, kept, o, terms, base);
      C total = 0;
      for (int64_t s = 0; s < sums; ++s) {
        SmallInts at = base;
        step_to(axes, kept, n, s, terms, at);
        C product = 1;
        for (size_t t = 0; t < terms; ++t)
          product *= static_cast<C>(static_cast<Compute<T>>(ctx.input(t).as<T>()[at[static_cast<int>(t)]]));
        total += product;
      }
      out[o] = static_cast<T>(static_cast<Compute<T>>(total));
    }
  }

  static void step_to(const std::array<Axis, kMaxLabels>& axes, int from, int to, int64_t index, size_t terms,
                      SmallInts& at) {
    for (int i = to - 1; i >= from; --i) {
      const Axis& a = axes[static_cast<size_t>(i)];
      const int64_t p = index % a.size;
      index /= a.size;
      for (size_t t = 0; t < terms; ++t) at[static_cast<int>(t)] += p * a.strides[static_cast<int>(t)];
    }
  }

  // Two operands with one label of A's own, one of B's own (the last two of the output, in this order) and one summed
  // over; the other output labels are batch.
  bool as_product(OpContext& ctx, const std::array<Axis, kMaxLabels>& axes, int kept, int n,
                  const MutableTensorView& y) const {
    if (equation_.terms.size() != 2 || kept < 2 || n != kept + 1) return false;
    const Axis& m = axes[static_cast<size_t>(kept - 2)];
    const Axis& c = axes[static_cast<size_t>(kept - 1)];
    const Axis& k = axes[static_cast<size_t>(kept)];
    if (m.strides[1] != 0 || c.strides[0] != 0) return false;
    kernels::GemmF32 g;
    g.m = m.size;
    g.n = c.size;
    g.k = k.size;
    if (g.m * g.n * g.k == 0) return false;
    const int64_t am = m.strides[0], ak = k.strides[0], bk = k.strides[1], bn = c.strides[1];
    if (ak == 1 && am >= g.k) {
      g.a_stride = am;
    } else if (am == 1 && ak >= g.m) {
      g.trans_a = true;
      g.a_stride = ak;
    } else {
      return false;
    }
    if (bn == 1 && bk >= g.n) {
      g.b_stride = bk;
    } else if (bk == 1 && bn >= g.k) {
      g.trans_b = true;
      g.b_stride = bn;
    } else {
      return false;
    }
    g.a = ctx.input(0).as<float>();
    g.b = ctx.input(1).as<float>();
    for (int i = 0; i < kept - 2; ++i) g.batch *= axes[static_cast<size_t>(i)].size;
    if (g.batch == 0) return false;
    g.dst_batch = g.m * g.n;
    g.epilogue.dst = y.data;
    g.epilogue.dst_stride = g.n;
    ScratchPlan plan;
    const int64_t a_at = plan.add_array<int64_t>(g.batch), b_at = plan.add_array<int64_t>(g.batch);
    const int64_t kernel = plan.add(checked_cast<int64_t>(kernels::gemm_f32_scratch_bytes(isa_, g, ctx.threads())));
    plan.take(ctx);
    for (int64_t i = 0; i < g.batch; ++i) {
      SmallInts at;
      step_to(axes, 0, kept - 2, i, 2, at);
      plan.at<int64_t>(a_at)[i] = at[0];
      plan.at<int64_t>(b_at)[i] = at[1];
    }
    g.a_offsets = plan.at<int64_t>(a_at);
    g.b_offsets = plan.at<int64_t>(b_at);
    kernels::gemm_f32(isa_, g, plan.at(kernel), ctx.threads());
    return true;
  }

  Equation equation_;
  kernels::Isa isa_;
};

const OpRegistration kEinsum{"", "Einsum", 12, make_op<Einsum>};

}  // namespace
}  // namespace assay
