// Normalisations of [N, C, ...] tensors: BatchNormalization, InstanceNormalization, GroupNormalization, LRN; and
// LpNormalization, MeanVarianceNormalization.

#include <cmath>

#include "ops/axis_split.h"
#include "ops/convert.h"
#include "ops/reduce_walk.h"

namespace assay {
namespace {

template <typename T>
double number(T v) {
  return static_cast<double>(static_cast<Compute<T>>(v));
}
template <typename T>
T rounded(double v) {
  return static_cast<T>(static_cast<Compute<T>>(v));
}

struct Moments {
  double mean = 0, variance = 0;
};

// Population mean and variance over `runs` runs of n elements, `step` apart.
template <typename T>
Moments moments(const T* x, int64_t runs, int64_t step, int64_t n) {
  Moments m;
  const auto count = static_cast<double>(runs * n);
  for (int64_t r = 0; r < runs; ++r)
    for (int64_t i = 0; i < n; ++i) m.mean += number(x[r * step + i]);
  m.mean /= count;
  for (int64_t r = 0; r < runs; ++r)
    for (int64_t i = 0; i < n; ++i) {
      const double d = number(x[r * step + i]) - m.mean;
      m.variance += d * d;
    }
  m.variance /= count;
  return m;
}

void need_channels(const TensorView& t, std::string_view what, int64_t channels) {
  require(t.elements() == channels, ErrorCode::kInvalidArgument, "{} of shape {} must hold {} elements", what, t.shape,
          channels);
}

// Training mode also gives running mean and variance: running * momentum + batch * (1 - momentum).
class BatchNorm final : public Op {
 public:
  explicit BatchNorm(const OpInit& init)
      : epsilon_(init.node.get_float("epsilon", 1e-5f)),
        momentum_(init.node.get_float("momentum", 0.9f)),
        training_(init.node.get_int("training_mode", 0) != 0) {}

  void run(OpContext& ctx) const override {
    const TensorView& x = need_input(ctx, 0, "X");
    require(x.shape.rank() >= 2, ErrorCode::kInvalidArgument, "X must be [N,C,...], not {}", x.shape);
    const AxisSplit s(x.shape, 1);
    for (size_t i : {1, 2, 3, 4}) need_channels(need_input(ctx, i, "scale, B, mean or var"), "a parameter", s.size);
    // Parameters and statistics may have types of their own: they are read into one table of doubles.
    auto* table = static_cast<double*>(ctx.scratch(checked_mul<int64_t>(4 * sizeof(double), s.size)));
    for (size_t i : {1, 2, 3, 4})
      convert_elements(ctx.input(i),
                       {DType::kFloat64, ctx.input(i).shape, table + static_cast<int64_t>(i - 1) * s.size}, true);
    dispatch(FloatTypes{}, x.dtype, "BatchNormalization", [&]<typename T>() { run_as<T>(ctx, s, table); });
    if (!training_) return;
    for (size_t i : {1, 2}) {
      if (!ctx.wants(i)) continue;
      const TensorView statistic{DType::kFloat64, Shape{s.size}, table + static_cast<int64_t>(i + 1) * s.size};
      convert_elements(statistic, ctx.output(i, ctx.input(i + 2).dtype, statistic.shape), true);
    }
  }

 private:
  // table: scale, bias, mean and variance of each channel; training replaces the last two by the new running ones.
  template <typename T>
  void run_as(OpContext& ctx, const AxisSplit& s, double* table) const {
    using C = Compute<T>;
    const TensorView& x = ctx.input(0);
    const T* in = x.as<T>();
    T* out = ctx.output(0, x.dtype, x.shape).template as<T>();
    for (int64_t c = 0; c < s.size; ++c) {
      double& mean = table[2 * s.size + c];
      double& variance = table[3 * s.size + c];
      Moments m{mean, variance};
      if (training_) {
        m = moments(in + c * s.inner, s.outer, s.size * s.inner, s.inner);
        const double keep = momentum_;
        mean = mean * keep + m.mean * (1 - keep);
        variance = variance * keep + m.variance * (1 - keep);
      }
      const double gain = table[c] / std::sqrt(m.variance + static_cast<double>(epsilon_));
      const auto a = static_cast<C>(gain), b = static_cast<C>(table[s.size + c] - m.mean * gain);
      for (int64_t o = 0; o < s.outer; ++o) {
        const int64_t base = (o * s.size + c) * s.inner;
        for (int64_t i = base; i < base + s.inner; ++i) out[i] = static_cast<T>(static_cast<C>(in[i]) * a + b);
      }
    }
  }

