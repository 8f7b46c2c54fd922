// Conv and ConvTranspose of any rank and group count, by a column matrix and a product; ConvInteger and QLinearConv by
// plain loops. Correct for every attribute; speed is another file's business.

#include <cmath>

#include "base/parallel.h"
#include "kernels/gemm_f32.h"
#include "ops/convert.h"
#include "ops/window.h"

namespace assay {
namespace {

// Sizes of a grouped convolution: X [N, C, ...], W [M, C / groups, ...].
struct ConvShape {
  ConvShape(const WindowAttributes& attributes, int64_t groups_argument, const Shape& x, const Shape& w)
      : window(attributes, x, kernel_of(attributes, w)), groups(groups_argument) {
    require(x.rank() == w.rank(), ErrorCode::kInvalidArgument, "input {} and weight {} differ in rank", x, w);
    require(groups > 0 && x[1] == w[1] * groups && w[0] % groups == 0, ErrorCode::kInvalidArgument,
            "input {} and weight {} do not fit {} groups", x, w, groups);
    items = x[0];
    channels = w[1];
    outputs = w[0] / groups;
    result = Shape{items, w[0]};
    for (int d = 0; d < window.dims; ++d) result.push_back(window.out[d]);
  }

  static SmallInts kernel_of(const WindowAttributes& a, const Shape& w) {
    SmallInts k;
    for (int d = 2; d < w.rank(); ++d) k[k.n++] = w[d];
    if (a.kernel.n > 0) {
      bool same = a.kernel.n == k.n;
      for (int d = 0; same && d < k.n; ++d) same = a.kernel[d] == k[d];
      require(same, ErrorCode::kInvalidArgument, "kernel_shape does not fit weight {}", w);
    }
    return k;
  }

  Window window;
  int64_t groups, items = 0;
  int64_t channels = 0;  ///< input channels of a group
  int64_t outputs = 0;   ///< output channels of a group
  Shape result;
};

// Visits, for every kernel position and output position, the input position under it: fn(kernel, out, in or -1).
template <typename Fn>
void for_taps(const Window& w, const Fn& fn) {
  SmallInts k;
  for (int64_t kernel = 0; kernel < w.kernel_size; ++kernel) {
    SmallInts o;
    for (int64_t out = 0; out < w.out_size; ++out) {
      int64_t at = 0;
      bool inside = true;
      for (int d = 0; d < w.dims; ++d) {
        const int64_t p = o[d] * w.stride[d] - w.pad_begin[d] + k[d] * w.dilation[d];
        inside = inside && p >= 0 && p < w.in[d];
        at = at * w.in[d] + p;
      }
      fn(kernel, out, inside ? at : int64_t{-1});
      next_position(o, w.out, w.dims);
    }
    next_position(k, w.kernel, w.dims);
  }
}

void check_bias(const OpContext& ctx, size_t input, int64_t outputs) {
  require(!ctx.has_input(input) || ctx.input(input).elements() == outputs, ErrorCode::kInvalidArgument,
          "bias {} must hold one element per output channel ({})", ctx.input(input).shape, outputs);
}

// float16, bfloat16 and double go through float copies (double loses nothing the standard's tolerance could show).
class FloatInputs {
 public:
  FloatInputs(const OpContext& ctx, std::initializer_list<size_t> inputs, ScratchPlan& plan) {
    for (size_t i : inputs) {
      const TensorView& t = ctx.input(i);
      at_[i] = t && t.dtype != DType::kFloat32 ? plan.add_array<float>(t.elements()) : -1;
    }
  }
  const float* get(const OpContext& ctx, size_t i, const ScratchPlan& plan) const {
    const TensorView& t = ctx.input(i);
    if (!t) return nullptr;
    if (at_[i] < 0) return t.as<float>();
    auto* memory = plan.at<float>(at_[i]);
    convert_elements(t, {DType::kFloat32, t.shape, memory}, true);
    return memory;
  }

