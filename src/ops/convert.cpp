#include "ops/convert.h"

#include <bit>
#include <cstring>

namespace assay {
namespace {

// Formats of the 8- and 4-bit floats: "FP8 Formats for Deep Learning" (E4M3FN, E5M2), "8-bit Numerical Formats for Deep
// Neural Networks" (FNUZ), OCP Microscaling (E2M1).
struct SmallFloat {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  uint8_t max_code;  ///< of the largest finite number
  uint8_t nan_code;
  uint8_t infinity_code;  ///< nan_code where there is no infinity
  bool negative_zero;
};

SmallFloat format_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat8E4M3FN:
      return {4, 3, 7, 0x7e, 0x7f, 0x7f, true};
    case DType::kFloat8E4M3FNUZ:
      return {4, 3, 8, 0x7f, 0x80, 0x80, false};
    case DType::kFloat8E5M2:
      return {5, 2, 15, 0x7b, 0x7e, 0x7c, true};
    case DType::kFloat8E5M2FNUZ:
      return {5, 2, 16, 0x7f, 0x80, 0x80, false};
    case DType::kFloat4E2M1:
      return {2, 1, 1, 0x7, 0x8, 0x8, true};  // no NaN: it becomes -0
    default:
      fail(ErrorCode::kInternal, "{} is no small float", to_string(dtype));
  }
}

// double to float, rounded to odd: a second rounding (to float16, bfloat16) then gives what one rounding would.
float round_to_odd(double v) {
  const auto f = static_cast<float>(v);
  if (static_cast<double>(f) == v || v != v || std::isinf(f)) return f;
  uint32_t bits = std::bit_cast<uint32_t>(f);
  if ((bits & 1) == 0) bits += std::fabs(static_cast<double>(f)) < std::fabs(v) ? 1u : ~0u;
  return std::bit_cast<float>(bits);
}

constexpr int64_t kBlock = 256;

template <typename T, typename Mid>
void load(const void* src, int64_t begin, int64_t n, Mid* out) {
  const T* in = static_cast<const T*>(src) + begin;
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<Mid>(static_cast<Compute<T>>(in[i]));
}

template <typename T, typename Mid>
void store(const Mid* in, int64_t n, void* dst, int64_t begin) {
  T* out = static_cast<T*>(dst) + begin;
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (kIsHalf<T>) {
      out[i] = T(round_to_odd(static_cast<double>(in[i])));
    } else if constexpr (std::is_same_v<T, bool>) {
      out[i] = in[i] != 0;
    } else if constexpr (std::is_integral_v<T> && std::is_same_v<Mid, double>) {
      out[i] = saturate_cast<T>(in[i]);
    } else {
      out[i] = static_cast<T>(in[i]);
    }
  }
}

template <typename Mid>
void load_any(const TensorView& src, int64_t begin, int64_t n, Mid* out) {
  if (is_packed_integer(src.dtype)) {
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<Mid>(read_packed(src.data, src.dtype, begin + i));
  } else if (src.dtype == DType::kFloat4E2M1) {
    for (int64_t i = 0; i < n; ++i)
      out[i] = static_cast<Mid>(
          small_float_value(src.dtype, static_cast<uint8_t>(read_packed(src.data, DType::kUint4, begin + i))));
  } else if (is_small_float(src.dtype)) {
    const auto* codes = static_cast<const uint8_t*>(src.data) + begin;
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<Mid>(small_float_value(src.dtype, codes[i]));
  } else {
    dispatch(Join<NumberTypes, Types<bool>>{}, src.dtype, "Cast",
             [&]<typename T>() { load<T>(src.data, begin, n, out); });
  }
}

struct SmallFloatRules {
  bool saturate;
  std::string_view round_mode;
};

template <typename Mid>
void store_any(const Mid* in, int64_t n, const MutableTensorView& dst, int64_t begin, const SmallFloatRules& rules) {
  if (is_packed_integer(dst.dtype)) {
    for (int64_t i = 0; i < n; ++i) {
      if constexpr (std::is_same_v<Mid, double>) {
        write_packed(dst.data, dst.dtype, begin + i, saturate_cast<int32_t>(in[i]));
      } else {
        write_packed(dst.data, dst.dtype, begin + i, static_cast<int32_t>(in[i] & 0xff));
      }
    }
  } else if (is_small_float(dst.dtype)) {
    auto* codes = static_cast<uint8_t*>(dst.data);
    for (int64_t i = 0; i < n; ++i) {
      const float v = round_to_odd(static_cast<double>(in[i]));
      if (dst.dtype == DType::kFloat4E2M1) {
        write_packed(dst.data, DType::kUint4, begin + i, small_float_code(dst.dtype, v, true));
      } else if (dst.dtype == DType::kFloat8E8M0) {
        codes[begin + i] = e8m0_code(v, rules.saturate, rules.round_mode);
      } else {
        codes[begin + i] = small_float_code(dst.dtype, v, rules.saturate);
      }
    }
  } else {
    dispatch(Join<NumberTypes, Types<bool>>{}, dst.dtype, "Cast",
             [&]<typename T>() { store<T>(in, n, dst.data, begin); });
  }
}

// Through the widest type of the source's kind, a block at a time: 15 loads and 3 * 15 stores instead of 225 pairs.
template <typename Mid>
void convert_through(const TensorView& src, const MutableTensorView& dst, const SmallFloatRules& rules) {
  std::array<Mid, kBlock> block;
  const int64_t total = src.elements();
  for (int64_t begin = 0; begin < total; begin += kBlock) {
    const int64_t n = std::min(kBlock, total - begin);
    load_any(src, begin, n, block.data());
    store_any(block.data(), n, dst, begin, rules);
  }
}

}  // namespace

