// Max, Min, Sum, Mean: any number of inputs, broadcast together.

#include "ops/elementwise.h"

namespace assay {
namespace {

// A NaN in either argument is the result, as in NumPy.
struct Max {
  static constexpr std::string_view kName = "Max";
  static constexpr bool kMean = false;
  template <typename T>
  T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
};

struct Min {
  static constexpr std::string_view kName = "Min";
  static constexpr bool kMean = false;
  template <typename T>
  T operator()(T a, T b) const {
    return a < b || a != a ? a : b;
  }
};

struct Sum {
  static constexpr std::string_view kName = "Sum";
  static constexpr bool kMean = false;
  template <typename T>
  T operator()(T a, T b) const {
    return wrapping(a, b, [](auto x, auto y) { return x + y; });
  }
};

struct Mean : Sum {
  static constexpr std::string_view kName = "Mean";
  static constexpr bool kMean = true;
};

template <typename F, typename TypeList>
class VariadicOp final : public Op {
 public:
  explicit VariadicOp(const OpInit& /*init*/) {}

  void run(OpContext& ctx) const override {
    const TensorView& first = need_input(ctx, 0, "data_0");
    Shape shape = first.shape;
    for (size_t i = 1; i < ctx.input_count(); ++i) {
      same_dtype(first, ctx.input(i));
      shape = broadcast(shape, ctx.input(i).shape);
    }
    dispatch(TypeList{}, first.dtype, F::kName, [&]<typename T>() {
      T* out = ctx.output(0, first.dtype, shape).template as<T>();
      const F f;
      if (ctx.input_count() == 1) copy_elements(first.as<T>(), shape.elements(), out);
      for (size_t i = 1; i < ctx.input_count(); ++i) {
        const TensorView& b = ctx.input(i);
        if (i == 1) {
          // The third shape widens the walk to the result's.
          broadcast_binary(Broadcast({&first.shape, &b.shape, &shape}), first.as<T>(), b.as<T>(), out, ctx.threads(),
                           f);
        } else {
          broadcast_binary(Broadcast({&shape, &b.shape}), out, b.as<T>(), out, ctx.threads(), f);
        }
      }
      if constexpr (F::kMean) {
        const auto n = static_cast<Compute<T>>(ctx.input_count());
        for (int64_t i = 0; i < shape.elements(); ++i) out[i] = static_cast<T>(static_cast<Compute<T>>(out[i]) / n);
      }
    });
  }
};

const OpRegistration kMax{"", "Max", 6, make_op<VariadicOp<Max, NumberTypes>>};
const OpRegistration kMin{"", "Min", 6, make_op<VariadicOp<Min, NumberTypes>>};
const OpRegistration kSum{"", "Sum", 6, make_op<VariadicOp<Sum, NumberTypes>>};
const OpRegistration kMean{"", "Mean", 6, make_op<VariadicOp<Mean, FloatTypes>>};

}  // namespace
}  // namespace assay
