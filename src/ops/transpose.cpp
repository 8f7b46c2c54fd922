// Transpose, Expand, Slice: one walk with different strides. SpaceToDepth and DepthToSpace are transposes of a view.

#include <limits>

#include "ops/strided_copy.h"

namespace assay {

void strided_copy(DType dtype, std::string_view what, const SmallInts& dims, const SmallInts& strides, const void* src,
                  int64_t src_offset, void* dst, int threads) {
  dispatch_size(dtype, what, [&]<typename T>() {
    strided_copy(dims, strides, static_cast<const T*>(src) + src_offset, static_cast<T*>(dst), threads);
  });
}

namespace {

class Transpose final : public Op {
 public:
  explicit Transpose(const OpInit& init)
      : given_(init.node.has("perm")), perm_(small_ints(init.node.get_ints("perm"), "perm")) {}

  void run(OpContext& ctx) const override {
    const TensorView& x = need_input(ctx, 0, "data");
    const int rank = x.shape.rank();
    require(!given_ || perm_.n == rank, ErrorCode::kInvalidArgument, "perm has {} entries for shape {}", perm_.n,
            x.shape);
    const SmallInts own = strides_of(x.shape);
    SmallInts dims, strides;
    dims.n = strides.n = rank;
    Shape shape;
    std::array<bool, kMaxRank> seen{};
    for (int d = 0; d < rank; ++d) {
      const int from = given_ ? normalize_axis(perm_[d], rank) : rank - 1 - d;
      require(!seen[static_cast<size_t>(from)], ErrorCode::kInvalidArgument, "perm names axis {} twice", from);
      seen[static_cast<size_t>(from)] = true;
      shape.push_back(x.shape[from]);
      dims[d] = x.shape[from];
      strides[d] = own[from];
    }
    const MutableTensorView y = ctx.output(0, x.dtype, shape);
    strided_copy(x.dtype, "Transpose", dims, strides, x.data, 0, y.data, ctx.threads());
  }

 private:
  bool given_;
  SmallInts perm_;
};

void expand(const Node& /*node*/, OpContext& ctx) {
  const TensorView& x = need_input(ctx, 0, "input");
  const SmallInts wanted = read_small_ints(need_input(ctx, 1, "shape"), "shape");
  Shape target;
  for (int i = 0; i < wanted.n; ++i) target.push_back(wanted[i]);
  const Shape shape = broadcast(x.shape, target);
  const SmallInts own = strides_of(x.shape);
  const int missing = shape.rank() - x.shape.rank();
  SmallInts dims, strides;
  dims.n = strides.n = shape.rank();
  for (int d = 0; d < shape.rank(); ++d) {
    dims[d] = shape[d];
    strides[d] = d < missing || x.shape[d - missing] == 1 ? 0 : own[d - missing];
  }
  const MutableTensorView y = ctx.output(0, x.dtype, shape);
  strided_copy(x.dtype, "Expand", dims, strides, x.data, 0, y.data, ctx.threads());
}

// starts, ends, axes are attributes up to opset 9, inputs (with steps) from 10 on.
class Slice final : public Op {
 public:
  explicit Slice(const OpInit& init)
      : attributes_(init.node.version < 10),
        has_axes_(init.node.has("axes")),
        starts_(small_ints(init.node.get_ints("starts"), "starts")),
        ends_(small_ints(init.node.get_ints("ends"), "ends")),
        axes_(small_ints(init.node.get_ints("axes"), "axes")) {}

