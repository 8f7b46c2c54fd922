// Cast, CastLike, BitCast.

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "ops/convert.h"

namespace assay {
namespace {

// Shortest text that reads back to the same number, integers of floats with ".0", as NumPy prints.
template <typename T>
std::string number_text(T v) {
  if constexpr (std::is_same_v<T, bool>) {
    return v ? "1" : "0";
  } else if constexpr (std::is_integral_v<T>) {
    return fmt::format("{}", v);
  } else {
    if (v != v) return "nan";
    if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
    std::string text = fmt::format("{}", v);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return text;
  }
}

void to_text(const TensorView& src, std::string* out) {
  dispatch(Join<NumberTypes, Types<bool>>{}, src.dtype, "Cast to string", [&]<typename T>() {
    const auto in = src.values<T>();
    for (size_t i = 0; i < in.size(); ++i) out[i] = number_text(static_cast<Compute<T>>(in[i]));
  });
}

bool looks_integral(const std::string& text) { return text.find_first_of(".eEnN") == std::string::npos; }

// Integers go through strtoll so that all 64 bits survive; the rest is a double.
void from_text(const TensorView& src, const MutableTensorView& dst, bool saturate) {
  const auto* in = static_cast<const std::string*>(src.data);
  for (int64_t i = 0; i < src.elements(); ++i) {
    const std::string& text = in[i];
    char* end = nullptr;
    TensorView one{DType::kFloat64, Shape{}, nullptr};
    double number = 0;
    int64_t integer = 0;
    if (is_integer(dst.dtype) && looks_integral(text)) {
      errno = 0;
      integer = std::strtoll(text.c_str(), &end, 10);
      require(errno == 0, ErrorCode::kInvalidArgument, "'{}' at element {} does not fit an int64", text, i);
      one = {DType::kInt64, Shape{}, &integer};
    } else {
      number = std::strtod(text.c_str(), &end);
      one.data = &number;
    }
    require(end != text.c_str() && *end == '\0', ErrorCode::kInvalidArgument, "'{}' at element {} is not a number",
            text, i);
    require(bits_of(dst.dtype) % 8 == 0, ErrorCode::kUnsupported, "Cast of strings to {}", to_string(dst.dtype));
    auto* bytes = static_cast<std::byte*>(dst.data) + i * (bits_of(dst.dtype) / 8);
    convert_elements(one, {dst.dtype, Shape{}, bytes}, saturate);
  }
}

class Cast final : public Op {
 public:
  Cast(const OpInit& init, bool like)
      : like_(like),
        saturate_(init.node.get_int("saturate", 1) != 0),
        round_mode_(init.node.get_string("round_mode", "up")) {
    if (like) return;
    const int64_t code = init.node.get_int("to", 0);
    const auto to = dtype_from_onnx(code);
    require(to.has_value(), ErrorCode::kInvalidArgument, "attribute 'to' holds {}, which is no element type", code);
    to_ = *to;
  }

  void run(OpContext& ctx) const override {
    const TensorView& x = need_input(ctx, 0, "input");
    const DType to = like_ ? need_input(ctx, 1, "target_type").dtype : to_;
    const MutableTensorView y = ctx.output(0, to, x.shape);
    if (x.dtype == to) {
      copy_tensor(x, y);
    } else if (to == DType::kString) {
      to_text(x, static_cast<std::string*>(y.data));
    } else if (x.dtype == DType::kString) {
      from_text(x, y, saturate_);
    } else {
      convert_elements(x, y, saturate_, round_mode_);
    }
  }

 private:
  bool like_;
  bool saturate_;
  std::string round_mode_;
  DType to_ = DType::kUndefined;
};

std::unique_ptr<Op> make_cast(const OpInit& init) { return std::make_unique<Cast>(init, false); }
std::unique_ptr<Op> make_cast_like(const OpInit& init) { return std::make_unique<Cast>(init, true); }

// The bits under another type of the same width.
class BitCast final : public Op {
 public:
  explicit BitCast(const OpInit& init) {
    const auto to = dtype_from_onnx(init.node.get_int("to", 0));
    require(to.has_value() && *to != DType::kString, ErrorCode::kInvalidArgument,
            "attribute 'to' names no type with bits");
    to_ = *to;
  }

  void run(OpContext& ctx) const override {
    const TensorView& x = need_input(ctx, 0, "input");
    require(x.dtype != DType::kString && bits_of(x.dtype) == bits_of(to_), ErrorCode::kInvalidArgument,
            "{} elements cannot be read as {}: their widths differ", to_string(x.dtype), to_string(to_));
    const MutableTensorView y = ctx.output(0, to_, x.shape);
    if (x.bytes() > 0) std::memcpy(y.data, x.data, static_cast<size_t>(x.bytes()));
  }

 private:
  DType to_;
};

const OpRegistration kCast{"", "Cast", 6, make_cast};
const OpRegistration kCastLike{"", "CastLike", 15, make_cast_like};
const OpRegistration kBitCast{"", "BitCast", 26, make_op<BitCast>};

}  // namespace
}  // namespace assay
