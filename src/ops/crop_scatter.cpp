// CenterCropPad and TensorScatter: windows of a tensor copied into another.

#include "ops/axis_split.h"
#include "ops/strided_copy.h"

namespace assay {
namespace {

// Each named axis is cropped or zero-padded around its middle to the wanted size.
class CenterCropPad final : public Op {
 public:
  explicit CenterCropPad(const OpInit& init)
      : has_axes_(init.node.has("axes")), axes_(small_ints(init.node.get_ints("axes"), "axes")) {}

  void run(OpContext& ctx) const override {
    const TensorView& x = need_input(ctx, 0, "input_data");
    const SmallInts wanted = read_small_ints(need_input(ctx, 1, "shape"), "shape");
    const int rank = x.shape.rank();
    require(wanted.n == (has_axes_ ? axes_.n : rank), ErrorCode::kInvalidArgument, "{} sizes for input {}", wanted.n,
            x.shape);
    Shape shape = x.shape;
    for (int i = 0; i < wanted.n; ++i) shape[has_axes_ ? normalize_axis(axes_[i], rank) : i] = wanted[i];
    const MutableTensorView y = ctx.output(0, x.dtype, shape);
    const SmallInts in_strides = strides_of(x.shape), out_strides = strides_of(shape);
    SmallInts box;
    int64_t from = 0, to = 0, rows = 1;
    for (int d = 0; d < rank; ++d) {
      box[d] = std::min(x.shape[d], shape[d]);
      from += (x.shape[d] - box[d]) / 2 * in_strides[d];
      to += (shape[d] - box[d]) / 2 * out_strides[d];
      if (d + 1 < rank) rows *= box[d];
    }
    dispatch_size(x.dtype, "CenterCropPad", [&]<typename T>() {
      const T* in = static_cast<const T*>(x.data) + from;
      T* out = static_cast<T*>(y.data);
      std::fill(out, out + shape.elements(), T{});
      out += to;
      const int64_t inner = rank == 0 ? 1 : box[rank - 1];
      for (int64_t r = 0; r < rows && inner > 0; ++r) {
        int64_t rest = r, source = 0, target = 0;
        for (int d = rank - 2; d >= 0; --d) {
          source += rest % box[d] * in_strides[d];
          target += rest % box[d] * out_strides[d];
          rest /= box[d];
        }
        copy_elements(in + source, inner, out + target);
      }
    });
  }

 private:
  bool has_axes_;
  SmallInts axes_;
};

// Writes `update` into a copy of the cache, along `axis` from each batch item's write index on.
class TensorScatter final : public Op {
 public:
  explicit TensorScatter(const OpInit& init)
      : axis_(init.node.get_int("axis", -2)), circular_(init.node.get_string("mode", "linear") == "circular") {}

  void run(OpContext& ctx) const override {
    const TensorView& cache = need_input(ctx, 0, "past_cache");
    const TensorView& update = need_input(ctx, 1, "update");
    same_dtype(cache, update);
    const AxisSplit s(cache.shape, axis_);
    require(s.axis > 0 && update.shape.rank() == cache.shape.rank() && update.shape[s.axis] <= s.size &&
                with_dim(update.shape, s.axis, s.size) == cache.shape,
            ErrorCode::kInvalidArgument, "update {} does not fit cache {} along axis {}", update.shape, cache.shape,
            s.axis);
    const int64_t length = update.shape[s.axis], per_item = s.outer / std::max<int64_t>(1, cache.shape[0]);
    require(!ctx.has_input(2) || ctx.input(2).elements() == cache.shape[0], ErrorCode::kInvalidArgument,
            "write_indices {} must hold one index per batch item of {}", ctx.input(2).shape, cache.shape);
    const MutableTensorView y = ctx.output(0, cache.dtype, cache.shape);
    copy_tensor(cache, y);
    dispatch_size(cache.dtype, "TensorScatter", [&]<typename T>() {
      const T* in = static_cast<const T*>(update.data);
      T* out = static_cast<T*>(y.data);
      for (int64_t o = 0; o < s.outer; ++o) {
        const int64_t start = ctx.has_input(2) ? read_int(ctx.input(2), o / per_item, "write_indices") : 0;
        require(start >= 0 && (circular_ || start + length <= s.size), ErrorCode::kInvalidArgument,
                "write index {} with {} new rows passes the cache's {} rows", start, length, s.size);
        for (int64_t i = 0; i < length; ++i)
          copy_elements(in + (o * length + i) * s.inner, s.inner, out + (o * s.size + (start + i) % s.size) * s.inner);
      }
    });
  }

 private:
  int64_t axis_;
  bool circular_;
};

const OpRegistration kCenterCropPad{"", "CenterCropPad", 18, make_op<CenterCropPad>};
const OpRegistration kTensorScatter{"", "TensorScatter", 24, make_op<TensorScatter>};

}  // namespace
}  // namespace assay