 private:
  std::array<int64_t, 3> at_{-1, -1, -1};
};

int64_t round_up_64(int64_t bytes) { return checked_add<int64_t>(bytes, 63) / 64 * 64; }

// The product of one item and group: weights [outputs, k] times columns [k, out_size].
class Product {
 public:
  Product(const ConvShape& s, kernels::Isa isa, int threads) : s_(s), isa_(isa), threads_(threads) {
    gemm_.m = s.outputs;
    gemm_.n = s.window.out_size;
    gemm_.k = s.channels * s.window.kernel_size;
    gemm_.a_stride = gemm_.k;
    gemm_.b_stride = gemm_.n;
    pointwise_ = s.window.kernel_size == 1;  // then the input is its own column matrix, unless a position is skipped
    for (int d = 0; d < s.window.dims; ++d)
      pointwise_ =
          pointwise_ && s.window.stride[d] == 1 && s.window.pad_begin[d] == 0 && s.window.in[d] == s.window.out[d];
    columns_bytes_ = pointwise_ ? 0 : round_up_64(checked_mul<int64_t>(checked_mul(gemm_.k, gemm_.n), 4));
  }

  int64_t scratch_bytes() const {
    return round_up_64(
        checked_add(columns_bytes_, checked_cast<int64_t>(kernels::gemm_f32_scratch_bytes(isa_, gemm_, threads_))));
  }

  void run(int64_t i, const float* in, const float* weight, const float* bias, float* out, void* scratch) const {
    const Window& win = s_.window;
    const float* source = in + i * s_.channels * win.in_size;
    auto* columns = static_cast<float*>(scratch);
    if (!pointwise_)
      for (int64_t c = 0; c < s_.channels; ++c)
        for_taps(win, [&](int64_t kernel, int64_t o, int64_t at) {
          columns[(c * win.kernel_size + kernel) * win.out_size + o] = at < 0 ? 0.0f : source[c * win.in_size + at];
        });
    const int64_t group = i % s_.groups;
    float* target = out + i * s_.outputs * win.out_size;
    kernels::GemmF32 g = gemm_;
    g.a = weight + group * s_.outputs * g.k;
    g.b = pointwise_ ? source : columns;
    g.epilogue.dst = target;
    g.epilogue.dst_stride = win.out_size;
    if (g.m > 0 && g.n > 0) kernels::gemm_f32(isa_, g, static_cast<std::byte*>(scratch) + columns_bytes_, threads_);
    if (bias == nullptr) return;
    for (int64_t o = 0; o < s_.outputs; ++o)
      for (int64_t p = 0; p < win.out_size; ++p) target[o * win.out_size + p] += bias[group * s_.outputs + o];
  }

 private:
  const ConvShape& s_;
  kernels::Isa isa_;
  int threads_;
  kernels::GemmF32 gemm_;
  bool pointwise_ = false;
  int64_t columns_bytes_ = 0;
};

class Conv final : public Op {
 public:
  explicit Conv(const OpInit& init) : attributes_(init.node), groups_(init.node.get_int("group", 1)), isa_(init.isa) {}

  void run(OpContext& ctx) const override {
    const TensorView& x = need_input(ctx, 0, "X");
    const TensorView& w = need_input(ctx, 1, "W");
    same_dtype(x, w);
    require(is_float(x.dtype), ErrorCode::kInvalidArgument, "Conv does not take {} tensors", to_string(x.dtype));
    const ConvShape s(attributes_, groups_, x.shape, w.shape);
    check_bias(ctx, 2, s.outputs * groups_);
    const int64_t products = s.items * groups_;
    // Many small products: a thread works on each; few: all threads on one.
    const int workers = products >= ctx.threads() ? std::max(ctx.threads(), 1) : 1;
    const int threads = workers > 1 ? 1 : ctx.threads();
    const Product product(s, isa_, threads);
    ScratchPlan plan;
    const FloatInputs inputs(ctx, {0, 1, 2}, plan);
    const int64_t result_at = plan.add_array<float>(x.dtype == DType::kFloat32 ? 0 : s.result.elements());
    const int64_t workers_at = plan.add(checked_mul<int64_t>(product.scratch_bytes(), workers));
    plan.take(ctx);
    const MutableTensorView y = ctx.output(0, x.dtype, s.result);
    const float* in = inputs.get(ctx, 0, plan);
    const float* weight = inputs.get(ctx, 1, plan);
    const float* bias = inputs.get(ctx, 2, plan);
    float* out = x.dtype == DType::kFloat32 ? y.as<float>() : plan.at<float>(result_at);
    parallel_for(workers, workers, 1, [&](int64_t begin, int64_t end) {
      for (int64_t worker = begin; worker < end; ++worker)
        for (int64_t i = products * worker / workers; i < products * (worker + 1) / workers; ++i)
          product.run(i, in, weight, bias, out, plan.at(workers_at + worker * product.scratch_bytes()));
    });
    if (x.dtype != DType::kFloat32) convert_elements({DType::kFloat32, s.result, out}, y, true);
  }

