// Fully connected layers as the engine runs them: weights packed once, bias, activation and residual in the epilogue.
#include <array>
#include <cstring>

#include "kernels/kernels.h"
#include "ops/op.h"

namespace assay {
namespace {

using kernels::Unary;

Unary activation_of(const Node& node, std::string_view attribute) {
  static constexpr std::array<std::pair<std::string_view, Unary>, 7> kNames = {{{"", Unary::kNone},
                                                                                {"relu", Unary::kRelu},
                                                                                {"gelu", Unary::kGeluErf},
                                                                                {"gelu_tanh", Unary::kGeluTanh},
                                                                                {"tanh", Unary::kTanh},
                                                                                {"sigmoid", Unary::kSigmoid},
                                                                                {"silu", Unary::kSilu}}};
  const std::string name = node.get_string(attribute, "");
  for (const auto& [known, op] : kNames)
    if (known == name) return op;
  fail(ErrorCode::kUnsupported, "activation '{}' is not one the epilogue has", name);
}

struct Sizes {
  int64_t rows, k, n;
  Shape out;
};

Sizes sizes_of(const TensorView& x, int64_t k, int64_t n) {
  require(x.shape.rank() >= 1 && x.shape[x.shape.rank() - 1] == k, ErrorCode::kInvalidArgument,
          "input {} does not end in {} features", x.shape.str(), k);
  Sizes s{x.shape.elements(0, x.shape.rank() - 1), k, n, x.shape};
  s.out[x.shape.rank() - 1] = n;
  return s;
}

void check_bias(const TensorView& bias, int64_t n) {
  if (bias)
    require(bias.elements() == n, ErrorCode::kInvalidArgument, "bias {} is not of {} features", bias.shape.str(), n);
}

kernels::Epilogue epilogue_of(OpContext& ctx, const Sizes& s, size_t bias_slot, size_t residual_slot, Unary activation,
                              Unary final_activation) {
  kernels::Epilogue e;
  e.activation = activation;
  e.final_activation = final_activation;
  const TensorView& bias = ctx.input(bias_slot);
  const TensorView& residual = ctx.input(residual_slot);
  check_bias(bias, s.n);
  if (bias) e.bias = bias.as<float>();
  if (residual) {
    require(residual.shape == s.out, ErrorCode::kInvalidArgument, "residual {} is not the output's shape {}",
            residual.shape.str(), s.out.str());
    e.residual = residual.as<float>();
    e.residual_stride = s.n;
  }
  e.dst = ctx.output(0, DType::kFloat32, s.out).data;
  e.dst_stride = s.n;
  return e;
}

/// assay.Linear: x [..., K] float32, W [K, N] float32 constant, bias [N], residual [..., N] -> [..., N].
class Linear final : public Op {
 public:
  explicit Linear(const OpInit& init)
      : activation_(activation_of(init.node, "activation")),
        final_activation_(activation_of(init.node, "final_activation")) {
    const Tensor* w = init.constant(1);
    require(w != nullptr && w->shape().rank() == 2, ErrorCode::kInternal, "weights are not a constant matrix");
    const int64_t k = w->shape()[0];
    const int64_t n = w->shape()[1];
    memory_ = Tensor(DType::kUint8, {static_cast<int64_t>(kernels::packed_f32_bytes(init.isa, k, n))});
    weights_ = kernels::pack_f32(init.isa, k, n, w->values<float>().data(), n, false,
                                 static_cast<float*>(memory_.mutable_view().data), 1);
  }

  void run(OpContext& ctx) const override {
    const TensorView& x = ctx.input(0);
    const Sizes s = sizes_of(x, weights_.k, weights_.n);
    const auto epilogue = epilogue_of(ctx, s, 2, 3, activation_, final_activation_);
    void* scratch = ctx.scratch(
        static_cast<int64_t>(kernels::gemm_f32_packed_scratch_bytes(weights_.isa, s.rows, s.n, s.k, ctx.threads())));
    kernels::gemm_f32_packed(weights_, s.rows, x.as<float>(), s.k, epilogue, scratch, ctx.threads());
  }

  std::string_view kernel() const override { return "gemm_f32_packed"; }

