// Pad, all four modes; negative pads crop.

#include "ops/convert.h"

namespace assay {
namespace {

enum class Mode { kConstant, kReflect, kEdge, kWrap };

Mode mode_of(const Node& node) {
  const std::string name = node.get_string("mode", "constant");
  if (name == "constant") return Mode::kConstant;
  if (name == "reflect") return Mode::kReflect;
  if (name == "edge") return Mode::kEdge;
  if (name == "wrap") return Mode::kWrap;
  fail(ErrorCode::kInvalidArgument, "mode must be constant, reflect, edge or wrap, not '{}'", name);
}

// The source index for position i of a padded axis (i counted from the first source element), or -1 for the constant.
int64_t source_index(Mode mode, int64_t i, int64_t size) {
  if (i >= 0 && i < size) return i;
  switch (mode) {
    case Mode::kConstant:
      return -1;
    case Mode::kEdge:
      return i < 0 ? 0 : size - 1;
    case Mode::kWrap:
      return (i % size + size) % size;
    case Mode::kReflect:
      break;
  }
  if (size == 1) return 0;
  const int64_t period = 2 * (size - 1);
  const int64_t m = (i % period + period) % period;
  return m < size ? m : period - m;
}

// pads (and value) are attributes up to opset 10, inputs from 11 on; axes came with 18.
class Pad final : public Op {
 public:
  explicit Pad(const OpInit& init)
      : attributes_(init.node.version < 11),
        mode_(mode_of(init.node)),
        pads_(init.node.get_ints("pads")),
        value_(init.node.get_float("value", 0)) {}

  void run(OpContext& ctx) const override {
    const TensorView& x = need_input(ctx, 0, "data");
    const int rank = x.shape.rank();
    SmallInts before, after;
    read_pads(ctx, rank, before, after);
    Shape shape;
    int64_t total = 0;
    for (int d = 0; d < rank; ++d) {
      const int64_t size = checked_add(x.shape[d], checked_add(before[d], after[d]));
      require(size >= 0, ErrorCode::kInvalidArgument, "pads crop axis {} of {} to {}", d, x.shape, size);
      require(mode_ == Mode::kConstant || x.shape[d] > 0 || size == 0, ErrorCode::kInvalidArgument,
              "axis {} of {} is empty: there is nothing to pad it with", d, x.shape);
      shape.push_back(size);
      total = checked_add(total, size);
    }
    // One table of source indices an axis, one after the other.
    auto* table = static_cast<int64_t*>(ctx.scratch(checked_mul<int64_t>(total + 1, sizeof(int64_t))));
    SmallInts start;
    int64_t at = 0;
    for (int d = 0; d < rank; ++d) {
      start[d] = at;
      for (int64_t i = 0; i < shape[d]; ++i) table[at++] = source_index(mode_, i - before[d], x.shape[d]);
    }
    const MutableTensorView y = ctx.output(0, x.dtype, shape);
    dispatch_size(x.dtype, "Pad", [&]<typename T>() {
      fill(x, static_cast<T*>(y.data), shape, table, start, constant<T>(ctx, x.dtype), ctx.threads());
    });
  }

 private:
  void read_pads(const OpContext& ctx, int rank, SmallInts& before, SmallInts& after) const {
    SmallInts axes;
    const bool has_axes = !attributes_ && ctx.has_input(3);
    if (has_axes) {
      axes = read_small_ints(ctx.input(3), "axes");
    } else {
      for (axes.n = 0; axes.n < rank; ++axes.n) axes[axes.n] = axes.n;
    }
    const int64_t given = attributes_ ? static_cast<int64_t>(pads_.size()) : need_input(ctx, 1, "pads").elements();
    require(given == 2 * axes.n, ErrorCode::kInvalidArgument, "{} pads for {} axes", given, axes.n);
    for (int i = 0; i < axes.n; ++i) {
      const int axis = normalize_axis(axes[i], rank);
      const auto pad = [&](int64_t k) {
        return attributes_ ? pads_[static_cast<size_t>(k)] : read_int(ctx.input(1), k, "pads");
      };
      before[axis] = pad(i);
      after[axis] = pad(i + axes.n);
    }
  }

  template <typename T>
  T constant(const OpContext& ctx, DType dtype) const {
    T value{};
    if constexpr (std::is_same_v<T, std::string>) {
      if (!attributes_ && ctx.has_input(2)) value = *static_cast<const std::string*>(ctx.input(2).data);
    } else if (!attributes_ && ctx.has_input(2)) {
      same_dtype(ctx.input(0), ctx.input(2));
      require(ctx.input(2).elements() == 1, ErrorCode::kInvalidArgument, "constant_value must be a scalar, not {}",
              ctx.input(2).shape);
      value = *static_cast<const T*>(ctx.input(2).data);
    } else if (value_ != 0) {
      convert_elements({DType::kFloat32, Shape{}, &value_}, {dtype, Shape{}, &value}, true);
    }
    return value;
  }

  template <typename T>
  static void fill(const TensorView& x, T* out, const Shape& shape, const int64_t* table, const SmallInts& start,
                   const T& value, int threads) {
    const int rank = shape.rank();
    const T* in = static_cast<const T*>(x.data);
    if (rank == 0) {
      *out = *in;
      return;
    }
    const SmallInts strides = strides_of(x.shape);
    const int64_t inner = shape[rank - 1];
    if (inner == 0) return;
    const int64_t* last = table + start[rank - 1];
    parallel_for(threads, shape.elements() / inner, grain_of(inner), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        int64_t rest = r, offset = 0;
        bool inside = true;
        for (int d = rank - 2; d >= 0; --d) {
          const int64_t k = table[start[d] + rest % shape[d]];
          inside = inside && k >= 0;
          offset += k * strides[d];
          rest /= shape[d];
        }
        T* row = out + r * inner;
        for (int64_t i = 0; i < inner; ++i) row[i] = inside && last[i] >= 0 ? in[offset + last[i]] : value;
      }
    });
  }

  bool attributes_;
  Mode mode_;
  std::vector<int64_t> pads_;
  float value_;
};

const OpRegistration kPad{"", "Pad", 2, make_op<Pad>};

}  // namespace
}  // namespace assay
