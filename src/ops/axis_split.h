#pragma once

#include "ops/support.h"

namespace assay {

/// A shape seen from one axis: [outer, size, inner].
struct AxisSplit {
  AxisSplit(const Shape& shape, int64_t axis_argument)
      : axis(normalize_axis(axis_argument, shape.rank())),
        outer(shape.elements(0, axis)),
        size(shape[axis]),
        inner(shape.elements(axis + 1, shape.rank())) {}
  int axis;
  int64_t outer, size, inner;
};

/// The same shape with another size at one axis.
inline Shape with_dim(Shape shape, int axis, int64_t size) {
  shape[axis] = size;
  return shape;
}

}  // namespace assay
