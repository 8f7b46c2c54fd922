// Abs, Neg, Sign, roots, exponentials, rounding and the trigonometric family.

#include <cmath>

#include "ops/elementwise.h"

namespace assay {
namespace {

struct Abs {
  static constexpr std::string_view kName = "Abs";
  template <typename T>
  T operator()(T x) const {
    if constexpr (std::is_unsigned_v<T>) {
      return x;
    } else if constexpr (std::is_integral_v<T>) {
      return x < 0 ? wrapping(T{0}, x, [](auto a, auto b) { return a - b; }) : x;
    } else {
      return std::fabs(x);
    }
  }
};

struct Neg {
  static constexpr std::string_view kName = "Neg";
  template <typename T>
  T operator()(T x) const {
    if constexpr (std::is_integral_v<T>) {
      return wrapping(T{0}, x, [](auto a, auto b) { return a - b; });
    } else {
      return -x;
    }
  }
};

struct Sign {
  static constexpr std::string_view kName = "Sign";
  template <typename T>
  T operator()(T x) const {
    if constexpr (!std::is_integral_v<T>)
      if (x != x) return x;
    return static_cast<T>(static_cast<int>(x > 0) - static_cast<int>(x < 0));
  }
};

#define ASSAY_FLOAT_FUNCTION(Name, expression)       \
  struct Name {                                      \
    static constexpr std::string_view kName = #Name; \
    template <typename T>                            \
    T operator()(T x) const {                        \
      return static_cast<T>(expression);             \
    }                                                \
  };                                                 \
  const OpRegistration k##Name { "", #Name, 6, make_op<UnaryOp<Name, FloatTypes>> }

ASSAY_FLOAT_FUNCTION(Ceil, std::ceil(x));
ASSAY_FLOAT_FUNCTION(Floor, std::floor(x));
ASSAY_FLOAT_FUNCTION(Round, std::nearbyint(x));
ASSAY_FLOAT_FUNCTION(Sqrt, std::sqrt(x));
ASSAY_FLOAT_FUNCTION(Reciprocal, T{1} / x);
ASSAY_FLOAT_FUNCTION(Log, std::log(x));
ASSAY_FLOAT_FUNCTION(Sin, std::sin(x));
ASSAY_FLOAT_FUNCTION(Cos, std::cos(x));
ASSAY_FLOAT_FUNCTION(Tan, std::tan(x));
ASSAY_FLOAT_FUNCTION(Asin, std::asin(x));
ASSAY_FLOAT_FUNCTION(Acos, std::acos(x));
ASSAY_FLOAT_FUNCTION(Atan, std::atan(x));
ASSAY_FLOAT_FUNCTION(Sinh, std::sinh(x));
ASSAY_FLOAT_FUNCTION(Cosh, std::cosh(x));
ASSAY_FLOAT_FUNCTION(Asinh, std::asinh(x));
ASSAY_FLOAT_FUNCTION(Acosh, std::acosh(x));
ASSAY_FLOAT_FUNCTION(Atanh, std::atanh(x));
#undef ASSAY_FLOAT_FUNCTION

struct Exp {
  static constexpr std::string_view kName = "Exp";
  static constexpr kernels::Unary kKernel = kernels::Unary::kExp;
  template <typename T>
  T operator()(T x) const {
    return std::exp(x);
  }
};

struct Erf {
  static constexpr std::string_view kName = "Erf";
  static constexpr kernels::Unary kKernel = kernels::Unary::kErf;
  template <typename T>
  T operator()(T x) const {
    return static_cast<T>(std::erf(x));
  }
};

// y = isnan(x) or isinf(x), to bool.
template <typename F>
class TestOp final : public Op {
 public:
  explicit TestOp(const OpInit& init) : f_(init.node) {}

  void run(OpContext& ctx) const override {
    const TensorView& x = need_input(ctx, 0, "X");
    dispatch(FloatTypes{}, x.dtype, F::kName, [&]<typename T>() {
      const T* in = x.as<T>();
      bool* out = ctx.output(0, DType::kBool, x.shape).as<bool>();
      for (int64_t i = 0; i < x.elements(); ++i) out[i] = f_(static_cast<double>(static_cast<Compute<T>>(in[i])));
    });
  }

 private:
  F f_;
};

struct IsNaN {
  static constexpr std::string_view kName = "IsNaN";
  explicit IsNaN(const Node& /*node*/) {}
  bool operator()(double x) const { return std::isnan(x); }
};

struct IsInf {
  static constexpr std::string_view kName = "IsInf";
  explicit IsInf(const Node& node)
      : negative(node.get_int("detect_negative", 1) != 0), positive(node.get_int("detect_positive", 1) != 0) {}
  bool operator()(double x) const { return std::isinf(x) && (x < 0 ? negative : positive); }
  bool negative, positive;
};

const OpRegistration kAbs{"", "Abs", 6, make_op<UnaryOp<Abs, NumberTypes>>};
const OpRegistration kNeg{"", "Neg", 6, make_op<UnaryOp<Neg, Join<FloatTypes, SignedTypes>>>};
const OpRegistration kSign{"", "Sign", 9, make_op<UnaryOp<Sign, NumberTypes>>};
const OpRegistration kExp{"", "Exp", 6, make_op<UnaryOp<Exp, FloatTypes>>};
const OpRegistration kErf{"", "Erf", 9, make_op<UnaryOp<Erf, NumberTypes>>};
const OpRegistration kIsNaN{"", "IsNaN", 9, make_op<TestOp<IsNaN>>};
const OpRegistration kIsInf{"", "IsInf", 10, make_op<TestOp<IsInf>>};

}  // namespace
}  // namespace assay
