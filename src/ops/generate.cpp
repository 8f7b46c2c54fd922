// Operators that make tensors: Constant, ConstantOfShape, Range, EyeLike, OneHot, Trilu.

#include <cmath>
#include <cstring>
#include <limits>

#include "ops/axis_split.h"
#include "ops/convert.h"

namespace assay {
namespace {

// Readers turn Constant nodes into constants; one left in a graph built by hand still runs.
class ConstantOp final : public Op {
 public:
  explicit ConstantOp(const OpInit& init) {
    const Node& n = init.node;
    if (const Tensor* t = n.get_tensor("value")) {
      value_ = *t;
    } else if (n.has("value_float")) {
      value_ = Tensor::scalar(n.get_float("value_float", 0));
    } else if (n.has("value_int")) {
      value_ = Tensor::scalar(n.get_int("value_int", 0));
    } else if (n.has("value_string")) {
      value_ = Tensor::strings(Shape{}, {n.get_string("value_string", "")});
    } else if (n.has("value_floats")) {
      const auto v = n.get_floats("value_floats");
      value_ = Tensor::from<float>(Shape{static_cast<int64_t>(v.size())}, v);
    } else if (n.has("value_ints")) {
      const auto v = n.get_ints("value_ints");
      value_ = Tensor::from<int64_t>(Shape{static_cast<int64_t>(v.size())}, v);
    } else if (n.has("value_strings")) {
      auto v = n.get_strings("value_strings");
      value_ = Tensor::strings(Shape{static_cast<int64_t>(v.size())}, std::move(v));
    } else {
      fail(ErrorCode::kUnsupported, "no dense value among the attributes");
    }
  }

  void run(OpContext& ctx) const override { copy_tensor(value_, ctx.output(0, value_.dtype(), value_.shape())); }

 private:
  Tensor value_;
};

class ConstantOfShape final : public Op {
 public:
  explicit ConstantOfShape(const OpInit& init) {
    const Tensor* value = init.node.get_tensor("value");
    value_ = value != nullptr ? *value : Tensor::scalar(0.0f);
    require(value_.elements() == 1, ErrorCode::kInvalidArgument, "attribute value must hold one element, not {}",
            value_.shape());
  }

  void run(OpContext& ctx) const override {
    const SmallInts dims = read_small_ints(need_input(ctx, 0, "input"), "input");
    Shape shape;
    for (int d = 0; d < dims.n; ++d) shape.push_back(dims[d]);
    const int64_t n = shape.elements();
    const MutableTensorView y = ctx.output(0, value_.dtype(), shape);
    if (is_packed_integer(value_.dtype()) || value_.dtype() == DType::kFloat4E2M1) {
      std::memset(y.data, 0, static_cast<size_t>(y.bytes()));
      const DType bits = value_.dtype() == DType::kFloat4E2M1 ? DType::kUint4 : value_.dtype();
      for (int64_t i = 0; i < n; ++i) write_packed(y.data, bits, i, read_packed(value_.data(), bits, 0));
      return;
    }
    dispatch_size(value_.dtype(), "ConstantOfShape", [&]<typename T>() {
      T* out = static_cast<T*>(y.data);
      std::fill(out, out + n, *static_cast<const T*>(value_.data()));
    });
  }

