#include "tensor/dtype.h"

#include <array>
#include <cmath>
#include <string>

#include "base/checked.h"

namespace assay {
namespace {

struct Row {
  std::string_view name;
  int bits;
};

// Indexed by ONNX code.
constexpr std::array<Row, 27> kTable = {{{"undefined", 0},      {"float32", 32},   {"uint8", 8},
                                         {"int8", 8},           {"uint16", 16},    {"int16", 16},
                                         {"int32", 32},         {"int64", 64},     {"string", 8 * sizeof(std::string)},
                                         {"bool", 8},           {"float16", 16},   {"float64", 64},
                                         {"uint32", 32},        {"uint64", 64},    {"complex64", 64},
                                         {"complex128", 128},   {"bfloat16", 16},  {"float8e4m3fn", 8},
                                         {"float8e4m3fnuz", 8}, {"float8e5m2", 8}, {"float8e5m2fnuz", 8},
                                         {"uint4", 4},          {"int4", 4},       {"float4e2m1", 4},
                                         {"float8e8m0", 8},     {"uint2", 2},      {"int2", 2}}};

}  // namespace

std::string_view to_string(DType dtype) { return kTable[static_cast<size_t>(dtype)].name; }

std::optional<DType> dtype_from_onnx(int64_t code) {
  if (code <= 0 || code >= static_cast<int64_t>(kTable.size())) return std::nullopt;
  return static_cast<DType>(code);
}

int bits_of(DType dtype) { return kTable[static_cast<size_t>(dtype)].bits; }

int64_t bytes_of(DType dtype, int64_t n) {
  return checked_add<int64_t>(checked_mul<int64_t>(n, bits_of(dtype)), 7) / 8;
}

bool is_float(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBfloat16 || dtype == DType::kFloat64;
}

bool is_integer(DType dtype) {
  switch (dtype) {
    case DType::kUint8:
    case DType::kInt8:
    case DType::kUint16:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kUint32:
    case DType::kUint64:
    case DType::kUint4:
    case DType::kInt4:
    case DType::kUint2:
    case DType::kInt2:
      return true;
    default:
      return false;
  }
}

bool is_signed(DType dtype) {
  switch (dtype) {
    case DType::kUint8:
    case DType::kUint16:
    case DType::kUint32:
    case DType::kUint64:
    case DType::kUint4:
    case DType::kUint2:
    case DType::kBool:
      return false;
    default:
      return true;
  }
}

Float16::Float16(float v) {
  const auto x = std::bit_cast<uint32_t>(v);
  const auto sign = static_cast<uint16_t>((x >> 16) & 0x8000u);
  const uint32_t magnitude = x & 0x7fffffffu;
  if (magnitude >= 0x7f800000u) {  // infinity or NaN (kept quiet)
    bits =
        static_cast<uint16_t>(sign | 0x7c00u | (magnitude > 0x7f800000u ? 0x0200u | ((magnitude >> 13) & 0x3ffu) : 0u));
    return;
  }
  if (magnitude >= 0x477ff000u) {  // rounds to 65536 or more
    bits = static_cast<uint16_t>(sign | 0x7c00u);
    return;
  }
  if (magnitude < 0x38800000u) {  // subnormal half: add a magic number so that the hardware rounds at the right bit
    const float shifted = std::bit_cast<float>(magnitude) + std::bit_cast<float>(uint32_t{0x3f000000});
    bits = static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
    return;
  }
  const uint32_t odd = (magnitude >> 13) & 1u;
  bits = static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
}

Float16::operator float() const {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fu;
  const uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0) {
    const float v = std::ldexp(static_cast<float>(mantissa), -24);
    return sign != 0 ? -v : v;
  }
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

Bfloat16::Bfloat16(float v) {
  const auto x = std::bit_cast<uint32_t>(v);
  if ((x & 0x7fffffffu) > 0x7f800000u) {
    bits = static_cast<uint16_t>((x >> 16) | 0x40u);
    return;
  }
  bits = static_cast<uint16_t>((x + 0x7fffu + ((x >> 16) & 1u)) >> 16);
}

}  // namespace assay
