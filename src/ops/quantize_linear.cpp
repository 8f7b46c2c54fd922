// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear, of every version: per tensor, per axis, blocked; integers of
// 2 to 32 bits, 8- and 4-bit floats. Scales are divided by, rounding is half to even, results saturate to the full
// range.

#include <cmath>
#include <cstring>

#include "kernels/quantize.h"
#include "ops/axis_split.h"
#include "ops/convert.h"

namespace assay {
namespace {

struct Range {
  int64_t low, high;
};

Range range_of(DType dtype) {
  const int bits = bits_of(dtype);
  if (is_signed(dtype)) return {-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1};
  return {0, (int64_t{1} << bits) - 1};
}

// Which scale an element of x takes: x seen as [outer, size, inner], scales as [scale_outer, scale_size, scale_inner].
struct ScaleMap {
  ScaleMap(const Shape& x, const Shape& scale, int64_t axis_argument, int64_t block_size) {
    total = x.elements();
    if (block_size != 0) {
      const AxisSplit s(x, axis_argument);
      bool fits = scale.rank() == x.rank();
      for (int d = 0; fits && d < x.rank(); ++d) fits = d == s.axis || scale[d] == x[d];
      const int64_t blocks = fits ? scale[s.axis] : 0;
      // ceil(D/S) <= B <= ceil(D/(S-1)) - 1, which is: B-sized blocks cover D, and one fewer would not.
      require(fits && block_size > 0 && blocks == (s.size + block_size - 1) / block_size, ErrorCode::kInvalidArgument,
              "scale {} does not hold one element per block of {} along axis {} of {}", scale, block_size, s.axis, x);
      outer = s.outer;
      size = s.size;
      inner = s.inner;
      block = block_size;
      scale_size = blocks;
      blocked = true;
      return;
    }
    if (scale.rank() == 0 || (scale.rank() == 1 && scale[0] == 1 && !names_axis_of_one(x, axis_argument))) {
      inner = total;
      return;
    }
    require(scale.rank() == 1, ErrorCode::kInvalidArgument,
            "scale {} is neither a scalar nor a vector, and block_size is 0", scale);
    const AxisSplit s(x, axis_argument);
    require(scale[0] == s.size, ErrorCode::kInvalidArgument, "scale holds {} elements, axis {} of {} has {}", scale[0],
            s.axis, x, s.size);
    outer = s.outer;
    size = s.size;
    inner = s.inner;
    scale_size = s.size;
  }

  static bool names_axis_of_one(const Shape& x, int64_t axis) {
    return axis >= -x.rank() && axis < x.rank() && x[normalize_axis(axis, x.rank())] == 1;
  }
  int64_t index(int64_t o, int64_t c, int64_t i) const {
    return blocked ? (o * scale_size + c / block) * inner + i : c;
  }
  int64_t scales() const { return blocked ? outer * scale_size * inner : scale_size; }

  int64_t outer = 1, size = 1, inner = 1, block = 1, scale_size = 1, total = 0;
  bool blocked = false;
};

void check_zero_point(const OpContext& ctx, const Shape& scale) {
  if (!ctx.has_input(2)) return;
  require(ctx.input(2).shape == scale || (scale.elements() == 1 && ctx.input(2).elements() == 1),
          ErrorCode::kInvalidArgument, "zero point {} and scale {} differ in shape", ctx.input(2).shape, scale);
}

class QuantizeLinear final : public Op {
 public:
  explicit QuantizeLinear(const OpInit& init)
      : axis_(init.node.get_int("axis", 1)),
        block_(init.node.get_int("block_size", 0)),
        saturate_(init.node.get_int("saturate", 1) != 0),
        isa_(init.isa) {
    if (const int64_t code = init.node.get_int("output_dtype", 0); code != 0) {
      const auto dtype = dtype_from_onnx(code);
      require(dtype.has_value(), ErrorCode::kInvalidArgument, "output_dtype {} is no element type", code);
      output_ = *dtype;
    }
  }