 private:
  WindowAttributes attributes_;
  int64_t groups_;
  kernels::Isa isa_;
};

// The gradient of Conv with regard to its input: each input element adds a scaled kernel to the output. W is
// [C, M / groups, ...].
class ConvTranspose final : public Op {
 public:
  explicit ConvTranspose(const OpInit& init)
      : attributes_(init.node),
        groups_(init.node.get_int("group", 1)),
        output_padding_(small_ints(init.node.get_ints("output_padding"), "output_padding")),
        output_shape_(small_ints(init.node.get_ints("output_shape"), "output_shape")) {}

  void run(OpContext& ctx) const override {
    const TensorView& x = need_input(ctx, 0, "X");
    const TensorView& w = need_input(ctx, 1, "W");
    same_dtype(x, w);
    require(x.shape.rank() >= 3 && x.shape.rank() == w.shape.rank() && groups_ > 0 && x.shape[1] == w.shape[0] &&
                x.shape[1] % groups_ == 0,
            ErrorCode::kInvalidArgument, "input {} and weight {} do not fit {} groups", x.shape, w.shape, groups_);
    const int dims = x.shape.rank() - 2;
    SmallInts in, kernel, out, begin, stride, dilation;
    Shape shape{x.shape[0], w.shape[1] * groups_};
    for (int d = 0; d < dims; ++d) {
      in[d] = x.shape[d + 2];
      kernel[d] = w.shape[d + 2];
      stride[d] = attributes_.strides.n > d ? attributes_.strides[d] : 1;
      dilation[d] = attributes_.dilations.n > d ? attributes_.dilations[d] : 1;
      const int64_t extra = output_padding_.n > d ? output_padding_[d] : 0;
      const int64_t full = checked_add(checked_mul(in[d] - 1, stride[d]),
                                       checked_add(extra, checked_mul(kernel[d] - 1, dilation[d]) + 1));
      using AutoPad = WindowAttributes::AutoPad;
      const bool same = attributes_.auto_pad == AutoPad::kSameUpper || attributes_.auto_pad == AutoPad::kSameLower;
      if (output_shape_.n > 0 || same) {
        require(output_shape_.n == 0 || output_shape_.n >= dims, ErrorCode::kInvalidArgument,
                "output_shape has {} entries for {} spatial dimensions", output_shape_.n, dims);
        out[d] = output_shape_.n > 0 ? output_shape_[output_shape_.n - dims + d] : in[d] * stride[d];
        const int64_t total = std::max<int64_t>(0, full - out[d]);
        begin[d] = attributes_.auto_pad == AutoPad::kSameUpper ? total / 2 : total - total / 2;
      } else {
        const bool padded = attributes_.auto_pad == AutoPad::kNotSet && attributes_.pads.n > d;
        begin[d] = padded ? attributes_.pads[d] : 0;
        out[d] = full - begin[d] - (padded ? attributes_.pads_end[d] : 0);
      }
      require(out[d] >= 0, ErrorCode::kInvalidArgument, "dimension {} of the result would be {}", d + 2, out[d]);
      shape.push_back(out[d]);
    }
    check_bias(ctx, 2, shape[1]);
    const MutableTensorView y = ctx.output(0, x.dtype, shape);
    ScratchPlan plan;
    const FloatInputs inputs(ctx, {0, 1, 2}, plan);
    const int64_t result_at = plan.add_array<float>(x.dtype == DType::kFloat32 ? 0 : shape.elements());
    plan.take(ctx);
    const float* source = inputs.get(ctx, 0, plan);
    const float* weight = inputs.get(ctx, 1, plan);
    const float* bias = inputs.get(ctx, 2, plan);
    float* result = x.dtype == DType::kFloat32 ? y.as<float>() : plan.at<float>(result_at);
    const int64_t in_size = x.shape.elements(2, x.shape.rank()), out_size = shape.elements(2, shape.rank());
    const int64_t kernel_size = w.shape.elements(2, w.shape.rank());
    const int64_t channels = x.shape[1] / groups_, outputs = w.shape[1];
    for (int64_t n = 0; n < x.shape[0]; ++n)
      for (int64_t m = 0; m < shape[1]; ++m) {
        float* plane = result + (n * shape[1] + m) * out_size;
        std::fill(plane, plane + out_size, bias != nullptr ? bias[m] : 0.0f);
        const int64_t group = m / outputs;
        for (int64_t c = group * channels; c < (group + 1) * channels; ++c) {
          const float* from = source + (n * x.shape[1] + c) * in_size;
          const float* taps = weight + (c * outputs + m % outputs) * kernel_size;
          SmallInts k;
          for (int64_t t = 0; t < kernel_size; ++t, next_position(k, kernel, dims)) {
            SmallInts p;
            for (int64_t i = 0; i < in_size; ++i, next_position(p, in, dims)) {
              int64_t at = 0;
              bool inside = true;
              for (int d = 0; d < dims; ++d) {
                const int64_t o = p[d] * stride[d] + k[d] * dilation[d] - begin[d];
                inside = inside && o >= 0 && o < out[d];
                at = at * out[d] + o;
              }
              if (inside) plane[at] += from[i] * taps[t];
            }
          }
        }
      }
    if (x.dtype != DType::kFloat32) convert_elements({DType::kFloat32, shape, result}, y, true);
  }

