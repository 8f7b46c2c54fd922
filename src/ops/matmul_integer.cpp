// MatMulInteger and QLinearMatMul: exact int32 sums on every instruction set.

#include <cmath>

#include "kernels/gemm_int8.h"
#include "ops/convert.h"
#include "ops/matmul_shape.h"
#include "ops/packed_weights.h"

namespace assay {
namespace {

void need_8_bits(const TensorView& t, std::string_view what) {
  require(t.dtype == DType::kInt8 || t.dtype == DType::kUint8, ErrorCode::kUnsupported, "{} of type {}", what,
          to_string(t.dtype));
}

// A zero point or scale of a matrix: one for all, one a row (or column), or one a row of each batch item.
template <typename T>
struct Parameter {
  const T* values = nullptr;
  int64_t per_item = 0;  ///< elements between batch items
  bool is_scalar = true;

  Parameter() = default;
  Parameter(const T* v, const TensorView& t, int64_t lines, int64_t batch, std::string_view what) : values(v) {
    const int64_t n = t.elements();
    require(n == 1 || n == lines || n == lines * batch, ErrorCode::kInvalidArgument,
            "{} of shape {} fits neither the matrix nor its {} rows or columns", what, t.shape, lines);
    is_scalar = n == 1;
    if (n != 1 && n != lines) per_item = lines;
  }
  const T* item(int64_t i) const { return is_scalar ? nullptr : values + i * per_item; }
  T scalar(T otherwise) const { return is_scalar && values != nullptr ? *values : otherwise; }
};

// `quantized` is QLinearMatMul: inputs a, a_scale, a_zp, b, b_scale, b_zp, y_scale, y_zp; else a, b, a_zp, b_zp.
class Int8MatMul final : public Op {
 public:
  Int8MatMul(const OpInit& init, bool quantized)
      : quantized_(quantized), isa_(init.isa), packed_(init, quantized ? 3 : 1) {}

  void run(OpContext& ctx) const override {
    const TensorView& a = need_input(ctx, 0, "A");
    const TensorView& b = need_input(ctx, quantized_ ? 3 : 1, "B");
    need_8_bits(a, "A");
    need_8_bits(b, "B");
    MatMulShape s(a.shape, b.shape);
    if (s.b_is_one_matrix && lines_are_uniform(ctx, s)) s.flatten();
    const size_t a_zero_in = 2, b_zero_in = quantized_ ? 5 : 3;

    ScratchPlan scratch;
    const int64_t kernel =
        scratch.add(checked_cast<int64_t>(kernels::gemm_int8_scratch_bytes(isa_, s.m, s.n, s.k, ctx.threads())));
    const int64_t pack = scratch.add(packed_ ? 0 : checked_cast<int64_t>(kernels::packed_int8_bytes(isa_, s.k, s.n)));
    const int64_t a_zero_at = scratch.add_array<int32_t>(elements(ctx, a_zero_in));
    const int64_t b_zero_at = scratch.add_array<int32_t>(elements(ctx, b_zero_in));
    const int64_t a_scale_at = scratch.add_array<float>(quantized_ ? elements(ctx, 1) : 0);
    const int64_t b_scale_at = scratch.add_array<float>(quantized_ ? elements(ctx, 4) : 0);
    const int64_t float_at = scratch.add_array<float>(quantized_ ? s.m * s.n : 0);
    scratch.take(ctx);
    const auto a_zero = parameter(ctx, a_zero_in, scratch.at<int32_t>(a_zero_at), s.m, s.batch, "A's zero point");
    const auto b_zero = parameter(ctx, b_zero_in, scratch.at<int32_t>(b_zero_at), s.n, s.batch, "B's zero point");
    Parameter<float> a_scale, b_scale;
    if (quantized_) {
      a_scale = parameter(ctx, 1, scratch.at<float>(a_scale_at), s.m, s.batch, "A's scale");
      b_scale = parameter(ctx, 4, scratch.at<float>(b_scale_at), s.n, s.batch, "B's scale");
    }
    const DType to = quantized_ ? need_input(ctx, 7, "y_zero_point").dtype : DType::kInt32;
    const MutableTensorView y = ctx.output(0, to, s.shape);
    if (quantized_) need_8_bits(y, "y");
    for (int64_t i = 0; i < s.batch && s.m * s.n > 0; ++i) {
      const auto* matrix = static_cast<const uint8_t*>(b.data) + s.b_offset(i);
      const kernels::PackedInt8 weights =
          packed_ ? packed_.view()
                  : kernels::pack_int8(isa_, s.k, s.n, matrix, s.n, b.dtype == DType::kUint8, false, scratch.at(pack),
                                       ctx.threads());
      kernels::GemmInt8 g;
      g.m = s.m;
      g.a = static_cast<const uint8_t*>(a.data) + s.a_offset(i);
      g.a_stride = s.k;
      g.a_signed = a.dtype == DType::kInt8;
      g.a_zero_point = a_zero.scalar(0);
      g.a_zero_points = a_zero.item(i);
      g.b_zero_point = b_zero.scalar(0);
      g.b_zero_points = b_zero.item(i);
      if (!quantized_) {
        g.dst_i32 = y.as<int32_t>() + i * s.m * s.n;
        g.dst_i32_stride = s.n;
        kernels::gemm_int8(weights, g, scratch.at(kernel), ctx.threads());
        continue;
      }
      g.a_scale = a_scale.scalar(1);
      g.a_scales = a_scale.item(i);
      g.b_scale = b_scale.scalar(1);
      g.b_scales = b_scale.item(i);
      g.epilogue.dst = scratch.at<float>(float_at);
      g.epilogue.dst_stride = s.n;
      const TensorView& y_scale = need_input(ctx, 6, "y_scale");
      if (y_scale.elements() == 1 && ctx.input(7).elements() == 1) {
        g.epilogue.out_type = to == DType::kInt8 ? kernels::OutType::kS8 : kernels::OutType::kU8;
        g.epilogue.out_scale = static_cast<float>(read_number(y_scale, "y_scale"));
        g.epilogue.out_zero_point = static_cast<int32_t>(read_number(ctx.input(7), "y_zero_point"));
        g.epilogue.dst = static_cast<uint8_t*>(y.data) + i * s.m * s.n;
        kernels::gemm_int8(weights, g, scratch.at(kernel), ctx.threads());
      } else {
        kernels::gemm_int8(weights, g, scratch.at(kernel), ctx.threads());
        requantize_rows(ctx, s, i, scratch.at<float>(float_at), y);
      }
    }
  }