  void run(OpContext& ctx) const override {
    const TensorView& x = need_input(ctx, 0, "data");
    const int rank = x.shape.rank();
    const SmallInts starts = attributes_ ? starts_ : read_small_ints(need_input(ctx, 1, "starts"), "starts");
    const SmallInts ends = attributes_ ? ends_ : read_small_ints(need_input(ctx, 2, "ends"), "ends");
    const bool has_axes = attributes_ ? has_axes_ : ctx.has_input(3);
    const SmallInts axes = attributes_ ? axes_ : has_axes ? read_small_ints(ctx.input(3), "axes") : SmallInts{};
    const bool has_steps = !attributes_ && ctx.has_input(4);
    const SmallInts steps = has_steps ? read_small_ints(ctx.input(4), "steps") : SmallInts{};
    require(starts.n == ends.n && (!has_axes || axes.n == starts.n) && (!has_steps || steps.n == starts.n),
            ErrorCode::kInvalidArgument, "starts, ends, axes and steps have {}, {}, {} and {} entries", starts.n,
            ends.n, axes.n, steps.n);
    require(starts.n <= rank, ErrorCode::kInvalidArgument, "{} starts for shape {}", starts.n, x.shape);
    SmallInts strides = strides_of(x.shape);
    const SmallInts own = strides;
    Shape shape = x.shape;
    int64_t offset = 0;
    for (int i = 0; i < starts.n; ++i) {
      const int axis = has_axes ? normalize_axis(axes[i], rank) : i;
      const int64_t size = x.shape[axis];
      const int64_t step = has_steps ? steps[i] : 1;
      require(step != 0, ErrorCode::kInvalidArgument, "the step of axis {} is 0", axis);
      const auto wrap = [size](int64_t v) { return v < 0 ? v + size : v; };
      const int64_t lowest = step > 0 ? 0 : -1, highest = step > 0 ? size : size - 1;
      const int64_t begin = std::clamp<int64_t>(wrap(starts[i]), step > 0 ? 0 : std::min<int64_t>(0, highest),
                                                std::max<int64_t>(highest, lowest));
      const int64_t end = std::clamp<int64_t>(wrap(ends[i]), lowest, std::max(highest, lowest));
      const int64_t span = step > 0 ? end - begin : begin - end;
      const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : uint64_t{0} - static_cast<uint64_t>(step);
      const int64_t count =
          span <= 0 || size == 0 ? 0 : static_cast<int64_t>((static_cast<uint64_t>(span) - 1) / stride) + 1;
      shape[axis] = count;
      if (count > 0) offset += begin * own[axis];
      strides[axis] = count > 1 ? own[axis] * step : own[axis];
    }
    SmallInts dims;
    dims.n = rank;
    for (int d = 0; d < rank; ++d) dims[d] = shape[d];
    const MutableTensorView y = ctx.output(0, x.dtype, shape);
    strided_copy(x.dtype, "Slice", dims, strides, x.data, offset, y.data, ctx.threads());
  }

 private:
  bool attributes_, has_axes_;
  SmallInts starts_, ends_, axes_;
};

// A view of up to six dimensions, permuted.
void permuted(OpContext& ctx, std::string_view what, const Shape& view, std::array<int, 6> perm, const Shape& result) {
  const TensorView& x = ctx.input(0);
  const SmallInts own = strides_of(view);
  SmallInts dims, strides;
  dims.n = strides.n = 6;
  for (int d = 0; d < 6; ++d) {
    dims[d] = view[perm[static_cast<size_t>(d)]];
    strides[d] = own[perm[static_cast<size_t>(d)]];
  }
  const MutableTensorView y = ctx.output(0, x.dtype, result);
  strided_copy(x.dtype, what, dims, strides, x.data, 0, y.data, ctx.threads());
}

int64_t block_size(const Node& node, const Shape& shape) {
  require(shape.rank() == 4, ErrorCode::kInvalidArgument, "the input must be [N,C,H,W], not {}", shape);
  const int64_t block = node.get_int("blocksize", 0);
  require(block > 0 && block < 65536, ErrorCode::kInvalidArgument, "blocksize {} is not a block's size", block);
  return block;
}

void depth_to_space(const Node& node, OpContext& ctx) {
  const Shape& s = need_input(ctx, 0, "input").shape;
  const int64_t b = block_size(node, s);
  require(s[1] % (b * b) == 0, ErrorCode::kInvalidArgument, "{} channels do not divide by {}^2", s[1], b);
  const int64_t c = s[1] / (b * b);
  const Shape result{s[0], c, s[2] * b, s[3] * b};
  if (node.get_string("mode", "DCR") == "CRD") {
    permuted(ctx, "DepthToSpace", {s[0], c, b, b, s[2], s[3]}, {0, 1, 4, 2, 5, 3}, result);
  } else {
    permuted(ctx, "DepthToSpace", {s[0], b, b, c, s[2], s[3]}, {0, 3, 4, 1, 5, 2}, result);
  }
}

void space_to_depth(const Node& node, OpContext& ctx) {
  const Shape& s = need_input(ctx, 0, "input").shape;
  const int64_t b = block_size(node, s);
  require(s[2] % b == 0 && s[3] % b == 0, ErrorCode::kInvalidArgument, "{} does not divide into blocks of {}", s, b);
  const Shape view{s[0], s[1], s[2] / b, b, s[3] / b, b};
  const Shape result{s[0], s[1] * b * b, s[2] / b, s[3] / b};
  // The "CRD" order arrived with the mode attribute.
  if (node.get_string("mode", "DCR") == "CRD") return permuted(ctx, "SpaceToDepth", view, {0, 1, 3, 5, 2, 4}, result);
  permuted(ctx, "SpaceToDepth", view, {0, 3, 5, 1, 2, 4}, result);
}

const OpRegistration kTranspose{"", "Transpose", 1, make_op<Transpose>};
const OpRegistration kExpand{"", "Expand", 8, make_simple_op<expand>};
const OpRegistration kSlice{"", "Slice", 1, make_op<Slice>};
const OpRegistration kDepthToSpace{"", "DepthToSpace", 1, make_simple_op<depth_to_space>};
const OpRegistration kSpaceToDepth{"", "SpaceToDepth", 1, make_simple_op<space_to_depth>};

}  // namespace
}  // namespace assay