  float epsilon_, momentum_;
  bool training_;
};

// InstanceNormalization is the case of one channel a group. GroupNormalization has a scale per group at opset 18 and
// per channel from 21 on.
class GroupNorm final : public Op {
 public:
  explicit GroupNorm(const OpInit& init)
      : instance_(init.node.op_type == "InstanceNormalization"),
        per_group_(!instance_ && init.node.version < 21),
        groups_(init.node.get_int("num_groups", 1)),
        epsilon_(init.node.get_float("epsilon", 1e-5f)) {}

  void run(OpContext& ctx) const override {
    const TensorView& x = need_input(ctx, 0, "X");
    require(x.shape.rank() >= 2, ErrorCode::kInvalidArgument, "X must be [N,C,...], not {}", x.shape);
    const AxisSplit s(x.shape, 1);
    const int64_t groups = instance_ ? s.size : groups_;
    require(groups > 0 && s.size % groups == 0, ErrorCode::kInvalidArgument, "{} channels do not divide into {} groups",
            s.size, groups);
    const int64_t channels = s.size / groups;
    for (size_t i : {1, 2})
      need_channels(need_input(ctx, i, "scale or bias"), "scale or bias", per_group_ ? groups : s.size);
    dispatch(FloatTypes{}, x.dtype, instance_ ? "InstanceNormalization" : "GroupNormalization", [&]<typename T>() {
      const T* in = x.as<T>();
      const T* scale = ctx.input(1).as<T>();
      const T* bias = ctx.input(2).as<T>();
      T* out = ctx.output(0, x.dtype, x.shape).template as<T>();
      const int64_t n = channels * s.inner;
      parallel_for(ctx.threads(), s.outer * groups, grain_of(n), [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k) {
          const Moments m = moments(in + k * n, 1, 0, n);
          const double inverse = 1 / std::sqrt(m.variance + static_cast<double>(epsilon_));
          for (int64_t i = 0; i < n; ++i) {
            const int64_t c = per_group_ ? k % groups : k % groups * channels + i / s.inner;
            out[k * n + i] =
                rounded<T>((number(in[k * n + i]) - m.mean) * inverse * number(scale[c]) + number(bias[c]));
          }
        }
      });
    });
  }

