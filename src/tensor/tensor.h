#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace assay {

/// A typed, shaped, read-only window on memory somebody else keeps alive. Row-major, contiguous.
struct TensorView {
  DType dtype = DType::kUndefined;
  Shape shape;
  const void* data = nullptr;

  int64_t elements() const { return shape.elements(); }
  int64_t bytes() const { return bytes_of(dtype, elements()); }
  template <typename T>
  const T* as() const {
    require(dtype == kDTypeOf<T>, ErrorCode::kInvalidArgument, "a {} tensor was read as {}", to_string(dtype),
            to_string(kDTypeOf<T>));
    return static_cast<const T*>(data);
  }
  template <typename T>
  std::span<const T> values() const {
    return {as<T>(), static_cast<size_t>(elements())};
  }
  explicit operator bool() const { return dtype != DType::kUndefined; }
};

/// The same, writable.
struct MutableTensorView {
  DType dtype = DType::kUndefined;
  Shape shape;
  void* data = nullptr;

  int64_t elements() const { return shape.elements(); }
  int64_t bytes() const { return bytes_of(dtype, elements()); }
  template <typename T>
  T* as() const {
    require(dtype == kDTypeOf<T>, ErrorCode::kInvalidArgument, "a {} tensor was written as {}", to_string(dtype),
            to_string(kDTypeOf<T>));
    return static_cast<T*>(data);
  }
  template <typename T>
  std::span<T> values() const {
    return {as<T>(), static_cast<size_t>(elements())};
  }
  operator TensorView() const { return {dtype, shape, data}; }
};

/// A tensor that keeps its memory alive: owned (64-byte aligned, zeroed), or a window on a keeper such as a mapped
/// file. Copies share the memory; content is treated as immutable once shared.
class Tensor {
 public:
  Tensor() = default;
  /// Owned, zero-filled (strings empty).
  Tensor(DType dtype, const Shape& shape);
  /// A window on `data`, kept alive by `keeper` (may be null when the memory outlives everything).
  Tensor(DType dtype, const Shape& shape, const void* data, std::shared_ptr<const void> keeper);

  template <typename T>
  static Tensor from(const Shape& shape, std::span<const T> values) {
    Tensor t(kDTypeOf<T>, shape);
    require(static_cast<int64_t>(values.size()) == shape.elements(), ErrorCode::kInvalidArgument,
            "{} values do not fill shape {}", values.size(), shape);
    std::copy(values.begin(), values.end(), t.mutable_view().template as<T>());
    return t;
  }
  template <typename T>
  static Tensor from(const Shape& shape, std::initializer_list<T> values) {
    return from<T>(shape, std::span<const T>(values.begin(), values.size()));
  }
  template <typename T>
  static Tensor scalar(T value) {
    return from<T>(Shape{}, std::span<const T>(&value, 1));
  }
  static Tensor strings(const Shape& shape, std::vector<std::string> values);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t elements() const { return shape_.elements(); }
  int64_t bytes() const { return bytes_of(dtype_, elements()); }
  const void* data() const { return data_; }
  std::span<const std::byte> raw() const {
    return {static_cast<const std::byte*>(data_), static_cast<size_t>(bytes())};
  }
  template <typename T>
  std::span<const T> values() const {
    return view().values<T>();
  }
  /// Element i of a string tensor.
  const std::string& string_at(int64_t i) const { return static_cast<const std::string*>(data_)[i]; }

  TensorView view() const { return {dtype_, shape_, data_}; }
  operator TensorView() const { return view(); }
  /// Writable view of memory this tensor owns; Internal when it is a window on somebody else's.
  MutableTensorView mutable_view();
  /// The same memory under another shape of as many elements.
  Tensor reshaped(const Shape& shape) const;
  explicit operator bool() const { return dtype_ != DType::kUndefined; }

 private:
  DType dtype_ = DType::kUndefined;
  bool owned_ = false;
  Shape shape_;
  const void* data_ = nullptr;
  std::shared_ptr<const void> keeper_;
};

/// A copy of a numeric tensor as float32 (float16, bfloat16, float64 and integers converted; int4 and float8 refused).
Tensor to_float32(const TensorView& t);

}  // namespace assay
