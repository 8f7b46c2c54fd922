// Softmax, LogSoftmax, Hardmax. Before opset 13 the input is taken as a matrix cut at `axis` (default 1); from 13 on
// one axis (default -1) is normalised.

#include <cmath>

#include "kernels/float_ops.h"
#include "ops/axis_split.h"

namespace assay {
namespace {

enum class Kind { kSoftmax, kLogSoftmax, kHardmax };

// One slice of n elements, `stride` apart.
template <Kind kKind, typename T>
void one_slice(const T* x, T* y, int64_t n, int64_t stride) {
  using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
  if (n == 0) return;
  int64_t best = 0;
  C max = static_cast<C>(x[0]);
  for (int64_t i = 1; i < n; ++i)
    if (const C v = static_cast<C>(x[i * stride]); v > max) {
      max = v;
      best = i;
    }
  if constexpr (kKind == Kind::kHardmax) {
    for (int64_t i = 0; i < n; ++i) y[i * stride] = static_cast<T>(i == best ? C{1} : C{0});
    return;
  }
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += std::exp(static_cast<C>(x[i * stride]) - max);
  const auto log_sum = static_cast<C>(std::log(sum));
  const auto scale = static_cast<C>(1 / sum);
  for (int64_t i = 0; i < n; ++i) {
    const C shifted = static_cast<C>(x[i * stride]) - max;
    y[i * stride] = static_cast<T>(kKind == Kind::kLogSoftmax ? shifted - log_sum : std::exp(shifted) * scale);
  }
}

template <Kind kKind>
class SoftmaxOp final : public Op {
 public:
  explicit SoftmaxOp(const OpInit& init)
      : flat_(init.node.version < 13), axis_(init.node.get_int("axis", flat_ ? 1 : -1)), isa_(init.isa) {}

  void run(OpContext& ctx) const override {
    const TensorView& x = need_input(ctx, 0, "input");
    const int rank = x.shape.rank();
    int64_t outer = 1, n = 1, inner = 1;
    if (flat_ && axis_ == rank) {
      outer = x.elements();
    } else if (rank > 0) {
      const AxisSplit s(x.shape, axis_);
      outer = s.outer;
      n = flat_ ? s.size * s.inner : s.size;
      inner = flat_ ? 1 : s.inner;
    }
    dispatch(FloatTypes{}, x.dtype, "Softmax", [&]<typename T>() {
      const T* in = x.as<T>();
      T* out = ctx.output(0, x.dtype, x.shape).template as<T>();
      if constexpr (kKind == Kind::kSoftmax && std::is_same_v<T, float>)
        if (inner == 1) return kernels::softmax_f32(isa_, outer, n, in, nullptr, 1, 1, out, ctx.threads());
      parallel_for(ctx.threads(), outer * inner, grain_of(n), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t base = i / inner * n * inner + i % inner;
          one_slice<kKind>(in + base, out + base, n, inner);
        }
      });
    });
  }

 private:
  bool flat_;
  int64_t axis_;
  kernels::Isa isa_;
};

const OpRegistration kSoftmax{"", "Softmax", 1, make_op<SoftmaxOp<Kind::kSoftmax>>};
const OpRegistration kLogSoftmax{"", "LogSoftmax", 1, make_op<SoftmaxOp<Kind::kLogSoftmax>>};
const OpRegistration kHardmax{"", "Hardmax", 1, make_op<SoftmaxOp<Kind::kHardmax>>};

}  // namespace
}  // namespace assay
