#pragma once

#include "ops/support.h"

namespace assay {

/// Reads int32 or int64 indices into an axis of `size`: negative ones count from the end, others outside are
/// InvalidArgument naming index, axis and shape.
class IndexReader {
 public:
  IndexReader(const TensorView& indices, int64_t size, int axis, const Shape& shape);
  int64_t operator[](int64_t i) const {
    const int64_t v = wide_ != nullptr ? wide_[i] : narrow_[i];
    const int64_t at = v < 0 ? v + size_ : v;
    if (at < 0 || at >= size_) [[unlikely]]
      out_of_range(v);
    return at;
  }

 private:
  [[noreturn]] void out_of_range(int64_t v) const;

  const int64_t* wide_ = nullptr;
  const int32_t* narrow_ = nullptr;
  int64_t size_;
  int axis_;
  const Shape& shape_;
};

/// GatherElements and ScatterElements: element i of the indices belongs to the element of data at the same position but
/// for `axis`, where the index says.
struct ElementsWalk {
  ElementsWalk(const Shape& data, const Shape& indices, int64_t axis_argument);
  int64_t offset(int64_t i, int64_t index) const {
    int64_t at = index * strides[axis];
    for (int d = dims.n - 1; d >= 0; --d) {
      if (d != axis) at += i % dims[d] * strides[d];
      i /= dims[d];
    }
    return at;
  }
  int axis;
  SmallInts dims;     ///< of the indices
  SmallInts strides;  ///< of the data
};

/// GatherND and ScatterND: the last axis of the indices holds tuples that address slices of the data.
struct TuplesWalk {
  TuplesWalk(const Shape& data, const TensorView& index_tensor, int64_t batch_dims_argument);
  /// Element offset of the slice of tuple i; InvalidArgument when it points outside.
  int64_t offset(int64_t i) const;

  const Shape& shape;
  const TensorView& indices;
  int batch_dims;
  int width;            ///< numbers in a tuple
  int first_slice_dim;  ///< batch_dims + width
  int64_t tuples;
  int64_t per_batch;  ///< tuples of one batch item
  int64_t slice;      ///< elements of a slice
  SmallInts strides;
};

}  // namespace assay