  void run(OpContext& ctx) const override {
    const TensorView& x = need_input(ctx, 0, "x");
    const TensorView& scale = need_input(ctx, 1, "y_scale");
    check_zero_point(ctx, scale.shape);
    const ScaleMap map(x.shape, scale.shape, axis_, block_);
    const DType to = ctx.has_input(2) ? ctx.input(2).dtype : output_ != DType::kUndefined ? output_ : DType::kUint8;
    require(is_small_float(to) || (is_integer(to) && bits_of(to) <= 16), ErrorCode::kInvalidArgument,
            "{} is no type to quantize to", to_string(to));
    const MutableTensorView y = ctx.output(0, to, x.shape);
    ScratchPlan plan;
    const int64_t scales_at = plan.add_array<float>(map.scales()), zeros_at = plan.add_array<int32_t>(map.scales());
    const int64_t x_at = plan.add_array<float>(x.dtype == DType::kFloat32 ? 0 : map.total);
    plan.take(ctx);
    auto* scales = plan.at<float>(scales_at);
    auto* zeros = plan.at<int32_t>(zeros_at);
    convert_elements(scale, {DType::kFloat32, scale.shape, scales}, true);
    const bool to_float = is_small_float(to);
    if (ctx.has_input(2) && !to_float) {
      convert_elements(ctx.input(2), {DType::kInt32, ctx.input(2).shape, zeros}, true);
    } else {
      std::fill(zeros, zeros + map.scales(), 0);
    }
    const float* values = nullptr;
    if (x.dtype == DType::kFloat32) {
      values = x.as<float>();
    } else {
      auto* converted = plan.at<float>(x_at);
      convert_elements(x, {DType::kFloat32, x.shape, converted}, true);
      values = converted;
    }
    if (!map.blocked && (to == DType::kUint8 || to == DType::kInt8))
      return kernels::quantize_linear(isa_, map.outer, map.size, map.inner, values, scales, zeros, to == DType::kInt8,
                                      y.data, ctx.threads());
    if (bits_of(to) < 8) std::memset(y.data, 0, static_cast<size_t>(y.bytes()));
    if (to_float) return quantize_to_float(map, values, scales, y);
    const Range range = range_of(to);
    int64_t at = 0;
    for (int64_t o = 0; o < map.outer; ++o)
      for (int64_t c = 0; c < map.size; ++c)
        for (int64_t i = 0; i < map.inner; ++i, ++at) {
          const int64_t k = map.index(o, c, i);
          store(y, at, quantized(values[at], scales[k], zeros[k], range));
        }
  }

 private:
  static int64_t quantized(float v, float scale, int32_t zero, const Range& range) {
    const float q = v / scale;
    if (q != q) return zero;
    // Far beyond any range, yet exact as an integer.
    const double rounded = std::nearbyint(std::clamp(q, -1e9f, 1e9f));
    return std::clamp(static_cast<int64_t>(rounded) + zero, range.low, range.high);
  }

  static void store(const MutableTensorView& y, int64_t at, int64_t v) {
    switch (bits_of(y.dtype)) {
      case 8:
        static_cast<uint8_t*>(y.data)[at] = static_cast<uint8_t>(v);
        break;
      case 16:
        static_cast<uint16_t*>(y.data)[at] = static_cast<uint16_t>(v);
        break;
      default:
        write_packed(y.data, y.dtype, at, static_cast<int32_t>(v));
    }
  }

  void quantize_to_float(const ScaleMap& map, const float* x, const float* scales, const MutableTensorView& y) const {
    int64_t at = 0;
    for (int64_t o = 0; o < map.outer; ++o)
      for (int64_t c = 0; c < map.size; ++c)
        for (int64_t i = 0; i < map.inner; ++i, ++at) {
          const float v = x[at] / scales[map.index(o, c, i)];
          const uint8_t code =
              y.dtype == DType::kFloat8E8M0 ? e8m0_code(v, saturate_, "up") : small_float_code(y.dtype, v, saturate_);
          if (y.dtype == DType::kFloat4E2M1) {
            write_packed(y.data, DType::kUint4, at, code);
          } else {
            static_cast<uint8_t*>(y.data)[at] = code;
          }
        }
  }

  int64_t axis_, block_;
  bool saturate_;
  kernels::Isa isa_;
  DType output_ = DType::kUndefined;
};

class DequantizeLinear final : public Op {
 public:
  explicit DequantizeLinear(const OpInit& init)
      : axis_(init.node.get_int("axis", 1)), block_(init.node.get_int("block_size", 0)), isa_(init.isa) {
    if (const int64_t code = init.node.get_int("output_dtype", 0); code != 0) {
      const auto dtype = dtype_from_onnx(code);
      require(dtype.has_value() && is_float(*dtype), ErrorCode::kInvalidArgument, "output_dtype {} is no float type",
              code);
      output_ = *dtype;
    }
  }

