#pragma once

#include <cmath>
#include <limits>

#include "ops/reduce_walk.h"

namespace assay {

/// Sums of float32 and smaller run in double and sums of integers wrap in 64 bits, so that they do not depend on the
/// order in which the walk visits elements more than the last rounding shows.
template <typename T>
using SumType = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;

/// Elements of one lane group: independent partial results, so that the compiler may keep them in vector registers.
constexpr int64_t kLanes = 8;

/// A reduction F over type T has State, start(), step(State, T) -> State, join(State, State) -> State and
/// finish(State, count) -> T.
template <typename F, typename T>
auto reduce_contiguous(const F& f, const T* x, int64_t n) {
  using C = Compute<T>;
  auto total = f.start();
  int64_t i = 0;
  if (n >= 2 * kLanes) {
    std::array<decltype(total), kLanes> lane;
    lane.fill(f.start());
    for (; i + kLanes <= n; i += kLanes)
      for (int64_t l = 0; l < kLanes; ++l)
        lane[static_cast<size_t>(l)] = f.step(lane[static_cast<size_t>(l)], static_cast<C>(x[i + l]));
    for (const auto& l : lane) total = f.join(total, l);
  }
  for (; i < n; ++i) total = f.step(total, static_cast<C>(x[i]));
  return total;
}

template <typename F, typename T>
void reduce_all(const ReduceWalk& w, const F& f, const T* x, T* y, int threads) {
  using C = Compute<T>;
  const int64_t outputs = w.kept * w.inner;
  if (outputs == 0) return;
  if (w.inner == 1 && (w.reduced_dims.n == 0 || w.reduced_strides[w.reduced_dims.n - 1] == 1)) {
    const int64_t run = w.reduced_dims.n == 0 ? 1 : w.reduced_dims[w.reduced_dims.n - 1];
    const int64_t runs = run == 0 ? 0 : w.reduced / run;
    parallel_for(threads, w.kept, grain_of(w.reduced), [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        const T* base = x + w.kept_offset(k);
        auto state = f.start();
        for (int64_t r = 0; r < runs; ++r)
          state = f.join(state, reduce_contiguous<F, T>(f, base + w.reduced_offset(r * run), run));
        y[k] = static_cast<T>(f.finish(state, w.reduced));
      }
    });
    return;
  }
  // Inner elements are reduced side by side, a strip of them at a time.
  constexpr int64_t kStrip = 64;
  const int64_t strips = (w.inner + kStrip - 1) / kStrip;
  parallel_for(threads, w.kept * strips, grain_of(w.reduced * kStrip), [&](int64_t begin, int64_t end) {
    std::array<decltype(f.start()), kStrip> state;
    for (int64_t item = begin; item < end; ++item) {
      const int64_t k = item / strips;
      const int64_t first = item % strips * kStrip;
      const int64_t n = std::min(kStrip, w.inner - first);
      const T* base = x + w.kept_offset(k) + first;
      state.fill(f.start());
      for (int64_t r = 0; r < w.reduced; ++r) {
        const T* row = base + w.reduced_offset(r);
        for (int64_t i = 0; i < n; ++i)
          state[static_cast<size_t>(i)] = f.step(state[static_cast<size_t>(i)], static_cast<C>(row[i]));
      }
      T* out = y + k * w.inner + first;
      for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(f.finish(state[static_cast<size_t>(i)], w.reduced));
    }
  });
}

/// Reduce*: axes as attribute or input, keepdims, noop_with_empty_axes. `Reduction` is a template over the element's
/// compute type.
template <template <typename> class Reduction, typename TypeList>
class ReduceOp final : public Op {
 public:
  explicit ReduceOp(const OpInit& init)
      : axes_(init.node, 1),
        keepdims_(init.node.get_int("keepdims", 1) != 0),
        noop_(init.node.get_int("noop_with_empty_axes", 0) != 0),
        name_(init.node.op_type) {}

  void run(OpContext& ctx) const override {
    const TensorView& x = need_input(ctx, 0, "data");
    SmallInts axes = axes_.read(ctx);
    // No axes: all of them, or none with noop_with_empty_axes (each element is then reduced alone).
    if (axes.n == 0 && !noop_)
      for (; axes.n < x.shape.rank(); ++axes.n) axes[axes.n] = axes.n;
    const ReduceWalk walk(x.shape, axes);
    dispatch(TypeList{}, x.dtype, name_, [&]<typename T>() {
      T* y = ctx.output(0, x.dtype, walk.result(keepdims_ || axes.n == 0)).template as<T>();
      reduce_all(walk, Reduction<Compute<T>>{}, x.as<T>(), y, ctx.threads());
    });
  }

 private:
  AxesArgument axes_;
  bool keepdims_;
  bool noop_;
  std::string name_;
};

}  // namespace assay
