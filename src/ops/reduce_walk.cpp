#include "ops/reduce_walk.h"

namespace assay {

ReduceWalk::ReduceWalk(const Shape& s, const SmallInts& axes) : shape(s) {
  for (int i = 0; i < axes.n; ++i) {
    const auto axis = static_cast<size_t>(normalize_axis(axes[i], s.rank()));
    require(!reduces[axis], ErrorCode::kInvalidArgument, "axis {} is named twice", axis);
    reduces[axis] = true;
  }
  const SmallInts strides = strides_of(s);
  bool previous = false;
  bool any = false;
  for (int d = 0; d < s.rank(); ++d) {
    if (s[d] == 1) continue;
    const bool r = reduces[static_cast<size_t>(d)];
    SmallInts& dims = r ? reduced_dims : kept_dims;
    SmallInts& steps = r ? reduced_strides : kept_strides;
    if (any && previous == r) {
      dims[dims.n - 1] *= s[d];
      steps[dims.n - 1] = strides[d];
    } else {
      dims[dims.n] = s[d];
      steps[dims.n] = strides[d];
      steps.n = ++dims.n;
    }
    previous = r;
    any = true;
  }
  if (any && !previous) {
    inner = kept_dims[kept_dims.n - 1];
    kept_strides.n = --kept_dims.n;
  }
  for (int d = 0; d < kept_dims.n; ++d) kept *= kept_dims[d];
  for (int d = 0; d < reduced_dims.n; ++d) reduced *= reduced_dims[d];
}

Shape ReduceWalk::result(bool keepdims) const {
  Shape out;
  for (int d = 0; d < shape.rank(); ++d) {
    if (!reduces[static_cast<size_t>(d)]) {
      out.push_back(shape[d]);
    } else if (keepdims) {
      out.push_back(1);
    }
  }
  return out;
}

}  // namespace assay
