#pragma once

#include "kernels/float_ops.h"
#include "ops/broadcast.h"

namespace assay {

// The families of element-wise operators. A function object F names itself (kName) and computes one element; where it
// has attributes it is constructible from a Node.

template <typename F>
F make_function(const Node& node) {
  if constexpr (std::is_constructible_v<F, const Node&>) {
    return F(node);
  } else {
    return F{};
  }
}

/// A function whose float32 form is one of the vector kernels' (F::kKernel).
template <typename F>
concept HasKernel = requires {
  F::kKernel;
};

/// y = f(x), the type kept.
template <typename F, typename TypeList>
class UnaryOp final : public Op {
 public:
  explicit UnaryOp(const OpInit& init) : f_(make_function<F>(init.node)), isa_(init.isa) {}

  void run(OpContext& ctx) const override {
    const TensorView& x = need_input(ctx, 0, "X");
    dispatch(TypeList{}, x.dtype, F::kName, [&]<typename T>() { this->template run_as<T>(ctx, x); });
  }

 private:
  template <typename T>
  void run_as(OpContext& ctx, const TensorView& x) const {
    const T* in = x.as<T>();
    T* out = ctx.output(0, x.dtype, x.shape).template as<T>();
    if constexpr (HasKernel<F> && std::is_same_v<T, float>) {
      kernels::unary_f32(isa_, F::kKernel, x.elements(), in, out, ctx.threads());
    } else {
      parallel_for(ctx.threads(), x.elements(), kGrain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) out[i] = static_cast<T>(f_(static_cast<Compute<T>>(in[i])));
      });
    }
  }

  F f_;
  kernels::Isa isa_;
};

/// c = f(a, b) with broadcasting; R is the result's type, or void for the inputs' own.
template <typename F, typename TypeList, typename R = void>
class BinaryOp final : public Op {
 public:
  explicit BinaryOp(const OpInit& init) : f_(make_function<F>(init.node)) {}

  void run(OpContext& ctx) const override {
    const TensorView& a = need_input(ctx, 0, "A");
    const TensorView& b = need_input(ctx, 1, "B");
    same_dtype(a, b);
    const Broadcast plan({&a.shape, &b.shape});
    dispatch(TypeList{}, a.dtype, F::kName, [&]<typename T>() {
      using Out = std::conditional_t<std::is_void_v<R>, T, R>;
      Out* out = ctx.output(0, kDTypeOf<Out>, plan.shape).template as<Out>();
      broadcast_binary(plan, a.as<T>(), b.as<T>(), out, ctx.threads(), f_);
    });
  }

 private:
  F f_;
};

/// Integer arithmetic that wraps instead of overflowing; plain arithmetic for floats.
template <typename T, typename F>
T wrapping(T a, T b, const F& f) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    using Wide = std::common_type_t<std::make_unsigned_t<T>, unsigned>;
    return static_cast<T>(f(static_cast<Wide>(a), static_cast<Wide>(b)));
  } else {
    return static_cast<T>(f(a, b));
  }
}

}  // namespace assay
