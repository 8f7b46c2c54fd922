// LayerNormalization and RMSNormalization: the last dimensions, from `axis` on, of each row.

#include <cmath>

#include "kernels/float_ops.h"
#include "ops/strided_copy.h"

namespace assay {
namespace {

template <bool kRms>
class LayerNorm final : public Op {
 public:
  explicit LayerNorm(const OpInit& init)
      : axis_(init.node.get_int("axis", -1)), epsilon_(init.node.get_float("epsilon", 1e-5f)), isa_(init.isa) {}

  void run(OpContext& ctx) const override {
    const TensorView& x = need_input(ctx, 0, "X");
    const TensorView& scale = need_input(ctx, 1, "Scale");
    const int rank = x.shape.rank();
    const int axis = normalize_axis(axis_, rank);
    const int64_t rows = x.shape.elements(0, axis), n = x.shape.elements(axis, rank);
    Shape row_shape;
    for (int d = axis; d < rank; ++d) row_shape.push_back(x.shape[d]);
    const bool has_bias = !kRms && ctx.has_input(2);

    // Scale and bias that only broadcast to a row are spread out first.
    const bool spread_scale = scale.elements() != n, spread_bias = has_bias && ctx.input(2).elements() != n;
    const int64_t spread_bytes = (bytes_of(scale.dtype, n) + 63) / 64 * 64;
    auto* memory = spread_scale || spread_bias ? static_cast<std::byte*>(ctx.scratch(2 * spread_bytes)) : nullptr;
    const TensorView gamma = spread_scale ? spread(scale, row_shape, memory) : scale;
    TensorView beta = has_bias ? ctx.input(2) : TensorView{};
    if (spread_bias) beta = spread(beta, row_shape, memory + spread_bytes);

    dispatch(FloatTypes{}, x.dtype, kRms ? "RMSNormalization" : "LayerNormalization", [&]<typename T>() {
      const T* in = x.as<T>();
      T* out = ctx.output(0, x.dtype, x.shape).template as<T>();
      Shape stat_shape;
      for (int d = 0; d < rank; ++d) stat_shape.push_back(d < axis ? x.shape[d] : 1);
      float* mean = !kRms && ctx.wants(1) ? ctx.output(1, DType::kFloat32, stat_shape).as<float>() : nullptr;
      float* inverse = !kRms && ctx.wants(2) ? ctx.output(2, DType::kFloat32, stat_shape).as<float>() : nullptr;
      if constexpr (std::is_same_v<T, float>) {
        if (mean == nullptr && inverse == nullptr) {
          kernels::Norm norm;
          norm.rows = rows;
          norm.n = n;
          norm.src = in;
          norm.src_stride = norm.dst_stride = n;
          norm.gamma = gamma.as<float>();
          norm.beta = has_bias ? beta.as<float>() : nullptr;
          norm.eps = epsilon_;
          norm.rms = kRms;
          norm.dst = out;
          return kernels::norm_f32(isa_, norm, ctx.threads());
        }
      }
      const T* g = gamma.as<T>();
      const T* b = has_bias ? beta.as<T>() : nullptr;
      parallel_for(ctx.threads(), rows, grain_of(n), [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) plain_row(in + r * n, g, b, out + r * n, n, r, mean, inverse);
      });
    });
  }

 private:
  static TensorView spread(const TensorView& t, const Shape& shape, void* memory) {
    require(broadcast(t.shape, shape) == shape, ErrorCode::kInvalidArgument, "{} does not broadcast to a row of {}",
            t.shape, shape);
    const SmallInts own = strides_of(t.shape);
    const int missing = shape.rank() - t.shape.rank();
    SmallInts dims, strides;
    dims.n = strides.n = shape.rank();
    for (int d = 0; d < shape.rank(); ++d) {
      dims[d] = shape[d];
      strides[d] = d < missing || t.shape[d - missing] == 1 ? 0 : own[d - missing];
    }
    strided_copy(t.dtype, "Scale", dims, strides, t.data, 0, memory, 1);
    return {t.dtype, shape, memory};
  }

  template <typename T>
  void plain_row(const T* x, const T* g, const T* b, T* y, int64_t n, int64_t row, float* means,
                 float* inverses) const {
    using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
    double sum = 0, squares = 0;
    if (!kRms)
      for (int64_t i = 0; i < n; ++i) sum += static_cast<C>(x[i]);
    const double mean = sum / static_cast<double>(n);
    for (int64_t i = 0; i < n; ++i) {
      const double d = static_cast<C>(x[i]) - mean;
      squares += d * d;
    }
    const double inverse = 1 / std::sqrt(squares / static_cast<double>(n) + static_cast<double>(epsilon_));
    for (int64_t i = 0; i < n; ++i) {
      const double v = (static_cast<C>(x[i]) - mean) * inverse * static_cast<C>(g[i]);
      y[i] = static_cast<T>(static_cast<C>(v + (b != nullptr ? static_cast<double>(static_cast<C>(b[i])) : 0.0)));
    }
    if (means != nullptr) means[row] = static_cast<float>(mean);
    if (inverses != nullptr) inverses[row] = static_cast<float>(inverse);
  }

  int64_t axis_;
  float epsilon_;
  kernels::Isa isa_;
};

const OpRegistration kLayerNorm{"", "LayerNormalization", 17, make_op<LayerNorm<false>>};
const OpRegistration kRmsNorm{"", "RMSNormalization", 23, make_op<LayerNorm<true>>};

}  // namespace
}  // namespace assay