 private:
  Tensor value_;
};

void range(const Node& /*node*/, OpContext& ctx) {
  const TensorView& start = need_input(ctx, 0, "start");
  const TensorView& limit = need_input(ctx, 1, "limit");
  const TensorView& delta = need_input(ctx, 2, "delta");
  same_dtype(start, limit);
  same_dtype(start, delta);
  require(start.elements() == 1 && limit.elements() == 1 && delta.elements() == 1, ErrorCode::kInvalidArgument,
          "start {}, limit {} and delta {} must be scalars", start.shape, limit.shape, delta.shape);
  dispatch(Join<FloatTypes, Types<int16_t, int32_t, int64_t>>{}, start.dtype, "Range", [&]<typename T>() {
    using C = Compute<T>;
    const auto a = static_cast<C>(*start.as<T>()), b = static_cast<C>(*limit.as<T>()),
               d = static_cast<C>(*delta.as<T>());
    require(d != 0, ErrorCode::kInvalidArgument, "delta is 0");
    int64_t n = 0;
    if constexpr (std::is_integral_v<T>) {
      const bool up = d > 0;
      if (up ? b > a : b < a) {
        const auto from = static_cast<uint64_t>(up ? a : b), to = static_cast<uint64_t>(up ? b : a);
        const uint64_t step = up ? static_cast<uint64_t>(d) : uint64_t{0} - static_cast<uint64_t>(d);
        n = checked_cast<int64_t>((to - from - 1) / step + 1);
      }
    } else {
      const double count = std::ceil((static_cast<double>(b) - static_cast<double>(a)) / static_cast<double>(d));
      require(count < 1e15, ErrorCode::kInvalidArgument, "a range of {} elements", count);
      n = count > 0 ? static_cast<int64_t>(count) : 0;
    }
    T* out = ctx.output(0, start.dtype, Shape{n}).template as<T>();
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(a + static_cast<C>(i) * d);
  });
}

void eye_like(const Node& node, OpContext& ctx) {
  const TensorView& x = need_input(ctx, 0, "input");
  require(x.shape.rank() == 2, ErrorCode::kInvalidArgument, "the input must be a matrix, not {}", x.shape);
  const auto dtype = dtype_from_onnx(node.get_int("dtype", static_cast<int64_t>(x.dtype)));
  require(dtype.has_value(), ErrorCode::kInvalidArgument, "attribute dtype is no element type");
  const int64_t k = std::clamp(node.get_int("k", 0), -x.shape[0], x.shape[1]);
  dispatch(Join<NumberTypes, Types<bool>>{}, *dtype, "EyeLike", [&]<typename T>() {
    T* out = ctx.output(0, *dtype, x.shape).template as<T>();
    std::fill(out, out + x.elements(), static_cast<T>(Compute<T>{0}));
    for (int64_t i = 0; i < x.shape[0]; ++i)
      if (i + k >= 0 && i + k < x.shape[1]) out[i * x.shape[1] + i + k] = static_cast<T>(Compute<T>{1});
  });
}

// Indices outside [-depth, depth) give a row of off values.
void one_hot(const Node& node, OpContext& ctx) {
  const TensorView& indices = need_input(ctx, 0, "indices");
  const TensorView& values = need_input(ctx, 2, "values");
  const auto depth = saturate_cast<int64_t>(read_number(need_input(ctx, 1, "depth"), "depth"));
  require(depth >= 0, ErrorCode::kInvalidArgument, "depth {} is negative", depth);
  require(values.elements() == 2, ErrorCode::kInvalidArgument, "values must be [off, on], not {}", values.shape);
  const int axis = normalize_axis(node.get_int("axis", -1), indices.shape.rank() + 1);
  Shape shape;
  for (int d = 0; d <= indices.shape.rank(); ++d)
    shape.push_back(d == axis ? depth : indices.shape[d < axis ? d : d - 1]);
  const AxisSplit s(shape, axis);
  const MutableTensorView y = ctx.output(0, values.dtype, shape);
  const int64_t n = indices.elements();
  dispatch_size(values.dtype, "OneHot", [&]<typename T>() {
    const T* value = static_cast<const T*>(values.data);
    T* out = static_cast<T*>(y.data);
    std::fill(out, out + shape.elements(), value[0]);
    dispatch(NumberTypes{}, indices.dtype, "OneHot", [&]<typename I>() {
      const I* in = indices.as<I>();
      for (int64_t i = 0; i < n; ++i) {
        auto k = static_cast<int64_t>(static_cast<Compute<I>>(in[i]));
        if (k < 0) k += depth;
        if (k >= 0 && k < depth) out[(i / s.inner * depth + k) * s.inner + i % s.inner] = value[1];
      }
    });
  });
}

void trilu(const Node& node, OpContext& ctx) {
  const TensorView& x = need_input(ctx, 0, "input");
  const int rank = x.shape.rank();
  require(rank >= 2, ErrorCode::kInvalidArgument, "the input must hold matrices, not {}", x.shape);
  const bool upper = node.get_int("upper", 1) != 0;
  const int64_t rows = x.shape[rank - 2], columns = x.shape[rank - 1];
  const int64_t raw = ctx.has_input(1) ? read_scalar_int(ctx.input(1), "k") : 0;
  const int64_t k = std::clamp(raw, -rows - 1, columns + 1);
  const MutableTensorView y = ctx.output(0, x.dtype, x.shape);
  dispatch_size(x.dtype, "Trilu", [&]<typename T>() {
    const T* in = static_cast<const T*>(x.data);
    T* out = static_cast<T*>(y.data);
    const int64_t n = x.elements();
    for (int64_t i = 0; i < n; ++i) {
      const int64_t row = i / columns % rows, column = i % columns;
      out[i] = (upper ? column - row >= k : column - row <= k) ? in[i] : T{};
    }
  });
}

// A sum of cosines: sum_k coefficient[k] * cos(2 pi k i / N), N the size, or size - 1 when symmetric.
struct WindowFunction {
  std::string_view name;
  std::array<double, 3> coefficients;
};
constexpr std::array<WindowFunction, 3> kWindows = {{{"HannWindow", {0.5, -0.5, 0}},
                                                     {"HammingWindow", {25.0 / 46, -21.0 / 46, 0}},
                                                     {"BlackmanWindow", {0.42, -0.5, 0.08}}}};

void window(const Node& node, OpContext& ctx) {
  const int64_t size = read_scalar_int(need_input(ctx, 0, "size"), "size");
  require(size >= 0, ErrorCode::kInvalidArgument, "size {} is negative", size);
  const auto dtype = dtype_from_onnx(node.get_int("output_datatype", 1));
  require(dtype.has_value(), ErrorCode::kInvalidArgument, "output_datatype is no element type");
  const auto period = static_cast<double>(node.get_int("periodic", 1) != 0 ? size : size - 1);
  const auto* function =
      std::find_if(kWindows.begin(), kWindows.end(), [&](const WindowFunction& w) { return w.name == node.op_type; });
  dispatch(NumberTypes{}, *dtype, node.op_type, [&]<typename T>() {
    T* out = ctx.output(0, *dtype, Shape{size}).template as<T>();
    for (int64_t i = 0; i < size; ++i) {
      double v = 0;
      for (size_t k = 0; k < function->coefficients.size(); ++k)
        v += function->coefficients[k] *
             std::cos(6.283185307179586 * static_cast<double>(k) * static_cast<double>(i) / period);
      out[i] = static_cast<T>(static_cast<Compute<T>>(v));
    }
  });
}

const OpRegistration kHannWindow{"", "HannWindow", 17, make_simple_op<window>};
const OpRegistration kHammingWindow{"", "HammingWindow", 17, make_simple_op<window>};
const OpRegistration kBlackmanWindow{"", "BlackmanWindow", 17, make_simple_op<window>};
const OpRegistration kConstant{"", "Constant", 1, make_op<ConstantOp>};
const OpRegistration kConstantOfShape{"", "ConstantOfShape", 9, make_op<ConstantOfShape>};
const OpRegistration kRange{"", "Range", 11, make_simple_op<range>};
const OpRegistration kEyeLike{"", "EyeLike", 9, make_simple_op<eye_like>};
const OpRegistration kOneHot{"", "OneHot", 9, make_simple_op<one_hot>};
const OpRegistration kTrilu{"", "Trilu", 14, make_simple_op<trilu>};

}  // namespace
}  // namespace assay
