// MaxPool, AveragePool, LpPool and their global forms; MaxUnpool.

#include <cmath>
#include <limits>

#include "ops/window.h"

namespace assay {
namespace {

template <typename T>
double number(T v) {
  return static_cast<double>(static_cast<Compute<T>>(v));
}

SmallInts kernel_of(const WindowAttributes& a) {
  require(a.kernel.n > 0, ErrorCode::kInvalidArgument, "kernel_shape is missing");
  return a.kernel;
}

Shape pooled_shape(const Shape& input, const Window& w) {
  Shape shape{input[0], input[1]};
  for (int d = 0; d < w.dims; ++d) shape.push_back(w.out[d]);
  return shape;
}

// Calls fn(out, in) for every input position under every output position's window, and done(out, padded) after each,
// where padded counts the window's positions inside the input or its pads.
template <typename Fn, typename Done>
void for_windows(const Window& w, const Fn& fn, const Done& done) {
  SmallInts o;
  for (int64_t out = 0; out < w.out_size; ++out, next_position(o, w.out, w.dims)) {
    SmallInts k;
    int64_t padded = 0;
    for (int64_t tap = 0; tap < w.kernel_size; ++tap, next_position(k, w.kernel, w.dims)) {
      int64_t at = 0;
      bool inside = true, in_pads = true;
      for (int d = 0; d < w.dims; ++d) {
        const int64_t p = o[d] * w.stride[d] - w.pad_begin[d] + k[d] * w.dilation[d];
        inside = inside && p >= 0 && p < w.in[d];
        in_pads = in_pads && p < w.in[d] + w.pad_end[d];
        at = at * w.in[d] + p;
      }
      padded += in_pads ? 1 : 0;
      if (inside) fn(out, at);
    }
    done(out, padded);
  }
}

// Indices (output 1) address the whole input; storage_order 1 counts them with the first spatial dimension fastest.
class MaxPool final : public Op {
 public:
  explicit MaxPool(const OpInit& init)
      : attributes_(init.node), column_major_(init.node.get_int("storage_order", 0) != 0) {}

  void run(OpContext& ctx) const override {
    const TensorView& x = need_input(ctx, 0, "X");
    const Window w(attributes_, x.shape, kernel_of(attributes_));
    const Shape shape = pooled_shape(x.shape, w);
    const MutableTensorView y = ctx.output(0, x.dtype, shape);
    int64_t* indices = ctx.wants(1) ? ctx.output(1, DType::kInt64, shape).as<int64_t>() : nullptr;
    dispatch(Join<FloatTypes, Types<int8_t, uint8_t>>{}, x.dtype, "MaxPool", [&]<typename T>() {
      const T* in = x.as<T>();
      T* out = y.as<T>();
      parallel_for(ctx.threads(), x.shape[0] * x.shape[1], grain_of(w.out_size * w.kernel_size),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t p = begin; p < end; ++p)
                       plane(w, in + p * w.in_size, out + p * w.out_size,
                             indices == nullptr ? nullptr : indices + p * w.out_size, p * w.in_size);
                   });
    });
  }

 private:
  template <typename T>
  void plane(const Window& w, const T* in, T* out, int64_t* indices, int64_t base) const {
    int64_t best = -1;
    for_windows(
        w,
        [&](int64_t, int64_t at) {
          const auto v = static_cast<Compute<T>>(in[at]);
          if (best < 0 || v > static_cast<Compute<T>>(in[best]) || v != v) best = at;
        },
        [&](int64_t o, int64_t) {
          if (best >= 0) {
            out[o] = in[best];
          } else if constexpr (std::is_integral_v<T>) {
            out[o] = std::numeric_limits<T>::lowest();
          } else {
            out[o] = static_cast<T>(-std::numeric_limits<Compute<T>>::infinity());
          }
          if (indices != nullptr) indices[o] = base + (column_major_ ? transposed(w, best) : best);
          best = -1;
        });
  }

  static int64_t transposed(const Window& w, int64_t at) {
    int64_t result = 0;
    SmallInts p;
    for (int d = w.dims - 1; d >= 0; --d) {
      p[d] = at % w.in[d];
      at /= w.in[d];
    }
    for (int d = w.dims - 1; d >= 0; --d) result = result * w.in[d] + p[d];
    return result;
  }

  WindowAttributes attributes_;
  bool column_major_;
};

enum class Mean { kAverage, kPower };

template <Mean kMean>
class MeanPool final : public Op {
 public:
  explicit MeanPool(const OpInit& init)
      : attributes_(init.node),
        include_pad_(init.node.get_int("count_include_pad", 0) != 0),
        p_(static_cast<double>(init.node.get_int("p", 2))) {}

  void run(OpContext& ctx) const override {
    const TensorView& x = need_input(ctx, 0, "X");
    const Window w(attributes_, x.shape, kernel_of(attributes_));
    dispatch(FloatTypes{}, x.dtype, kMean == Mean::kAverage ? "AveragePool" : "LpPool", [&]<typename T>() {
      const T* in = x.as<T>();
      T* out = ctx.output(0, x.dtype, pooled_shape(x.shape, w)).template as<T>();
      parallel_for(ctx.threads(), x.shape[0] * x.shape[1], grain_of(w.out_size * w.kernel_size),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t p = begin; p < end; ++p) plane(w, in + p * w.in_size, out + p * w.out_size);
                   });
    });
  }

 private:
  template <typename T>
  void plane(const Window& w, const T* in, T* out) const {
    double sum = 0;
    int64_t count = 0;
    for_windows(
        w,
        [&](int64_t, int64_t at) {
          const double v = number(in[at]);
          sum += kMean == Mean::kAverage ? v : std::pow(std::fabs(v), p_);
          ++count;
        },
        [&](int64_t o, int64_t padded) {
          const auto n = static_cast<double>(include_pad_ ? padded : count);
          const double v = kMean == Mean::kPower ? std::pow(sum, 1 / p_) : sum / n;
          out[o] = static_cast<T>(static_cast<Compute<T>>(v));
          sum = 0;
          count = 0;
        });
  }

  WindowAttributes attributes_;
  bool include_pad_;
  double p_;
};

