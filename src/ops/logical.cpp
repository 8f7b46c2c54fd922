// And, Or, Xor, Not on booleans; their bitwise forms and BitShift on integers.

#include "ops/elementwise.h"

namespace assay {
namespace {

struct And {
  static constexpr std::string_view kName = "And";
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};

struct Or {
  static constexpr std::string_view kName = "Or";
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};

struct Xor {
  static constexpr std::string_view kName = "Xor";
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};

struct Not {
  static constexpr std::string_view kName = "Not";
  bool operator()(bool a) const { return !a; }
};

struct BitwiseNot {
  static constexpr std::string_view kName = "BitwiseNot";
  template <typename T>
  T operator()(T a) const {
    return static_cast<T>(~a);
  }
};

// Shifting by the width or more gives what is left of the number: 0, or all sign bits of a negative one.
struct BitShift {
  static constexpr std::string_view kName = "BitShift";
  explicit BitShift(const Node& node) : left(node.get_string("direction", "") == "LEFT") {
    const std::string direction = node.get_string("direction", "");
    require(direction == "LEFT" || direction == "RIGHT", ErrorCode::kInvalidArgument,
            "direction must be LEFT or RIGHT, not '{}'", direction);
  }
  template <typename T>
  T operator()(T a, T b) const {
    constexpr auto kBits = static_cast<T>(8 * sizeof(T));
    const bool beyond = b < 0 || b >= kBits;
    if (left) return beyond ? T{0} : wrapping(a, b, [](auto x, auto y) { return x << y; });
    if (beyond) return a < 0 ? static_cast<T>(-1) : T{0};
    return static_cast<T>(a >> b);
  }

  bool left;
};

const OpRegistration kAnd{"", "And", 7, make_op<BinaryOp<And, Types<bool>>>};
const OpRegistration kOr{"", "Or", 7, make_op<BinaryOp<Or, Types<bool>>>};
const OpRegistration kXor{"", "Xor", 7, make_op<BinaryOp<Xor, Types<bool>>>};
const OpRegistration kNot{"", "Not", 1, make_op<UnaryOp<Not, Types<bool>>>};
const OpRegistration kBitwiseAnd{"", "BitwiseAnd", 18, make_op<BinaryOp<And, IntTypes>>};
const OpRegistration kBitwiseOr{"", "BitwiseOr", 18, make_op<BinaryOp<Or, IntTypes>>};
const OpRegistration kBitwiseXor{"", "BitwiseXor", 18, make_op<BinaryOp<Xor, IntTypes>>};
const OpRegistration kBitwiseNot{"", "BitwiseNot", 18, make_op<UnaryOp<BitwiseNot, IntTypes>>};
const OpRegistration kBitShift{"", "BitShift", 11, make_op<BinaryOp<BitShift, IntTypes>>};

}  // namespace
}  // namespace assay
