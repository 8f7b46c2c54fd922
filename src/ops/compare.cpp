// Equal, Greater, Less and their or-equal forms: element-wise with broadcasting, to bool.

#include "ops/elementwise.h"

namespace assay {
namespace {

struct Equal {
  static constexpr std::string_view kName = "Equal";
  template <typename T>
  bool operator()(T a, T b) const {
    return a == b;
  }
};

struct Greater {
  static constexpr std::string_view kName = "Greater";
  template <typename T>
  bool operator()(T a, T b) const {
    return a > b;
  }
};

struct GreaterOrEqual {
  static constexpr std::string_view kName = "GreaterOrEqual";
  template <typename T>
  bool operator()(T a, T b) const {
    return a >= b;
  }
};

struct Less {
  static constexpr std::string_view kName = "Less";
  template <typename T>
  bool operator()(T a, T b) const {
    return a < b;
  }
};

struct LessOrEqual {
  static constexpr std::string_view kName = "LessOrEqual";
  template <typename T>
  bool operator()(T a, T b) const {
    return a <= b;
  }
};

// Equal also compares strings (from opset 19), which are no arithmetic type.
class EqualOp final : public Op {
 public:
  explicit EqualOp(const OpInit& init) : numbers_(init) {}

  void run(OpContext& ctx) const override {
    const TensorView& a = need_input(ctx, 0, "A");
    if (a.dtype != DType::kString) return numbers_.run(ctx);
    const TensorView& b = need_input(ctx, 1, "B");
    same_dtype(a, b);
    const Broadcast plan({&a.shape, &b.shape});
    const auto* pa = static_cast<const std::string*>(a.data);
    const auto* pb = static_cast<const std::string*>(b.data);
    bool* out = ctx.output(0, DType::kBool, plan.shape).as<bool>();
    for (int64_t r = 0; r < plan.rows(); ++r)
      for (int64_t i = 0; i < plan.inner(); ++i)
        *out++ = pa[plan.row_offset(0, r) + i * plan.inner_stride(0)] ==
                 pb[plan.row_offset(1, r) + i * plan.inner_stride(1)];
  }

 private:
  BinaryOp<Equal, Join<NumberTypes, Types<bool>>, bool> numbers_;
};

const OpRegistration kEqual{"", "Equal", 7, make_op<EqualOp>};
const OpRegistration kGreater{"", "Greater", 7, make_op<BinaryOp<Greater, NumberTypes, bool>>};
const OpRegistration kGreaterOrEqual{"", "GreaterOrEqual", 12, make_op<BinaryOp<GreaterOrEqual, NumberTypes, bool>>};
const OpRegistration kLess{"", "Less", 7, make_op<BinaryOp<Less, NumberTypes, bool>>};
const OpRegistration kLessOrEqual{"", "LessOrEqual", 12, make_op<BinaryOp<LessOrEqual, NumberTypes, bool>>};

}  // namespace
}  // namespace assay