 private:
  WindowAttributes attributes_;
  int64_t groups_;
  SmallInts output_padding_, output_shape_;
};

int32_t read_int8(const TensorView& t, int64_t i) {
  if (t.dtype == DType::kInt8) return static_cast<const int8_t*>(t.data)[i];
  require(t.dtype == DType::kUint8, ErrorCode::kInvalidArgument, "{} where int8 or uint8 is needed",
          to_string(t.dtype));
  return static_cast<const uint8_t*>(t.data)[i];
}

// `quantized` is QLinearConv: x, x_scale, x_zp, w, w_scale, w_zp, y_scale, y_zp, bias; else x, w, x_zp, w_zp.
class IntegerConv final : public Op {
 public:
  IntegerConv(const OpInit& init, bool quantized)
      : quantized_(quantized), attributes_(init.node), groups_(init.node.get_int("group", 1)) {}

  void run(OpContext& ctx) const override {
    const TensorView& x = need_input(ctx, 0, "x");
    const TensorView& w = need_input(ctx, quantized_ ? 3 : 1, "w");
    const ConvShape s(attributes_, groups_, x.shape, w.shape);
    const int64_t outputs = s.outputs * groups_;
    const TensorView& x_zero = ctx.input(2);
    const TensorView& w_zero = ctx.input(quantized_ ? 5 : 3);
    const auto per_output = [&](const TensorView& t, std::string_view what) {
      require(!t || t.elements() == 1 || t.elements() == outputs, ErrorCode::kInvalidArgument,
              "{} of shape {} is neither one element nor one per output channel ({})", what, t.shape, outputs);
    };
    per_output(w_zero, "w's zero point");
    if (quantized_) {
      per_output(need_input(ctx, 4, "w_scale"), "w's scale");
      check_bias(ctx, 8, outputs);
      require(need_input(ctx, 7, "y_zero_point").elements() == 1, ErrorCode::kInvalidArgument,
              "y's zero point must be a scalar, not {}", ctx.input(7).shape);
    }
    const MutableTensorView y =
        ctx.output(0, quantized_ ? need_input(ctx, 7, "y_zero_point").dtype : DType::kInt32, s.result);
    auto* sums = quantized_ ? static_cast<int32_t*>(ctx.scratch(checked_mul<int64_t>(s.window.out_size, 4))) : nullptr;
    require(!x_zero || x_zero.elements() == 1, ErrorCode::kInvalidArgument, "x's zero point must be a scalar, not {}",
            x_zero.shape);
    const int32_t xz = x_zero ? read_int8(x_zero, 0) : 0;
    for (int64_t n = 0; n < s.items; ++n)
      for (int64_t m = 0; m < outputs; ++m) {
        const int64_t at = (n * outputs + m) * s.window.out_size;
        int32_t* plane = quantized_ ? sums : y.as<int32_t>() + at;
        const int32_t wz = w_zero ? read_int8(w_zero, w_zero.elements() == 1 ? 0 : m) : 0;
        const int32_t start = quantized_ && ctx.has_input(8) ? ctx.input(8).as<int32_t>()[m] : 0;
        std::fill(plane, plane + s.window.out_size, start);
        accumulate(s, x, w, n, m, xz, wz, plane);
        if (quantized_) requantize(ctx, s, m, plane, y, at);
      }
  }

