// Activation functions, by the formulas of the ONNX operator pages.

#include <cmath>

#include "ops/elementwise.h"

namespace assay {
namespace {

template <typename T>
T sigmoid(T x) {
  // The form whose exponential cannot overflow.
  if (x >= 0) return T{1} / (T{1} + std::exp(-x));
  const T e = std::exp(x);
  return e / (T{1} + e);
}

template <typename T>
T softplus(T x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

struct Sigmoid {
  static constexpr std::string_view kName = "Sigmoid";
  static constexpr kernels::Unary kKernel = kernels::Unary::kSigmoid;
  template <typename T>
  T operator()(T x) const {
    return sigmoid(x);
  }
};

struct Tanh {
  static constexpr std::string_view kName = "Tanh";
  static constexpr kernels::Unary kKernel = kernels::Unary::kTanh;
  template <typename T>
  T operator()(T x) const {
    return std::tanh(x);
  }
};

struct Relu {
  static constexpr std::string_view kName = "Relu";
  static constexpr kernels::Unary kKernel = kernels::Unary::kRelu;
  template <typename T>
  T operator()(T x) const {
    return x < 0 ? T{0} : x;
  }
};

struct LeakyRelu {
  static constexpr std::string_view kName = "LeakyRelu";
  explicit LeakyRelu(const Node& node) : alpha(node.get_float("alpha", 0.01f)) {}
  template <typename T>
  T operator()(T x) const {
    return x < 0 ? static_cast<T>(alpha) * x : x;
  }
  float alpha;
};

struct ThresholdedRelu {
  static constexpr std::string_view kName = "ThresholdedRelu";
  explicit ThresholdedRelu(const Node& node) : alpha(node.get_float("alpha", 1.0f)) {}
  template <typename T>
  T operator()(T x) const {
    return x > static_cast<T>(alpha) ? x : T{0};
  }
  float alpha;
};

struct Elu {
  static constexpr std::string_view kName = "Elu";
  explicit Elu(const Node& node) : alpha(node.get_float("alpha", 1.0f)) {}
  template <typename T>
  T operator()(T x) const {
    return x < 0 ? static_cast<T>(alpha) * std::expm1(x) : x;
  }
  float alpha;
};

struct Selu {
  static constexpr std::string_view kName = "Selu";
  explicit Selu(const Node& node)
      : alpha(node.get_float("alpha", 1.67326319217681884765625f)),
        gamma(node.get_float("gamma", 1.05070102214813232421875f)) {}
  template <typename T>
  T operator()(T x) const {
    return static_cast<T>(gamma) * (x > 0 ? x : static_cast<T>(alpha) * std::expm1(x));
  }
  float alpha, gamma;
};

struct Celu {
  static constexpr std::string_view kName = "Celu";
  explicit Celu(const Node& node) : alpha(node.get_float("alpha", 1.0f)) {}
  template <typename T>
  T operator()(T x) const {
    const auto a = static_cast<T>(alpha);
    return x > 0 ? x : a * std::expm1(x / a);
  }
  float alpha;
};

struct HardSigmoid {
  static constexpr std::string_view kName = "HardSigmoid";
  explicit HardSigmoid(const Node& node) : alpha(node.get_float("alpha", 0.2f)), beta(node.get_float("beta", 0.5f)) {}
  template <typename T>
  T operator()(T x) const {
    const T v = static_cast<T>(alpha) * x + static_cast<T>(beta);
    return v < 0 ? T{0} : v > 1 ? T{1} : v;
  }
  float alpha, beta;
};

struct HardSwish {
  static constexpr std::string_view kName = "HardSwish";
  template <typename T>
  T operator()(T x) const {
    const T v = x / T{6} + T{0.5};
    return x * (v < 0 ? T{0} : v > 1 ? T{1} : v);
  }
};

struct Mish {
  static constexpr std::string_view kName = "Mish";
  template <typename T>
  T operator()(T x) const {
    return x * std::tanh(softplus(x));
  }
};

struct Softplus {
  static constexpr std::string_view kName = "Softplus";
  template <typename T>
  T operator()(T x) const {
    return softplus(x);
  }
};

struct Softsign {
  static constexpr std::string_view kName = "Softsign";
  template <typename T>
  T operator()(T x) const {
    return x / (T{1} + std::fabs(x));
  }
};

struct Swish {
  static constexpr std::string_view kName = "Swish";
  explicit Swish(const Node& node) : alpha(node.get_float("alpha", 1.0f)) {}
  template <typename T>
  T operator()(T x) const {
    return x * sigmoid(static_cast<T>(alpha) * x);
  }
  float alpha;
};

struct Shrink {
  static constexpr std::string_view kName = "Shrink";
  explicit Shrink(const Node& node) : bias(node.get_float("bias", 0.0f)), lambda(node.get_float("lambd", 0.5f)) {}
  template <typename T>
  T operator()(T x) const {
    const auto v = static_cast<double>(x);
    if (v < -lambda) return static_cast<T>(v + bias);
    if (v > lambda) return static_cast<T>(v - bias);
    return T{0};
  }
  float bias, lambda;
};

struct GeluErf {
  static constexpr std::string_view kName = "Gelu";
  static constexpr kernels::Unary kKernel = kernels::Unary::kGeluErf;
  template <typename T>
  T operator()(T x) const {
    return T{0.5} * x * (T{1} + std::erf(x * static_cast<T>(0.70710678118654752440)));
  }
};

struct GeluTanh {
  static constexpr std::string_view kName = "Gelu";
  static constexpr kernels::Unary kKernel = kernels::Unary::kGeluTanh;
  template <typename T>
  T operator()(T x) const {
    const T inner = static_cast<T>(0.79788456080286535588) * (x + static_cast<T>(0.044715) * x * x * x);
    return T{0.5} * x * (T{1} + std::tanh(inner));
  }
};

std::unique_ptr<Op> make_gelu(const OpInit& init) {
  const std::string approximate = init.node.get_string("approximate", "none");
  require(approximate == "none" || approximate == "tanh", ErrorCode::kInvalidArgument,
          "approximate must be none or tanh, not '{}'", approximate);
  if (approximate == "tanh") return std::make_unique<UnaryOp<GeluTanh, FloatTypes>>(init);
  return std::make_unique<UnaryOp<GeluErf, FloatTypes>>(init);
}

struct PRelu {
  static constexpr std::string_view kName = "PRelu";
  template <typename T>
  T operator()(T x, T slope) const {
    return x < 0 ? static_cast<T>(x * slope) : x;
  }
};

struct SwiGlu {
  static constexpr std::string_view kName = "SwiGLU";
  explicit SwiGlu(const Node& node) : swish(node) {}
  template <typename T>
  T operator()(T a, T b) const {
    return swish(a) * b;
  }
  Swish swish;
};

// swish(a) * b, without broadcasting.
class SwiGluOp final : public Op {
 public:
  explicit SwiGluOp(const OpInit& init) : product_(init) {}
  void run(OpContext& ctx) const override {
    require(need_input(ctx, 0, "A").shape == need_input(ctx, 1, "B").shape, ErrorCode::kInvalidArgument,
            "A {} and B {} must have one shape", ctx.input(0).shape, ctx.input(1).shape);
    product_.run(ctx);
  }

 private:
  BinaryOp<SwiGlu, FloatTypes> product_;
};

// Integer Relu goes without the kernel's float path; everything else is float only.
const OpRegistration kSigmoid{"", "Sigmoid", 6, make_op<UnaryOp<Sigmoid, FloatTypes>>};
const OpRegistration kTanh{"", "Tanh", 6, make_op<UnaryOp<Tanh, FloatTypes>>};
const OpRegistration kRelu{"", "Relu", 6, make_op<UnaryOp<Relu, Join<FloatTypes, SignedTypes>>>};
const OpRegistration kLeakyRelu{"", "LeakyRelu", 6, make_op<UnaryOp<LeakyRelu, FloatTypes>>};
const OpRegistration kThresholdedRelu{"", "ThresholdedRelu", 10, make_op<UnaryOp<ThresholdedRelu, FloatTypes>>};
const OpRegistration kElu{"", "Elu", 6, make_op<UnaryOp<Elu, FloatTypes>>};
const OpRegistration kSelu{"", "Selu", 6, make_op<UnaryOp<Selu, FloatTypes>>};
const OpRegistration kCelu{"", "Celu", 12, make_op<UnaryOp<Celu, FloatTypes>>};
const OpRegistration kHardSigmoid{"", "HardSigmoid", 6, make_op<UnaryOp<HardSigmoid, FloatTypes>>};
const OpRegistration kHardSwish{"", "HardSwish", 14, make_op<UnaryOp<HardSwish, FloatTypes>>};
const OpRegistration kMish{"", "Mish", 18, make_op<UnaryOp<Mish, FloatTypes>>};
const OpRegistration kSoftplus{"", "Softplus", 1, make_op<UnaryOp<Softplus, FloatTypes>>};
const OpRegistration kSoftsign{"", "Softsign", 1, make_op<UnaryOp<Softsign, FloatTypes>>};
const OpRegistration kSwish{"", "Swish", 24, make_op<UnaryOp<Swish, FloatTypes>>};
const OpRegistration kSwiGlu{"", "SwiGLU", 28, make_op<SwiGluOp>};
const OpRegistration kShrink{"", "Shrink", 9, make_op<UnaryOp<Shrink, NumberTypes>>};
const OpRegistration kGelu{"", "Gelu", 20, make_gelu};
const OpRegistration kPRelu{"", "PRelu", 7,
                            make_op<BinaryOp<PRelu, Join<FloatTypes, Types<int32_t, int64_t, uint32_t, uint64_t>>>>};

}  // namespace
}  // namespace assay
