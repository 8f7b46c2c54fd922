#include "ops/matmul_shape.h"

namespace assay {
namespace {

Shape leading(const Shape& s) {
  Shape out;
  for (int d = 0; d + 2 < s.rank(); ++d) out.push_back(s[d]);
  return out;
}

// Strides of the leading dimensions in whole matrices of `matrix` elements, 0 where they broadcast.
SmallInts leading_strides(const Shape& own, const Shape& full, int64_t matrix) {
  SmallInts strides;
  strides.n = full.rank();
  const int missing = full.rank() - own.rank();
  int64_t step = matrix;
  for (int d = full.rank() - 1; d >= missing; --d) {
    strides[d] = own[d - missing] == 1 ? 0 : step;
    step *= own[d - missing];
  }
  return strides;
}

}  // namespace

MatMulShape::MatMulShape(const Shape& a, const Shape& b) {
  require(a.rank() > 0 && b.rank() > 0, ErrorCode::kInvalidArgument, "MatMul of {} and {}: a scalar", a, b);
  const bool a_vector = a.rank() == 1, b_vector = b.rank() == 1;
  m = a_vector ? 1 : a[a.rank() - 2];
  k = a[a.rank() - 1];
  n = b_vector ? 1 : b[b.rank() - 1];
  const int64_t b_rows = b_vector ? b[0] : b[b.rank() - 2];
  require(k == b_rows, ErrorCode::kInvalidArgument, "MatMul of {} and {}: inner sizes {} and {} differ", a, b, k,
          b_rows);
  const Shape a_lead = leading(a), b_lead = leading(b);
  shape = broadcast(a_lead, b_lead);
  dims_.n = shape.rank();
  for (int d = 0; d < shape.rank(); ++d) dims_[d] = shape[d];
  a_strides_ = leading_strides(a_lead, shape, m * k);
  b_strides_ = leading_strides(b_lead, shape, k * n);
  batch = shape.elements();
  b_is_one_matrix = b_lead.elements() == 1 && a_lead.elements() == batch;
  if (!a_vector) shape.push_back(m);
  if (!b_vector) shape.push_back(n);
}

}  // namespace assay