 private:
  static void accumulate(const ConvShape& s, const TensorView& x, const TensorView& w, int64_t n, int64_t m, int32_t xz,
                         int32_t wz, int32_t* plane) {
    const int64_t first = m / s.outputs * s.channels;
    for (int64_t c = 0; c < s.channels; ++c) {
      const int64_t source = (n * s.channels * s.groups + first + c) * s.window.in_size;
      const int64_t taps = (m * s.channels + c) * s.window.kernel_size;
      // Sums wrap modulo 2^32, as in the product kernels.
      for_taps(s.window, [&](int64_t kernel, int64_t o, int64_t at) {
        if (at < 0) return;
        const int32_t product = (read_int8(x, source + at) - xz) * (read_int8(w, taps + kernel) - wz);
        plane[o] = static_cast<int32_t>(static_cast<uint32_t>(plane[o]) + static_cast<uint32_t>(product));
      });
    }
  }

  static void requantize(const OpContext& ctx, const ConvShape& s, int64_t m, const int32_t* plane,
                         const MutableTensorView& y, int64_t at) {
    const TensorView& w_scale = ctx.input(4);
    const auto scale = static_cast<float>(read_number(need_input(ctx, 1, "x_scale"), "x_scale")) *
                       w_scale.as<float>()[w_scale.elements() == 1 ? 0 : m];
    const auto y_scale = static_cast<float>(read_number(need_input(ctx, 6, "y_scale"), "y_scale"));
    const int32_t zero = read_int8(ctx.input(7), 0);
    for (int64_t i = 0; i < s.window.out_size; ++i) {
      const double q = std::nearbyint(static_cast<double>(static_cast<float>(plane[i]) * scale / y_scale)) + zero;
      static_cast<uint8_t*>(y.data)[at + i] =
          y.dtype == DType::kInt8 ? static_cast<uint8_t>(saturate_cast<int8_t>(q)) : saturate_cast<uint8_t>(q);
    }
  }

  bool quantized_;
  WindowAttributes attributes_;
  int64_t groups_;
};

std::unique_ptr<Op> make_conv_integer(const OpInit& init) { return std::make_unique<IntegerConv>(init, false); }
std::unique_ptr<Op> make_qlinear_conv(const OpInit& init) { return std::make_unique<IntegerConv>(init, true); }

const OpRegistration kConv{"", "Conv", 1, make_op<Conv>};
const OpRegistration kConvTranspose{"", "ConvTranspose", 1, make_op<ConvTranspose>};
const OpRegistration kConvInteger{"", "ConvInteger", 10, make_conv_integer};
const OpRegistration kQLinearConv{"", "QLinearConv", 10, make_qlinear_conv};

}  // namespace
}  // namespace assay
