// Concat, Split, Tile.

#include "ops/axis_split.h"

namespace assay {
namespace {

class Concat final : public Op {
 public:
  explicit Concat(const OpInit& init) : axis_(init.node.get_int("axis", 1)) {}

  void run(OpContext& ctx) const override {
    const TensorView& first = need_input(ctx, 0, "inputs");
    const int axis = normalize_axis(axis_, first.shape.rank());
    int64_t size = 0;
    for (size_t i = 0; i < ctx.input_count(); ++i) {
      const TensorView& t = ctx.input(i);
      same_dtype(first, t);
      bool fits = t.shape.rank() == first.shape.rank();
      for (int d = 0; fits && d < t.shape.rank(); ++d) fits = d == axis || t.shape[d] == first.shape[d];
      require(fits, ErrorCode::kInvalidArgument, "{} cannot be joined to {} along axis {}", t.shape, first.shape, axis);
      size = checked_add(size, t.shape[axis]);
    }
    const Shape shape = with_dim(first.shape, axis, size);
    const MutableTensorView y = ctx.output(0, first.dtype, shape);
    const AxisSplit s(shape, axis);
    dispatch_size(first.dtype, "Concat", [&]<typename T>() {
      T* out = static_cast<T*>(y.data);
      for (size_t i = 0; i < ctx.input_count(); ++i) {
        const TensorView& t = ctx.input(i);
        const int64_t run = t.shape[axis] * s.inner;
        const T* in = static_cast<const T*>(t.data);
        if (run > 0)
          for (int64_t o = 0; o < s.outer; ++o) copy_elements(in + o * run, run, out + o * s.size * s.inner);
        out += run;
      }
    });
  }

 private:
  int64_t axis_;
};

// Sizes: attribute `split` up to opset 12, input 1 from 13 on; neither: num_outputs equal parts, the last one smaller.
class Split final : public Op {
 public:
  explicit Split(const OpInit& init)
      : axis_(init.node.get_int("axis", 0)),
        outputs_(static_cast<int64_t>(init.node.outputs.size())),
        sizes_(init.node.get_ints("split")) {
    require(outputs_ > 0, ErrorCode::kInvalidArgument, "Split without outputs");
  }

  void run(OpContext& ctx) const override {
    const TensorView& x = need_input(ctx, 0, "input");
    const AxisSplit s(x.shape, axis_);
    const bool from_input = ctx.has_input(1);
    const bool equal = !from_input && sizes_.empty();
    const int64_t given = from_input ? ctx.input(1).elements() : static_cast<int64_t>(sizes_.size());
    require(equal || given == outputs_, ErrorCode::kInvalidArgument, "{} sizes for {} outputs", given, outputs_);
    const int64_t part = (s.size + outputs_ - 1) / outputs_;
    int64_t at = 0;
    for (int64_t i = 0; i < outputs_; ++i) {
      const int64_t size = equal        ? std::max<int64_t>(0, std::min(part, s.size - at))
                           : from_input ? read_int(ctx.input(1), i, "split")
                                        : sizes_[static_cast<size_t>(i)];
      require(size >= 0 && size <= s.size - at, ErrorCode::kInvalidArgument,
              "size {} of output {} does not fit axis {} of {}", size, i, s.axis, x.shape);
      if (ctx.wants(static_cast<size_t>(i))) {
        const MutableTensorView y = ctx.output(static_cast<size_t>(i), x.dtype, with_dim(x.shape, s.axis, size));
        dispatch_size(x.dtype, "Split", [&]<typename T>() {
          const T* in = static_cast<const T*>(x.data) + at * s.inner;
          T* out = static_cast<T*>(y.data);
          for (int64_t o = 0; o < s.outer; ++o)
            copy_elements(in + o * s.size * s.inner, size * s.inner, out + o * size * s.inner);
        });
      }
      at += size;
    }
    require(at == s.size, ErrorCode::kInvalidArgument, "the sizes sum to {}, axis {} of {} has {}", at, s.axis, x.shape,
            s.size);
  }

 private:
  int64_t axis_;
  int64_t outputs_;
  std::vector<int64_t> sizes_;
};

void tile(const Node& /*node*/, OpContext& ctx) {
  const TensorView& x = need_input(ctx, 0, "input");
  const SmallInts repeats = read_small_ints(need_input(ctx, 1, "repeats"), "repeats");
  const int rank = x.shape.rank();
  require(repeats.n == rank, ErrorCode::kInvalidArgument, "{} repeats for shape {}", repeats.n, x.shape);
  Shape shape;
  for (int d = 0; d < rank; ++d) {
    require(repeats[d] >= 0, ErrorCode::kInvalidArgument, "repeat {} of axis {} is negative", repeats[d], d);
    shape.push_back(checked_mul(x.shape[d], repeats[d]));
  }
  const MutableTensorView y = ctx.output(0, x.dtype, shape);
  if (shape.elements() == 0) return;
  dispatch_size(x.dtype, "Tile", [&]<typename T>() {
    const T* in = static_cast<const T*>(x.data);
    T* out = static_cast<T*>(y.data);
    const SmallInts strides = strides_of(x.shape);
    const int64_t inner = rank == 0 ? 1 : shape[rank - 1], own = rank == 0 ? 1 : x.shape[rank - 1];
    const int64_t rows = shape.elements() / inner;
    for (int64_t r = 0; r < rows; ++r) {
      int64_t rest = r, offset = 0;
      for (int d = rank - 2; d >= 0; --d) {
        offset += rest % shape[d] % x.shape[d] * strides[d];
        rest /= shape[d];
      }
      for (int64_t i = 0; i < inner; i += own) copy_elements(in + offset, own, out + r * inner + i);
    }
  });
}

const OpRegistration kConcat{"", "Concat", 1, make_op<Concat>};
const OpRegistration kSplit{"", "Split", 1, make_op<Split>};
const OpRegistration kTile{"", "Tile", 6, make_simple_op<tile>};

}  // namespace
}  // namespace assay