 private:
  Unary activation_, final_activation_;
  Tensor memory_;
  kernels::PackedF32 weights_;
};

enum class ActivationScale { kRow, kTensor, kStatic };

/// assay.LinearInt8: x [..., K] float32 is quantized here (each row on its own, as one tensor, or with given
/// parameters), then multiplied by W [K, N] int8/uint8. Inputs: x, W, w_scale [1]|[N], w_zero_point, bias, residual,
/// x_scale, x_zero_point.
class LinearInt8 final : public Op {
 public:
  explicit LinearInt8(const OpInit& init)
      : activation_(activation_of(init.node, "activation")),
        final_activation_(activation_of(init.node, "final_activation")) {
    const std::string mode = init.node.get_string("activation_scale", "tensor");
    mode_ = mode == "row"      ? ActivationScale::kRow
            : mode == "static" ? ActivationScale::kStatic
                               : ActivationScale::kTensor;
    const Tensor* w = init.constant(1);
    require(w != nullptr && w->shape().rank() == 2, ErrorCode::kInternal, "weights are not a constant matrix");
    const int64_t k = w->shape()[0];
    const int64_t n = w->shape()[1];
    memory_ = Tensor(DType::kUint8, {static_cast<int64_t>(kernels::packed_int8_bytes(init.isa, k, n))});
    weights_ = kernels::pack_int8(init.isa, k, n, w->data(), n, w->dtype() == DType::kUint8, false,
                                  memory_.mutable_view().data, 1);

    const Tensor* scale = init.constant(2);
    require(scale != nullptr && (scale->elements() == 1 || scale->elements() == n), ErrorCode::kBadFile,
            "weight scale does not fit {} columns", n);
    w_scales_.assign(scale->values<float>().begin(), scale->values<float>().end());
    if (const Tensor* zp = init.constant(3)) {
      require(zp->elements() == 1 || zp->elements() == n, ErrorCode::kBadFile,
              "weight zero point does not fit {} columns", n);
      for (int64_t i = 0; i < zp->elements(); ++i) w_zero_points_.push_back(integer_at(*zp, i));
    } else {
      w_zero_points_.push_back(0);
    }
    if (mode_ == ActivationScale::kStatic) {
      const Tensor* x_scale = init.constant(6);
      require(x_scale != nullptr && x_scale->elements() == 1, ErrorCode::kInternal, "a static scale is one constant");
      x_scale_ = x_scale->values<float>()[0];
      if (const Tensor* zp = init.constant(7)) {
        x_zero_point_ = integer_at(*zp, 0);
        x_signed_ = zp->dtype() == DType::kInt8;
      }
    }
  }

  void run(OpContext& ctx) const override {
    const TensorView& x = ctx.input(0);
    const Sizes s = sizes_of(x, weights_.k, weights_.n);
    const kernels::Isa isa = weights_.isa;

    kernels::GemmInt8 g;
    g.m = s.rows;
    g.a_stride = s.k;
    g.a_signed = x_signed_;
    g.b_scale = w_scales_[0];
    if (w_scales_.size() > 1) g.b_scales = w_scales_.data();
    g.b_zero_point = w_zero_points_[0];
    if (w_zero_points_.size() > 1) g.b_zero_points = w_zero_points_.data();
    g.epilogue = epilogue_of(ctx, s, 4, 5, activation_, final_activation_);

    const auto align = [](int64_t n) { return (n + 63) / 64 * 64; };
    const int64_t codes_bytes = align(s.rows * s.k);
    const int64_t row_bytes = align(s.rows * 4);
    const auto gemm_bytes =
        static_cast<int64_t>(kernels::gemm_int8_scratch_bytes(isa, s.rows, s.n, s.k, ctx.threads()));
    auto* memory = static_cast<std::byte*>(ctx.scratch(codes_bytes + 2 * row_bytes + gemm_bytes));
    g.a = memory;
    const float* src = x.as<float>();
    switch (mode_) {
      case ActivationScale::kRow: {
        auto* scales = reinterpret_cast<float*>(memory + codes_bytes);
        auto* zero_points = reinterpret_cast<int32_t*>(memory + codes_bytes + row_bytes);
        kernels::quantize_rows_u8(isa, s.rows, s.k, src, s.k, reinterpret_cast<uint8_t*>(memory), s.k, scales,
                                  zero_points, ctx.threads());
        g.a_scales = scales;
        g.a_zero_points = zero_points;
        break;
      }
      case ActivationScale::kTensor: {
        const auto range =
            kernels::quantize_dynamic_u8(isa, s.rows * s.k, src, reinterpret_cast<uint8_t*>(memory), ctx.threads());
        g.a_scale = range.scale;
        g.a_zero_point = range.zero_point;
        break;
      }
      case ActivationScale::kStatic:
        kernels::quantize_linear(isa, 1, 1, s.rows * s.k, src, &x_scale_, &x_zero_point_, x_signed_, memory,
                                 ctx.threads());
        g.a_scale = x_scale_;
        g.a_zero_point = x_zero_point_;
        break;
    }
    kernels::gemm_int8(weights_, g, memory + codes_bytes + 2 * row_bytes, ctx.threads());
  }

  std::string_view kernel() const override { return "gemm_int8"; }

 private:
  static int32_t integer_at(const Tensor& t, int64_t i) {
    switch (t.dtype()) {
      case DType::kInt8:
        return t.values<int8_t>()[static_cast<size_t>(i)];
      case DType::kUint8:
        return t.values<uint8_t>()[static_cast<size_t>(i)];
      default:
        fail(ErrorCode::kBadFile, "a zero point of type {} does not fit int8 arithmetic", to_string(t.dtype()));
    }
  }

  Unary activation_, final_activation_;
  ActivationScale mode_ = ActivationScale::kTensor;
  Tensor memory_;
  kernels::PackedInt8 weights_;
  std::vector<float> w_scales_;
  std::vector<int32_t> w_zero_points_;
  float x_scale_ = 1;
  int32_t x_zero_point_ = 0;
  bool x_signed_ = false;
};

const OpRegistration kLinear("assay", "Linear", 1,
                             [](const OpInit& init) -> std::unique_ptr<Op> { return std::make_unique<Linear>(init); });
const OpRegistration kLinearInt8("assay", "LinearInt8", 1, [](const OpInit& init) -> std::unique_ptr<Op> {
  return std::make_unique<LinearInt8>(init);
});

}  // namespace
}  // namespace assay
