// Operators along one axis: ArgMax, ArgMin, CumSum, CumProd, TopK.

#include <numeric>

#include "ops/axis_split.h"

namespace assay {
namespace {

using OrderedTypes = NumberTypes;

template <bool kMax>
class ArgExtreme final : public Op {
 public:
  explicit ArgExtreme(const OpInit& init)
      : axis_(init.node.get_int("axis", 0)),
        keepdims_(init.node.get_int("keepdims", 1) != 0),
        last_(init.node.get_int("select_last_index", 0) != 0) {}

  void run(OpContext& ctx) const override {
    const TensorView& x = need_input(ctx, 0, "data");
    const AxisSplit s(x.shape, axis_);
    require(s.size > 0, ErrorCode::kInvalidArgument, "axis {} of {} is empty: there is no greatest element", s.axis,
            x.shape);
    Shape shape;
    for (int d = 0; d < x.shape.rank(); ++d)
      if (d != s.axis || keepdims_) shape.push_back(d == s.axis ? 1 : x.shape[d]);
    int64_t* out = ctx.output(0, DType::kInt64, shape).as<int64_t>();
    dispatch(OrderedTypes{}, x.dtype, kMax ? "ArgMax" : "ArgMin", [&]<typename T>() {
      const T* in = x.as<T>();
      parallel_for(ctx.threads(), s.outer * s.inner, grain_of(s.size), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const T* p = in + i / s.inner * s.size * s.inner + i % s.inner;
          int64_t best = 0;
          auto value = static_cast<Compute<T>>(*p);
          for (int64_t k = 1; k < s.size; ++k) {
            const auto v = static_cast<Compute<T>>(p[k * s.inner]);
            if ((kMax ? v > value : v < value) || (last_ && v == value)) {
              best = k;
              value = v;
            }
          }
          out[i] = best;
        }
      });
    });
  }

 private:
  int64_t axis_;
  bool keepdims_;
  bool last_;
};

template <bool kProduct>
class Cumulative final : public Op {
 public:
  explicit Cumulative(const OpInit& init)
      : exclusive_(init.node.get_int("exclusive", 0) != 0), reverse_(init.node.get_int("reverse", 0) != 0) {}

  void run(OpContext& ctx) const override {
    const TensorView& x = need_input(ctx, 0, "x");
    const AxisSplit s(x.shape, read_scalar_int(need_input(ctx, 1, "axis"), "axis"));
    using CumTypes = Join<FloatTypes, Types<int32_t, int64_t, uint32_t, uint64_t>>;
    dispatch(CumTypes{}, x.dtype, kProduct ? "CumProd" : "CumSum", [&]<typename T>() {
      using C = std::conditional_t<std::is_integral_v<T>, uint64_t, Compute<T>>;
      const T* in = x.as<T>();
      T* out = ctx.output(0, x.dtype, x.shape).template as<T>();
      for (int64_t i = 0; i < s.outer * s.inner; ++i) {
        const int64_t base = i / s.inner * s.size * s.inner + i % s.inner;
        C total = kProduct ? C{1} : C{0};
        for (int64_t k = 0; k < s.size; ++k) {
          const int64_t at = base + (reverse_ ? s.size - 1 - k : k) * s.inner;
          const C v = static_cast<C>(static_cast<Compute<T>>(in[at]));
          if (exclusive_) out[at] = static_cast<T>(total);
          total = kProduct ? total * v : total + v;
          if (!exclusive_) out[at] = static_cast<T>(total);
        }
      }
    });
  }

 private:
  bool exclusive_;
  bool reverse_;
};

// k is an attribute up to opset 9, an input from 10 on. Equal values come in index order; NaN counts as greatest.
class TopK final : public Op {
 public:
  explicit TopK(const OpInit& init)
      : axis_(init.node.get_int("axis", -1)),
        largest_(init.node.get_int("largest", 1) != 0),
        k_(init.node.get_int("k", -1)) {}

  void run(OpContext& ctx) const override {
    const TensorView& x = need_input(ctx, 0, "X");
    const AxisSplit s(x.shape, axis_);
    int64_t k = k_;
    if (ctx.has_input(1)) k = read_scalar_int(ctx.input(1), "K");
    require(k >= 0 && k <= s.size, ErrorCode::kInvalidArgument, "K {} is outside axis {} of {}", k, s.axis, x.shape);
    const Shape shape = with_dim(x.shape, s.axis, k);
    void* values = ctx.wants(0) ? ctx.output(0, x.dtype, shape).data : nullptr;
    int64_t* indices = ctx.wants(1) ? ctx.output(1, DType::kInt64, shape).as<int64_t>() : nullptr;
    auto* order = static_cast<int64_t*>(ctx.scratch(checked_mul<int64_t>(s.size, sizeof(int64_t))));
    dispatch(OrderedTypes{}, x.dtype, "TopK", [&]<typename T>() {
      const T* in = x.as<T>();
      for (int64_t i = 0; i < s.outer * s.inner; ++i) {
        const T* p = in + i / s.inner * s.size * s.inner + i % s.inner;
        std::iota(order, order + s.size, int64_t{0});
        const auto before = [&](int64_t a, int64_t b) {
          const auto va = static_cast<Compute<T>>(p[a * s.inner]), vb = static_cast<Compute<T>>(p[b * s.inner]);
          if (va < vb || vb < va) return largest_ ? vb < va : va < vb;
          const bool na = va != va, nb = vb != vb;
          if (na != nb) return largest_ ? na : nb;
          return a < b;
        };
        std::partial_sort(order, order + k, order + s.size, before);
        const int64_t base = i / s.inner * k * s.inner + i % s.inner;
        for (int64_t j = 0; j < k; ++j) {
          if (values != nullptr) static_cast<T*>(values)[base + j * s.inner] = p[order[j] * s.inner];
          if (indices != nullptr) indices[base + j * s.inner] = order[j];
        }
      }
    });
  }

 private:
  int64_t axis_;
  bool largest_;
  int64_t k_;
};

const OpRegistration kArgMax{"", "ArgMax", 1, make_op<ArgExtreme<true>>};
const OpRegistration kArgMin{"", "ArgMin", 1, make_op<ArgExtreme<false>>};
const OpRegistration kCumSum{"", "CumSum", 11, make_op<Cumulative<false>>};
const OpRegistration kCumProd{"", "CumProd", 26, make_op<Cumulative<true>>};
const OpRegistration kTopK{"", "TopK", 1, make_op<TopK>};

}  // namespace
}  // namespace assay
