// ScatterElements (and its old name Scatter), ScatterND.

#include "ops/index.h"

namespace assay {
namespace {

enum class Reduction { kNone, kAdd, kMul, kMax, kMin };

Reduction reduction_of(const Node& node) {
  const std::string name = node.get_string("reduction", "none");
  if (name == "none") return Reduction::kNone;
  if (name == "add") return Reduction::kAdd;
  if (name == "mul") return Reduction::kMul;
  if (name == "max") return Reduction::kMax;
  if (name == "min") return Reduction::kMin;
  fail(ErrorCode::kInvalidArgument, "reduction must be none, add, mul, max or min, not '{}'", name);
}

template <typename T>
T reduce(Reduction reduction, T a, T b) {
  using C = std::conditional_t<std::is_integral_v<T>, uint64_t, Compute<T>>;
  const auto x = static_cast<Compute<T>>(a), y = static_cast<Compute<T>>(b);
  switch (reduction) {
    case Reduction::kAdd:
      return static_cast<T>(static_cast<C>(x) + static_cast<C>(y));
    case Reduction::kMul:
      return static_cast<T>(static_cast<C>(x) * static_cast<C>(y));
    case Reduction::kMax:
      return x > y ? a : b;
    case Reduction::kMin:
      return x < y ? a : b;
    case Reduction::kNone:
      break;
  }
  return b;
}

// Copies data to the output, then lets `place` put updates there: place(out, i, from, n) joins n elements.
template <typename Walk>
void scatter(OpContext& ctx, Reduction reduction, std::string_view what, const Walk& walk) {
  const TensorView& x = ctx.input(0);
  const TensorView& updates = ctx.input(2);
  same_dtype(x, updates);
  const MutableTensorView y = ctx.output(0, x.dtype, x.shape);
  copy_tensor(x, y);
  if (reduction == Reduction::kNone) {
    dispatch_size(x.dtype, what, [&]<typename T>() {
      const T* in = static_cast<const T*>(updates.data);
      T* out = static_cast<T*>(y.data);
      walk([&](int64_t to, int64_t from, int64_t n) { copy_elements(in + from, n, out + to); });
    });
    return;
  }
  dispatch(NumberTypes{}, x.dtype, what, [&]<typename T>() {
    const T* in = updates.as<T>();
    T* out = y.as<T>();
    walk([&](int64_t to, int64_t from, int64_t n) {
      for (int64_t i = 0; i < n; ++i) out[to + i] = reduce(reduction, out[to + i], in[from + i]);
    });
  });
}

class ScatterElements final : public Op {
 public:
  explicit ScatterElements(const OpInit& init)
      : axis_(init.node.get_int("axis", 0)), reduction_(reduction_of(init.node)) {}

  void run(OpContext& ctx) const override {
    const TensorView& x = need_input(ctx, 0, "data");
    const TensorView& indices = need_input(ctx, 1, "indices");
    const TensorView& updates = need_input(ctx, 2, "updates");
    require(updates.shape == indices.shape, ErrorCode::kInvalidArgument, "updates {} and indices {} differ in shape",
            updates.shape, indices.shape);
    const ElementsWalk walk(x.shape, indices.shape, axis_);
    const IndexReader at(indices, x.shape[walk.axis], walk.axis, x.shape);
    const int64_t n = indices.elements();
    scatter(ctx, reduction_, "ScatterElements", [&](const auto& put) {
      for (int64_t i = 0; i < n; ++i) put(walk.offset(i, at[i]), i, 1);
    });
  }

 private:
  int64_t axis_;
  Reduction reduction_;
};

class ScatterND final : public Op {
 public:
  explicit ScatterND(const OpInit& init) : reduction_(reduction_of(init.node)) {}

  void run(OpContext& ctx) const override {
    const TensorView& x = need_input(ctx, 0, "data");
    const TensorView& updates = need_input(ctx, 2, "updates");
    const TuplesWalk walk(x.shape, need_input(ctx, 1, "indices"), 0);
    require(updates.elements() == checked_mul(walk.tuples, walk.slice), ErrorCode::kInvalidArgument,
            "updates {} do not fill the {} slices of {} elements that the indices name", updates.shape, walk.tuples,
            walk.slice);
    scatter(ctx, reduction_, "ScatterND", [&](const auto& put) {
      for (int64_t i = 0; i < walk.tuples; ++i) put(walk.offset(i), i * walk.slice, walk.slice);
    });
  }

 private:
  Reduction reduction_;
};

const OpRegistration kScatter{"", "Scatter", 9, make_op<ScatterElements>};
const OpRegistration kScatterElements{"", "ScatterElements", 11, make_op<ScatterElements>};
const OpRegistration kScatterND{"", "ScatterND", 11, make_op<ScatterND>};

}  // namespace
}  // namespace assay
