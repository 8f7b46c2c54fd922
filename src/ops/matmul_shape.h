#pragma once

#include "ops/support.h"

namespace assay {

/// numpy.matmul of two shapes: vectors are promoted, leading dimensions broadcast. InvalidArgument naming both when the
/// inner sizes differ.
struct MatMulShape {
  MatMulShape(const Shape& a, const Shape& b);

  Shape shape;  ///< of the result
  int64_t m = 1, n = 1, k = 1;
  int64_t batch = 1;             ///< broadcast leading dimensions, flat
  bool b_is_one_matrix = false;  ///< B has no leading dimensions and A's items lie side by side: one tall product does

  /// Where b_is_one_matrix: the batch as one product of batch * m rows.
  void flatten() {
    m *= batch;
    batch = 1;
    dims_.n = 0;
  }

  /// Element offset of batch item i's matrix.
  int64_t a_offset(int64_t i) const { return offset(i, a_strides_); }
  int64_t b_offset(int64_t i) const { return offset(i, b_strides_); }

 private:
  int64_t offset(int64_t i, const SmallInts& strides) const {
    int64_t at = 0;
    for (int d = dims_.n - 1; d >= 0; --d) {
      at += i % dims_[d] * strides[d];
      i /= dims_[d];
    }
    return at;
  }

  SmallInts dims_, a_strides_, b_strides_;
};

}  // namespace assay
