#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/error.h"

namespace assay {

/// a * b, or ResourceExhausted when it does not fit: for every size computed from a file.
template <std::integral T>
T checked_mul(T a, T b) {
  T r;
  if (__builtin_mul_overflow(a, b, &r)) fail(ErrorCode::kResourceExhausted, "size overflow: {} * {}", a, b);
  return r;
}

/// a + b, or ResourceExhausted when it does not fit.
template <std::integral T>
T checked_add(T a, T b) {
  T r;
  if (__builtin_add_overflow(a, b, &r)) fail(ErrorCode::kResourceExhausted, "size overflow: {} + {}", a, b);
  return r;
}

/// Value-preserving integer conversion, or InvalidArgument.
template <std::integral To, std::integral From>
To checked_cast(From v) {
  if (!std::in_range<To>(v)) fail(ErrorCode::kInvalidArgument, "value {} is out of range", v);
  return static_cast<To>(v);
}

}  // namespace assay