enum class Global { kAverage, kMax, kPower };

template <Global kKind>
void global_pool(const Node& node, OpContext& ctx) {
  const TensorView& x = need_input(ctx, 0, "X");
  require(x.shape.rank() >= 2, ErrorCode::kInvalidArgument, "the input must be [N,C,...], not {}", x.shape);
  const int64_t n = x.shape.elements(2, x.shape.rank());
  require(n > 0, ErrorCode::kInvalidArgument, "{} has no spatial elements", x.shape);
  const auto p = static_cast<double>(node.get_int("p", 2));
  Shape shape{x.shape[0], x.shape[1]};
  for (int d = 2; d < x.shape.rank(); ++d) shape.push_back(1);
  dispatch(FloatTypes{}, x.dtype, "a global pool", [&]<typename T>() {
    const T* in = x.as<T>();
    T* out = ctx.output(0, x.dtype, shape).template as<T>();
    for (int64_t c = 0; c < x.shape[0] * x.shape[1]; ++c) {
      double v = kKind == Global::kMax ? -std::numeric_limits<double>::infinity() : 0;
      for (int64_t i = c * n; i < (c + 1) * n; ++i) {
        const double e = number(in[i]);
        if (kKind == Global::kMax) {
          v = e > v || e != e ? e : v;
        } else {
          v += kKind == Global::kAverage ? e : std::pow(std::fabs(e), p);
        }
      }
      if (kKind == Global::kAverage) v /= static_cast<double>(n);
      if (kKind == Global::kPower) v = std::pow(v, 1 / p);
      out[c] = static_cast<T>(static_cast<Compute<T>>(v));
    }
  });
}

// Puts each element back where MaxPool took it from, zeros elsewhere.
class MaxUnpool final : public Op {
 public:
  explicit MaxUnpool(const OpInit& init) : attributes_(init.node) {}

  void run(OpContext& ctx) const override {
    const TensorView& x = need_input(ctx, 0, "X");
    const TensorView& indices = need_input(ctx, 1, "I");
    require(indices.shape == x.shape && x.shape.rank() >= 3, ErrorCode::kInvalidArgument,
            "X {} and I {} must have one shape [N,C,D1,...]", x.shape, indices.shape);
    const int dims = x.shape.rank() - 2;
    const SmallInts kernel = kernel_of(attributes_);
    require(kernel.n == dims, ErrorCode::kInvalidArgument, "kernel_shape does not fit {}", x.shape);
    Shape natural{x.shape[0], x.shape[1]};
    for (int d = 0; d < dims; ++d) {
      const int64_t stride = attributes_.strides.n > d ? attributes_.strides[d] : 1;
      const int64_t pads = attributes_.pads.n > d ? attributes_.pads[d] + attributes_.pads_end[d] : 0;
      natural.push_back((x.shape[d + 2] - 1) * stride - pads + kernel[d]);
    }
    Shape shape = natural;
    if (ctx.has_input(2)) {
      const SmallInts wanted = read_small_ints(ctx.input(2), "output_shape");
      shape = Shape(std::span<const int64_t>(wanted.v.data(), static_cast<size_t>(wanted.n)));
      require(shape.rank() == natural.rank(), ErrorCode::kInvalidArgument, "output_shape {} does not fit {}", shape,
              x.shape);
    }
    const int64_t total = shape.elements();
    const MutableTensorView y = ctx.output(0, x.dtype, shape);
    dispatch_size(x.dtype, "MaxUnpool", [&]<typename T>() {
      const T* in = static_cast<const T*>(x.data);
      T* out = static_cast<T*>(y.data);
      std::fill(out, out + total, T{});
      // Indices count in the natural shape; a larger output_shape leaves room at the end of each dimension.
      for (int64_t i = 0; i < x.elements(); ++i) {
        int64_t rest = indices.as<int64_t>()[i], at = 0, step = 1;
        require(rest >= 0 && rest < natural.elements(), ErrorCode::kInvalidArgument, "index {} is outside {}", rest,
                natural);
        for (int d = shape.rank() - 1; d >= 0; --d) {
          const int64_t p = rest % natural[d];
          require(p < shape[d], ErrorCode::kInvalidArgument, "output_shape {} is too small for {}", shape, natural);
          at += p * step;
          rest /= natural[d];
          step *= shape[d];
        }
        out[at] = in[i];
      }
    });
  }

 private:
  WindowAttributes attributes_;
};

const OpRegistration kMaxPool{"", "MaxPool", 1, make_op<MaxPool>};
const OpRegistration kAveragePool{"", "AveragePool", 1, make_op<MeanPool<Mean::kAverage>>};
const OpRegistration kLpPool{"", "LpPool", 2, make_op<MeanPool<Mean::kPower>>};
const OpRegistration kGlobalAveragePool{"", "GlobalAveragePool", 1, make_simple_op<global_pool<Global::kAverage>>};
const OpRegistration kGlobalMaxPool{"", "GlobalMaxPool", 1, make_simple_op<global_pool<Global::kMax>>};
const OpRegistration kGlobalLpPool{"", "GlobalLpPool", 2, make_simple_op<global_pool<Global::kPower>>};
const OpRegistration kMaxUnpool{"", "MaxUnpool", 9, make_op<MaxUnpool>};

}  // namespace
}  // namespace assay
