#pragma once

#include "ops/support.h"

namespace assay {

/// How a tensor is walked to reduce some of its axes: adjacent dimensions that are reduced (or kept) together are
/// merged, so that most reductions become [outer, reduced], [reduced, inner] or [outer, reduced, inner].
struct ReduceWalk {
  /// Axes may be negative and in any order; InvalidArgument for one outside the rank or named twice.
  ReduceWalk(const Shape& shape, const SmallInts& axes);

  /// The result's shape, reduced dimensions kept as 1 or dropped.
  Shape result(bool keepdims) const;

  Shape shape;
  std::array<bool, kMaxRank> reduces{};
  SmallInts kept_dims, kept_strides;        ///< merged, kept dimensions but `inner`
  SmallInts reduced_dims, reduced_strides;  ///< merged, reduced dimensions
  int64_t inner = 1;                        ///< trailing kept dimension, stride 1 (1 when the last one is reduced)
  int64_t kept = 1;                         ///< product of kept_dims
  int64_t reduced = 1;                      ///< elements reduced into one

  static int64_t offset(const SmallInts& dims, const SmallInts& strides, int64_t index) {
    int64_t at = 0;
    for (int d = dims.n - 1; d >= 0; --d) {
      at += index % dims[d] * strides[d];
      index /= dims[d];
    }
    return at;
  }
  int64_t kept_offset(int64_t i) const { return offset(kept_dims, kept_strides, i); }
  int64_t reduced_offset(int64_t i) const { return offset(reduced_dims, reduced_strides, i); }
};

}  // namespace assay
