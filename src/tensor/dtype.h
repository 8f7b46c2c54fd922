#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace assay {

/// Element types; the numbers are ONNX TensorProto.DataType's.
enum class DType : uint8_t {
  kUndefined = 0,
  kFloat32 = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kFloat64 = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBfloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26
};

/// "float32", "uint8", ...: the names used in reports and JSON.
std::string_view to_string(DType dtype);
/// The type of an ONNX code, or nothing when the code is unknown.
std::optional<DType> dtype_from_onnx(int64_t code);
/// Bits of one element (4 for int4; a string counts as sizeof(std::string), its in-memory handle).
int bits_of(DType dtype);
/// Bytes that hold n elements, sub-byte types packed two (or four) a byte. Checked.
int64_t bytes_of(DType dtype, int64_t n);
/// float16, bfloat16, float32, float64 (not the 8- and 4-bit storage types).
bool is_float(DType dtype);
bool is_integer(DType dtype);
bool is_signed(DType dtype);

/// IEEE half, stored; arithmetic is done in float.
struct Float16 {
  uint16_t bits = 0;
  Float16() = default;
  explicit Float16(float v);
  explicit operator float() const;
};

/// bfloat16, stored; conversion rounds to nearest even, NaN stays NaN.
struct Bfloat16 {
  uint16_t bits = 0;
  Bfloat16() = default;
  explicit Bfloat16(float v);
  explicit operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

template <typename T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType kValue = DType::kFloat32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType kValue = DType::kFloat64;
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType kValue = DType::kUint8;
};
template <>
struct DTypeOf<int8_t> {
  static constexpr DType kValue = DType::kInt8;
};
template <>
struct DTypeOf<uint16_t> {
  static constexpr DType kValue = DType::kUint16;
};
template <>
struct DTypeOf<int16_t> {
  static constexpr DType kValue = DType::kInt16;
};
template <>
struct DTypeOf<uint32_t> {
  static constexpr DType kValue = DType::kUint32;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType kValue = DType::kInt32;
};
template <>
struct DTypeOf<uint64_t> {
  static constexpr DType kValue = DType::kUint64;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType kValue = DType::kInt64;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType kValue = DType::kBool;
};
template <>
struct DTypeOf<Float16> {
  static constexpr DType kValue = DType::kFloat16;
};
template <>
struct DTypeOf<Bfloat16> {
  static constexpr DType kValue = DType::kBfloat16;
};

template <typename T>
constexpr DType kDTypeOf = DTypeOf<T>::kValue;

}  // namespace assay