 private:
  bool instance_, per_group_;
  int64_t groups_;
  float epsilon_;
};

// Krizhevsky et al. 2012: x / (bias + alpha / size * sum of squares over neighbouring channels) ^ beta.
void lrn(const Node& node, OpContext& ctx) {
  const TensorView& x = need_input(ctx, 0, "X");
  require(x.shape.rank() >= 2, ErrorCode::kInvalidArgument, "X must be [N,C,...], not {}", x.shape);
  const AxisSplit s(x.shape, 1);
  const int64_t size = node.get_int("size", 1);
  require(size > 0, ErrorCode::kInvalidArgument, "size {} is not positive", size);
  const double alpha = node.get_float("alpha", 1e-4f), beta = node.get_float("beta", 0.75f);
  const double bias = node.get_float("bias", 1.0f);
  dispatch(FloatTypes{}, x.dtype, "LRN", [&]<typename T>() {
    const T* in = x.as<T>();
    T* out = ctx.output(0, x.dtype, x.shape).template as<T>();
    for (int64_t o = 0; o < s.outer; ++o)
      for (int64_t c = 0; c < s.size; ++c) {
        const int64_t first = std::max<int64_t>(0, c - (size - 1) / 2);
        const int64_t last = std::min(s.size - 1, c + size / 2);
        for (int64_t i = 0; i < s.inner; ++i) {
          double squares = 0;
          for (int64_t k = first; k <= last; ++k) {
            const double v = number(in[(o * s.size + k) * s.inner + i]);
            squares += v * v;
          }
          const int64_t at = (o * s.size + c) * s.inner + i;
          out[at] = rounded<T>(number(in[at]) / std::pow(bias + alpha / static_cast<double>(size) * squares, beta));
        }
      }
  });
}

// A slice of norm 0 stays zeros.
void lp_norm(const Node& node, OpContext& ctx) {
  const TensorView& x = need_input(ctx, 0, "input");
  const AxisSplit s(x.shape, node.get_int("axis", -1));
  const int64_t p = node.get_int("p", 2);
  require(p == 1 || p == 2, ErrorCode::kInvalidArgument, "p must be 1 or 2, not {}", p);
  dispatch(FloatTypes{}, x.dtype, "LpNormalization", [&]<typename T>() {
    const T* in = x.as<T>();
    T* out = ctx.output(0, x.dtype, x.shape).template as<T>();
    for (int64_t i = 0; i < s.outer * s.inner; ++i) {
      const int64_t base = i / s.inner * s.size * s.inner + i % s.inner;
      double norm = 0;
      for (int64_t k = 0; k < s.size; ++k) {
        const double v = number(in[base + k * s.inner]);
        norm += p == 1 ? std::fabs(v) : v * v;
      }
      if (p == 2) norm = std::sqrt(norm);
      for (int64_t k = 0; k < s.size; ++k)
        out[base + k * s.inner] = norm == 0 ? rounded<T>(0) : rounded<T>(number(in[base + k * s.inner]) / norm);
    }
  });
}

void mean_variance_norm(const Node& node, OpContext& ctx) {
  const TensorView& x = need_input(ctx, 0, "X");
  const ReduceWalk w(x.shape, small_ints(node.get_ints("axes", {0, 2, 3}), "axes"));
  dispatch(FloatTypes{}, x.dtype, "MeanVarianceNormalization", [&]<typename T>() {
    const T* in = x.as<T>();
    T* out = ctx.output(0, x.dtype, x.shape).template as<T>();
    for (int64_t k = 0; k < w.kept * w.inner; ++k) {
      const int64_t base = w.kept_offset(k / w.inner) + k % w.inner;
      double sum = 0, squares = 0;
      for (int64_t r = 0; r < w.reduced; ++r) sum += number(in[base + w.reduced_offset(r)]);
      const double mean = sum / static_cast<double>(w.reduced);
      for (int64_t r = 0; r < w.reduced; ++r) {
        const double d = number(in[base + w.reduced_offset(r)]) - mean;
        squares += d * d;
      }
      const double deviation = std::sqrt(squares / static_cast<double>(w.reduced)) + 1e-9;
      for (int64_t r = 0; r < w.reduced; ++r) {
        const int64_t at = base + w.reduced_offset(r);
        out[at] = rounded<T>((number(in[at]) - mean) / deviation);
      }
    }
  });
}

const OpRegistration kBatchNorm{"", "BatchNormalization", 7, make_op<BatchNorm>};
const OpRegistration kInstanceNorm{"", "InstanceNormalization", 6, make_op<GroupNorm>};
const OpRegistration kGroupNorm{"", "GroupNormalization", 18, make_op<GroupNorm>};
const OpRegistration kLrn{"", "LRN", 1, make_simple_op<lrn>};
const OpRegistration kLpNorm{"", "LpNormalization", 1, make_simple_op<lp_norm>};
const OpRegistration kMvn{"", "MeanVarianceNormalization", 9, make_simple_op<mean_variance_norm>};

}  // namespace
}  // namespace assay
