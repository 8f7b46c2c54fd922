// Pow (any base and exponent type) and Mod (Python's or C's remainder).

#include <cmath>

#include "ops/convert.h"
#include "ops/elementwise.h"

namespace assay {
namespace {

// base^exponent in integers, wrapping; a negative exponent truncates 1/x towards zero.
template <typename T>
T integer_power(T base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if constexpr (std::is_signed_v<T>)
      if (base == -1) return exponent % 2 == 0 ? T{1} : T{-1};
    return 0;
  }
  T result = 1;
  const auto mul = [](auto x, auto y) { return x * y; };
  for (auto e = static_cast<uint64_t>(exponent); e != 0; e >>= 1) {
    if ((e & 1) != 0) result = wrapping(result, base, mul);
    base = wrapping(base, base, mul);
  }
  return result;
}

struct FloatPower {
  template <typename T>
  T operator()(T a, T b) const {
    if (b == T{2}) return a * a;  // the common case: squares in normalisations
    return std::pow(a, b);
  }
};

struct IntegerPower {
  template <typename T>
  T operator()(T a, int64_t b) const {
    return integer_power(a, b);
  }
};

struct IntegerToFloatPower {
  template <typename T>
  T operator()(T a, double b) const {
    return saturate_cast<T>(std::pow(static_cast<double>(a), b));
  }
};

// The exponent is brought to the one type each base computes with: its own for floats, int64 or double for integers.
void pow(const Node& /*node*/, OpContext& ctx) {
  const TensorView& a = need_input(ctx, 0, "X");
  const TensorView& b = need_input(ctx, 1, "Y");
  const Broadcast plan({&a.shape, &b.shape});
  const MutableTensorView y = ctx.output(0, a.dtype, plan.shape);
  const DType wanted = is_float(a.dtype) ? a.dtype : is_integer(b.dtype) ? DType::kInt64 : DType::kFloat64;
  TensorView exponent = b;
  if (b.dtype != wanted) {
    const MutableTensorView converted{wanted, b.shape, ctx.scratch(bytes_of(wanted, b.elements()))};
    convert_elements(b, converted, true);
    exponent = converted;
  }
  dispatch(Join<FloatTypes, Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t>>{}, a.dtype, "Pow",
           [&]<typename T>() {
             if constexpr (!std::is_integral_v<T>) {
               broadcast_binary(plan, a.as<T>(), exponent.as<T>(), y.as<T>(), ctx.threads(), FloatPower{});
             } else if (wanted == DType::kInt64) {
               broadcast_binary(plan, a.as<T>(), exponent.as<int64_t>(), y.as<T>(), ctx.threads(), IntegerPower{});
             } else {
               broadcast_binary(plan, a.as<T>(), exponent.as<double>(), y.as<T>(), ctx.threads(),
                                IntegerToFloatPower{});
             }
           });
}

struct Mod {
  static constexpr std::string_view kName = "Mod";
  explicit Mod(const Node& node) : fmod(node.get_int("fmod", 0) != 0) {}

  // The result takes the sign of b, or of a with fmod; x mod 0 is 0 for integers.
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return 0;
      if constexpr (std::is_signed_v<T>) {
        if (b == -1) return 0;
        const T r = static_cast<T>(a % b);
        return !fmod && r != 0 && (r < 0) != (b < 0) ? static_cast<T>(r + b) : r;
      } else {
        return static_cast<T>(a % b);
      }
    } else {
      const T r = std::fmod(a, b);
      if (fmod) return r;
      if (r == 0) return std::copysign(r, b);
      return (r < 0) != (b < 0) ? r + b : r;
    }
  }

  bool fmod;
};

const OpRegistration kPow{"", "Pow", 7, make_simple_op<pow>};
const OpRegistration kMod{"", "Mod", 10, make_op<BinaryOp<Mod, NumberTypes>>};

}  // namespace
}  // namespace assay