  std::string_view kernel() const override { return packed_ ? "packed int8" : "int8"; }

 private:
  // Whether one tall product does for a batch: A's parameters do not differ between rows.
  bool lines_are_uniform(const OpContext& ctx, const MatMulShape& s) const {
    if (s.batch == 1) return true;
    const bool a_uniform = elements(ctx, 2) <= 1 && (!quantized_ || elements(ctx, 1) <= 1);
    return a_uniform && (!quantized_ || (elements(ctx, 6) <= 1 && elements(ctx, 7) <= 1));
  }

  static int64_t elements(const OpContext& ctx, size_t i) { return ctx.has_input(i) ? ctx.input(i).elements() : 0; }

  template <typename T>
  static Parameter<T> parameter(const OpContext& ctx, size_t input, T* memory, int64_t lines, int64_t batch,
                                std::string_view what) {
    if (!ctx.has_input(input)) return {};
    const TensorView& t = ctx.input(input);
    convert_elements(t, {kDTypeOf<T>, t.shape, memory}, true);
    return Parameter<T>(memory, t, lines, batch, what);
  }

  // Scale and zero point of the result one a row.
  static void requantize_rows(const OpContext& ctx, const MatMulShape& s, int64_t item, const float* v,
                              const MutableTensorView& y) {
    const TensorView& scales = ctx.input(6);
    const TensorView& zeros = ctx.input(7);
    const bool is_signed_output = y.dtype == DType::kInt8;
    for (int64_t r = 0; r < s.m; ++r) {
      const auto pick = [&](const TensorView& t) {
        require(t.elements() == 1 || t.elements() == s.m || t.elements() == s.m * s.batch, ErrorCode::kInvalidArgument,
                "y's scale or zero point of shape {} fits none of {} rows", t.shape, s.m);
        const int64_t k = t.elements() == 1 ? 0 : t.elements() == s.m ? r : item * s.m + r;
        const TensorView one{t.dtype, Shape{}, static_cast<const std::byte*>(t.data) + k * bits_of(t.dtype) / 8};
        return read_number(one, "y_scale");
      };
      const auto scale = static_cast<float>(pick(scales));
      const double zero = pick(zeros);
      for (int64_t j = 0; j < s.n; ++j) {
        const double q = std::nearbyint(static_cast<double>(v[r * s.n + j] / scale)) + zero;
        const int64_t at = (item * s.m + r) * s.n + j;
        static_cast<uint8_t*>(y.data)[at] =
            is_signed_output ? static_cast<uint8_t>(saturate_cast<int8_t>(q)) : saturate_cast<uint8_t>(q);
      }
    }
  }

  bool quantized_;
  kernels::Isa isa_;
  PackedInt8Weights packed_;
};

std::unique_ptr<Op> make_matmul_integer(const OpInit& init) { return std::make_unique<Int8MatMul>(init, false); }
std::unique_ptr<Op> make_qlinear_matmul(const OpInit& init) { return std::make_unique<Int8MatMul>(init, true); }

const OpRegistration kMatMulInteger{"", "MatMulInteger", 10, make_matmul_integer};
const OpRegistration kQLinearMatMul{"", "QLinearMatMul", 10, make_qlinear_matmul};

}  // namespace
}  // namespace assay
