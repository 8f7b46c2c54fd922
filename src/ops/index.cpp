#include "ops/index.h"

namespace assay {

IndexReader::IndexReader(const TensorView& indices, int64_t size, int axis, const Shape& shape)
    : size_(size), axis_(axis), shape_(shape) {
  if (indices.dtype == DType::kInt32) {
    narrow_ = indices.as<int32_t>();
  } else {
    require(indices.dtype == DType::kInt64, ErrorCode::kInvalidArgument, "indices must be int64 or int32, not {}",
            to_string(indices.dtype));
    wide_ = indices.as<int64_t>();
  }
}

void IndexReader::out_of_range(int64_t v) const {
  fail(ErrorCode::kInvalidArgument, "index {} is outside axis {} of {}", v, axis_, shape_);
}

ElementsWalk::ElementsWalk(const Shape& data, const Shape& indices, int64_t axis_argument)
    : axis(normalize_axis(axis_argument, data.rank())), strides(strides_of(data)) {
  bool fits = data.rank() == indices.rank();
  for (int d = 0; fits && d < data.rank(); ++d) fits = d == axis || indices[d] <= data[d];
  require(fits, ErrorCode::kInvalidArgument, "indices of shape {} reach outside data of shape {} (axis {})", indices,
          data, axis);
  dims.n = indices.rank();
  for (int d = 0; d < dims.n; ++d) dims[d] = indices[d];
}

TuplesWalk::TuplesWalk(const Shape& data, const TensorView& index_tensor, int64_t batch_dims_argument)
    : shape(data), indices(index_tensor), batch_dims(0), strides(strides_of(data)) {
  const Shape& s = indices.shape;
  require(s.rank() >= 1 && data.rank() >= 1, ErrorCode::kInvalidArgument, "indices {} or data {} is a scalar", s, data);
  require(batch_dims_argument >= 0 && batch_dims_argument < std::min(s.rank(), data.rank()),
          ErrorCode::kInvalidArgument, "batch_dims {} does not fit indices {} and data {}", batch_dims_argument, s,
          data);
  batch_dims = static_cast<int>(batch_dims_argument);
  const int64_t last = s[s.rank() - 1];
  require(last >= 0 && last <= data.rank() - batch_dims, ErrorCode::kInvalidArgument,
          "indices {} hold more numbers than data {} has dimensions", s, data);
  width = static_cast<int>(last);
  for (int d = 0; d < batch_dims; ++d)
    require(s[d] == data[d], ErrorCode::kInvalidArgument, "batch dimension {} of indices {} and data {} differs", d, s,
            data);
  first_slice_dim = batch_dims + width;
  tuples = s.elements(0, s.rank() - 1);
  per_batch = s.elements(batch_dims, s.rank() - 1);
  slice = data.elements(first_slice_dim, data.rank());
}

int64_t TuplesWalk::offset(int64_t i) const {
  int64_t at = 0;
  if (batch_dims > 0) at = i / per_batch * strides[batch_dims - 1];
  for (int k = 0; k < width; ++k) {
    const int d = batch_dims + k;
    const int64_t v = read_int(indices, i * width + k, "indices");
    const int64_t index = v < 0 ? v + shape[d] : v;
    require(index >= 0 && index < shape[d], ErrorCode::kInvalidArgument, "index {} is outside axis {} of {}", v, d,
            shape);
    at += index * strides[d];
  }
  return at;
}

}  // namespace assay