  void run(OpContext& ctx) const override {
    const TensorView& x = need_input(ctx, 0, "x");
    const TensorView& scale = need_input(ctx, 1, "x_scale");
    check_zero_point(ctx, scale.shape);
    require(!ctx.has_input(2) || ctx.input(2).dtype == x.dtype, ErrorCode::kInvalidArgument,
            "zero point is {} and x {}", to_string(ctx.input(2).dtype), to_string(x.dtype));
    const ScaleMap map(x.shape, scale.shape, axis_, block_);
    const DType to = output_ != DType::kUndefined ? output_ : scale.dtype;
    const MutableTensorView y = ctx.output(0, to, x.shape);
    ScratchPlan plan;
    const int64_t scales_at = plan.add_array<float>(map.scales()), zeros_at = plan.add_array<int32_t>(map.scales());
    const int64_t y_at = plan.add_array<float>(to == DType::kFloat32 ? 0 : map.total);
    plan.take(ctx);
    auto* scales = plan.at<float>(scales_at);
    auto* zeros = plan.at<int32_t>(zeros_at);
    convert_elements(scale, {DType::kFloat32, scale.shape, scales}, true);
    if (ctx.has_input(2) && !is_small_float(x.dtype)) {
      convert_elements(ctx.input(2), {DType::kInt32, ctx.input(2).shape, zeros}, true);
    } else {
      std::fill(zeros, zeros + map.scales(), 0);
    }
    float* out = to == DType::kFloat32 ? y.as<float>() : plan.at<float>(y_at);
    dequantize(x, map, scales, zeros, out, ctx.threads());
    if (to != DType::kFloat32) convert_elements({DType::kFloat32, x.shape, out}, y, true);
  }

 private:
  void dequantize(const TensorView& x, const ScaleMap& map, const float* scales, const int32_t* zeros, float* out,
                  int threads) const {
    if (!map.blocked) {
      if (x.dtype == DType::kUint8 || x.dtype == DType::kInt8)
        return kernels::dequantize_linear(isa_, map.outer, map.size, map.inner, x.data, x.dtype == DType::kInt8, scales,
                                          zeros, out, threads);
      if (x.dtype == DType::kInt32)
        return kernels::dequantize_linear_i32(isa_, map.outer, map.size, map.inner, x.as<int32_t>(), scales, zeros, out,
                                              threads);
    }
    // Every other type has at most 16 bits, which a float holds exactly.
    convert_elements(x, {DType::kFloat32, x.shape, out}, true);
    int64_t at = 0;
    for (int64_t o = 0; o < map.outer; ++o)
      for (int64_t c = 0; c < map.size; ++c)
        for (int64_t i = 0; i < map.inner; ++i, ++at) {
          const int64_t k = map.index(o, c, i);
          out[at] = (out[at] - static_cast<float>(zeros[k])) * scales[k];
        }
  }

  int64_t axis_, block_;
  kernels::Isa isa_;
  DType output_ = DType::kUndefined;
};

class DynamicQuantizeLinear final : public Op {
 public:
  explicit DynamicQuantizeLinear(const OpInit& init) : isa_(init.isa) {}

  void run(OpContext& ctx) const override {
    const TensorView& x = need_input(ctx, 0, "x");
    uint8_t* y = ctx.output(0, DType::kUint8, x.shape).as<uint8_t>();
    const auto range = kernels::quantize_dynamic_u8(isa_, x.elements(), x.as<float>(), y, ctx.threads());
    if (ctx.wants(1)) *ctx.output(1, DType::kFloat32, Shape{}).as<float>() = range.scale;
    if (ctx.wants(2)) *ctx.output(2, DType::kUint8, Shape{}).as<uint8_t>() = static_cast<uint8_t>(range.zero_point);
  }

 private:
  kernels::Isa isa_;
};

const OpRegistration kQuantize{"", "QuantizeLinear", 10, make_op<QuantizeLinear>};
const OpRegistration kDequantize{"", "DequantizeLinear", 10, make_op<DequantizeLinear>};
const OpRegistration kDynamic{"", "DynamicQuantizeLinear", 11, make_op<DynamicQuantizeLinear>};

}  // namespace
}  // namespace assay