bool is_small_float(DType dtype) {
  switch (dtype) {
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E4M3FNUZ:
    case DType::kFloat8E5M2:
    case DType::kFloat8E5M2FNUZ:
    case DType::kFloat8E8M0:
    case DType::kFloat4E2M1:
      return true;
    default:
      return false;
  }
}

bool is_packed_integer(DType dtype) {
  return dtype == DType::kInt4 || dtype == DType::kUint4 || dtype == DType::kInt2 || dtype == DType::kUint2;
}

int32_t read_packed(const void* data, DType dtype, int64_t i) {
  const int bits = bits_of(dtype);
  const int per_byte = 8 / bits;
  const int shift = static_cast<int>(i % per_byte) * bits;
  const int mask = (1 << bits) - 1;
  const int raw = (static_cast<const uint8_t*>(data)[i / per_byte] >> shift) & mask;
  return is_signed(dtype) && raw > mask / 2 ? raw - mask - 1 : raw;
}

void write_packed(void* data, DType dtype, int64_t i, int32_t value) {
  const int bits = bits_of(dtype);
  const int per_byte = 8 / bits;
  const int shift = static_cast<int>(i % per_byte) * bits;
  const int mask = ((1 << bits) - 1) << shift;
  uint8_t& byte = static_cast<uint8_t*>(data)[i / per_byte];
  byte = static_cast<uint8_t>((byte & ~mask) | (static_cast<int>(static_cast<uint32_t>(value) << shift) & mask));
}

float small_float_value(DType dtype, uint8_t code) {
  if (dtype == DType::kFloat8E8M0) {
    return code == 0xff ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.0f, static_cast<int>(code) - 127);
  }
  const SmallFloat f = format_of(dtype);
  const int sign_bit = 1 << (f.exponent_bits + f.mantissa_bits);
  const int magnitude = code & (sign_bit - 1);
  const bool negative = (code & sign_bit) != 0;
  float v = 0;
  if (!f.negative_zero && code == f.nan_code) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  if (magnitude > f.max_code) {
    v = f.infinity_code != f.nan_code && magnitude == f.infinity_code ? std::numeric_limits<float>::infinity()
                                                                      : std::numeric_limits<float>::quiet_NaN();
  } else {
    const int exponent = magnitude >> f.mantissa_bits;
    const int fraction = magnitude & ((1 << f.mantissa_bits) - 1);
    v = exponent == 0
            ? std::ldexp(static_cast<float>(fraction), 1 - f.bias - f.mantissa_bits)
            : std::ldexp(static_cast<float>(fraction + (1 << f.mantissa_bits)), exponent - f.bias - f.mantissa_bits);
  }
  return negative ? -v : v;
}

uint8_t small_float_code(DType dtype, float value, bool saturate) {
  const SmallFloat f = format_of(dtype);
  const int sign = std::signbit(value) ? 1 << (f.exponent_bits + f.mantissa_bits) : 0;
  if (value != value) return static_cast<uint8_t>(f.negative_zero ? f.nan_code | sign : f.nan_code);
  const float magnitude = std::fabs(value);
  int code = f.max_code + 1;
  if (!std::isinf(magnitude)) {
    const int exponent = std::max(magnitude == 0 ? 1 - f.bias : std::ilogb(magnitude), 1 - f.bias);
    const auto quanta = static_cast<int>(std::nearbyint(std::ldexp(magnitude, f.mantissa_bits - exponent)));
    if (exponent + f.bias - 1 < 1 << f.exponent_bits) code = ((exponent + f.bias - 1) << f.mantissa_bits) + quanta;
  }
  if (code > f.max_code) {
    if (saturate) {
      code = f.max_code;
    } else if (!f.negative_zero) {
      return f.nan_code;
    } else {
      code = f.infinity_code;
    }
  }
  if (code == 0 && !f.negative_zero) return 0;
  return static_cast<uint8_t>(code | sign);
}

uint8_t e8m0_code(float value, bool saturate, std::string_view round_mode) {
  constexpr uint8_t kNan = 0xff;
  if (value != value) return kNan;
  const float magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return saturate ? uint8_t{0xfe} : kNan;
  if (magnitude == 0) return saturate ? uint8_t{0} : kNan;
  int exponent = std::ilogb(magnitude);
  const float power = std::ldexp(1.0f, exponent);
  if (round_mode == "up") {
    if (magnitude > power) ++exponent;
  } else if (round_mode == "nearest") {
    if (magnitude >= 1.5f * power) ++exponent;
  } else {
    require(round_mode == "down", ErrorCode::kInvalidArgument, "round_mode must be up, down or nearest, not '{}'",
            round_mode);
  }
  const int code = exponent + 127;
  if (code < 0) return saturate ? uint8_t{0} : kNan;
  if (code > 0xfe) return saturate ? uint8_t{0xfe} : kNan;
  return static_cast<uint8_t>(code);
}

void convert_elements(const TensorView& src, const MutableTensorView& dst, bool saturate, std::string_view round_mode) {
  if (src.dtype == dst.dtype) return copy_tensor(src, dst);
  // Packed elements are written bit by bit: the last byte's spare ones are zero.
  if (bits_of(dst.dtype) < 8) std::memset(dst.data, 0, static_cast<size_t>(dst.bytes()));
  const SmallFloatRules rules{saturate, round_mode};
  if (src.dtype == DType::kUint64) {
    convert_through<uint64_t>(src, dst, rules);
  } else if (is_integer(src.dtype) || src.dtype == DType::kBool) {
    convert_through<int64_t>(src, dst, rules);
  } else {
    convert_through<double>(src, dst, rules);
  }
}

}  // namespace assay
