// Where, Clip, Identity and Dropout (inference).

#include "ops/elementwise.h"

namespace assay {
namespace {

void where(const Node& /*node*/, OpContext& ctx) {
  const TensorView& c = need_input(ctx, 0, "condition");
  const TensorView& x = need_input(ctx, 1, "X");
  const TensorView& y = need_input(ctx, 2, "Y");
  same_dtype(x, y);
  const Broadcast plan({&c.shape, &x.shape, &y.shape});
  const bool* condition = c.as<bool>();
  const MutableTensorView z = ctx.output(0, x.dtype, plan.shape);
  dispatch_size(x.dtype, "Where", [&]<typename T>() {
    const T* px = static_cast<const T*>(x.data);
    const T* py = static_cast<const T*>(y.data);
    T* out = static_cast<T*>(z.data);
    const int64_t sc = plan.inner_stride(0), sx = plan.inner_stride(1), sy = plan.inner_stride(2);
    plan.for_ranges(ctx.threads(), [&](int64_t row, int64_t begin, int64_t end) {
      const bool* rc = condition + plan.row_offset(0, row);
      const T* rx = px + plan.row_offset(1, row);
      const T* ry = py + plan.row_offset(2, row);
      T* ro = out + row * plan.inner();
      for (int64_t i = begin; i < end; ++i) ro[i] = rc[i * sc] ? rx[i * sx] : ry[i * sy];
    });
  });
}

// min and max are attributes up to opset 10, optional inputs from 11 on. min > max gives max, as the standard says.
class Clip final : public Op {
 public:
  explicit Clip(const OpInit& init)
      : attributes_(init.node.version < 11),
        min_(init.node.get_float("min", std::numeric_limits<float>::lowest())),
        max_(init.node.get_float("max", std::numeric_limits<float>::max())) {}

  void run(OpContext& ctx) const override {
    const TensorView& x = need_input(ctx, 0, "input");
    for (size_t i : {1, 2}) {
      if (attributes_ || !ctx.has_input(i)) continue;
      same_dtype(x, ctx.input(i));
      require(ctx.input(i).elements() == 1, ErrorCode::kInvalidArgument, "{} must be a scalar, not of shape {}",
              i == 1 ? "min" : "max", ctx.input(i).shape);
    }
    dispatch(NumberTypes{}, x.dtype, "Clip", [&]<typename T>() {
      using C = Compute<T>;
      const bool has_min = attributes_ || ctx.has_input(1);
      const bool has_max = attributes_ || ctx.has_input(2);
      const C lo = !has_min ? C{} : attributes_ ? static_cast<C>(min_) : static_cast<C>(*ctx.input(1).as<T>());
      const C hi = !has_max ? C{} : attributes_ ? static_cast<C>(max_) : static_cast<C>(*ctx.input(2).as<T>());
      const T* in = x.as<T>();
      T* out = ctx.output(0, x.dtype, x.shape).template as<T>();
      parallel_for(ctx.threads(), x.elements(), kGrain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          C v = static_cast<C>(in[i]);
          if (has_min && v < lo) v = lo;
          if (has_max && v > hi) v = hi;
          out[i] = static_cast<T>(v);
        }
      });
    });
  }

 private:
  bool attributes_;
  float min_, max_;
};

class Identity final : public Op {
 public:
  explicit Identity(const OpInit& /*init*/) {}
  void run(OpContext& ctx) const override { ctx.alias(0, 0, need_input(ctx, 0, "input").shape); }
  int aliases(size_t i) const override { return i == 0 ? 0 : -1; }
};

// Inference only: the input unchanged, a mask of trues. Training mode is refused when it is asked for with a ratio.
class Dropout final : public Op {
 public:
  explicit Dropout(const OpInit& /*init*/) {}

  void run(OpContext& ctx) const override {
    const TensorView& x = need_input(ctx, 0, "data");
    const bool training = ctx.has_input(2) && read_scalar_bool(ctx.input(2), "training_mode");
    const double ratio = ctx.has_input(1) ? read_number(ctx.input(1), "ratio") : 0.5;
    require(!training || ratio == 0, ErrorCode::kUnsupported, "Dropout in training mode");
    ctx.alias(0, 0, x.shape);
    if (!ctx.wants(1)) return;
    bool* mask = ctx.output(1, DType::kBool, x.shape).as<bool>();
    std::fill(mask, mask + x.elements(), true);
  }
  int aliases(size_t i) const override { return i == 0 ? 0 : -1; }
};

const OpRegistration kWhere{"", "Where", 9, make_simple_op<where>};
const OpRegistration kClip{"", "Clip", 6, make_op<Clip>};
const OpRegistration kIdentity{"", "Identity", 1, make_op<Identity>};
const OpRegistration kDropout{"", "Dropout", 7, make_op<Dropout>};

}  // namespace
}  // namespace assay
