// Add, Sub, Mul, Div: element-wise with broadcasting, every number type.

#include <limits>

#include "ops/elementwise.h"

namespace assay {
namespace {

struct Add {
  static constexpr std::string_view kName = "Add";
  template <typename T>
  T operator()(T a, T b) const {
    return wrapping(a, b, [](auto x, auto y) { return x + y; });
  }
};

struct Sub {
  static constexpr std::string_view kName = "Sub";
  template <typename T>
  T operator()(T a, T b) const {
    return wrapping(a, b, [](auto x, auto y) { return x - y; });
  }
};

struct Mul {
  static constexpr std::string_view kName = "Mul";
  template <typename T>
  T operator()(T a, T b) const {
    return wrapping(a, b, [](auto x, auto y) { return x * y; });
  }
};

// Integers truncate towards zero; where the machine would trap, x / 0 is 0 and the lowest number / -1 wraps.
struct Div {
  static constexpr std::string_view kName = "Div";
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return 0;
      if constexpr (std::is_signed_v<T>)
        if (b == -1) return wrapping(T{0}, a, [](auto x, auto y) { return x - y; });
    }
    return static_cast<T>(a / b);
  }
};

const OpRegistration kAdd{"", "Add", 7, make_op<BinaryOp<Add, NumberTypes>>};
const OpRegistration kSub{"", "Sub", 7, make_op<BinaryOp<Sub, NumberTypes>>};
const OpRegistration kMul{"", "Mul", 7, make_op<BinaryOp<Mul, NumberTypes>>};
const OpRegistration kDiv{"", "Div", 7, make_op<BinaryOp<Div, NumberTypes>>};

}  // namespace
}  // namespace assay
