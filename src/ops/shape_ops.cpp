// Operators that only re-describe memory: Shape, Size, Reshape, Flatten, Squeeze, Unsqueeze.

#include <limits>

#include "ops/support.h"

namespace assay {
namespace {

class ShapeOp final : public Op {
 public:
  explicit ShapeOp(const OpInit& init)
      : start_(init.node.get_int("start", 0)), end_(init.node.get_int("end", std::numeric_limits<int64_t>::max())) {}

  void run(OpContext& ctx) const override {
    const Shape& shape = need_input(ctx, 0, "data").shape;
    const int64_t rank = shape.rank();
    const auto clamp = [rank](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + rank : v, 0, rank); };
    const int64_t begin = clamp(start_), end = std::max(begin, clamp(end_));
    int64_t* out = ctx.output(0, DType::kInt64, Shape{end - begin}).as<int64_t>();
    std::copy(shape.begin() + begin, shape.begin() + end, out);
  }

 private:
  int64_t start_, end_;
};

void size(const Node& /*node*/, OpContext& ctx) {
  *ctx.output(0, DType::kInt64, Shape{}).as<int64_t>() = need_input(ctx, 0, "data").elements();
}

// Operators whose output is their first input under another shape.
class Reshaping : public Op {
 public:
  void run(OpContext& ctx) const final {
    const TensorView& x = need_input(ctx, 0, "data");
    ctx.alias(0, 0, target(x.shape, ctx));
  }
  int aliases(size_t i) const final { return i == 0 ? 0 : -1; }

 protected:
  virtual Shape target(const Shape& shape, const OpContext& ctx) const = 0;
};

class Reshape final : public Reshaping {
 public:
  explicit Reshape(const OpInit& init)
      : allow_zero_(init.node.get_int("allowzero", 0) != 0),
        attribute_(small_ints(init.node.get_ints("shape"), "shape")) {}

 private:
  Shape target(const Shape& shape, const OpContext& ctx) const override {
    const SmallInts wanted = ctx.has_input(1) ? read_small_ints(ctx.input(1), "shape") : attribute_;
    Shape out;
    int unknown = -1;
    int64_t known = 1;
    for (int i = 0; i < wanted.n; ++i) {
      int64_t d = wanted[i];
      if (d == -1) {
        require(unknown < 0, ErrorCode::kInvalidArgument, "the new shape has two sizes of -1");
        unknown = i;
        d = 1;
      } else if (d == 0 && !allow_zero_) {
        require(i < shape.rank(), ErrorCode::kInvalidArgument,
                "size 0 at {} copies from {}, which has no such dimension", i, shape);
        d = shape[i];
      }
      require(d >= 0, ErrorCode::kInvalidArgument, "the new shape has a size of {}", d);
      out.push_back(d);
      known = checked_mul(known, d);
    }
    const int64_t total = shape.elements();
    if (unknown >= 0) {
      require(known > 0 && total % known == 0, ErrorCode::kInvalidArgument, "{} elements of {} do not divide by {}",
              total, shape, out);
      out[unknown] = total / known;
    }
    require(out.elements() == total, ErrorCode::kInvalidArgument, "shape {} cannot become {}", shape, out);
    return out;
  }

  bool allow_zero_;
  SmallInts attribute_;
};

class Flatten final : public Reshaping {
 public:
  explicit Flatten(const OpInit& init) : axis_(init.node.get_int("axis", 1)) {}

 private:
  Shape target(const Shape& shape, const OpContext& /*ctx*/) const override {
    require(axis_ >= -shape.rank() && axis_ <= shape.rank(), ErrorCode::kInvalidArgument, "axis {} is outside {}",
            axis_, shape);
    const int axis = static_cast<int>(axis_ < 0 ? axis_ + shape.rank() : axis_);
    return {shape.elements(0, axis), shape.elements(axis, shape.rank())};
  }

  int64_t axis_;
};

class Squeeze final : public Reshaping {
 public:
  explicit Squeeze(const OpInit& init) : axes_(init.node, 1) {}

 private:
  Shape target(const Shape& shape, const OpContext& ctx) const override {
    std::array<bool, kMaxRank> drop{};
    if (axes_.given(ctx)) {
      const SmallInts axes = axes_.read(ctx);
      for (int i = 0; i < axes.n; ++i) {
        const int axis = normalize_axis(axes[i], shape.rank());
        require(shape[axis] == 1, ErrorCode::kInvalidArgument, "axis {} of {} has more than one element", axis, shape);
        drop[static_cast<size_t>(axis)] = true;
      }
    } else {
      for (int d = 0; d < shape.rank(); ++d) drop[static_cast<size_t>(d)] = shape[d] == 1;
    }
    Shape out;
    for (int d = 0; d < shape.rank(); ++d)
      if (!drop[static_cast<size_t>(d)]) out.push_back(shape[d]);
    return out;
  }

  AxesArgument axes_;
};

class Unsqueeze final : public Reshaping {
 public:
  explicit Unsqueeze(const OpInit& init) : axes_(init.node, 1) {}

 private:
  Shape target(const Shape& shape, const OpContext& ctx) const override {
    const SmallInts axes = axes_.read(ctx);
    const int rank = shape.rank() + axes.n;
    require(rank <= kMaxRank, ErrorCode::kUnsupported, "rank {} is beyond the {} supported", rank, kMaxRank);
    std::array<bool, kMaxRank> added{};
    for (int i = 0; i < axes.n; ++i) {
      const auto axis = static_cast<size_t>(normalize_axis(axes[i], rank));
      require(!added[axis], ErrorCode::kInvalidArgument, "axis {} is named twice", axis);
      added[axis] = true;
    }
    Shape out;
    for (int d = 0, from = 0; d < rank; ++d) out.push_back(added[static_cast<size_t>(d)] ? 1 : shape[from++]);
    return out;
  }

  AxesArgument axes_;
};

const OpRegistration kShape{"", "Shape", 1, make_op<ShapeOp>};
const OpRegistration kSize{"", "Size", 1, make_simple_op<size>};
const OpRegistration kReshape{"", "Reshape", 1, make_op<Reshape>};
const OpRegistration kFlatten{"", "Flatten", 1, make_op<Flatten>};
const OpRegistration kSqueeze{"", "Squeeze", 1, make_op<Squeeze>};
const OpRegistration kUnsqueeze{"", "Unsqueeze", 1, make_op<Unsqueeze>};

}  // namespace
}  // namespace assay
