#include "tensor/shape.h"

#include <algorithm>

#include "base/checked.h"

namespace assay {

int64_t Shape::elements() const { return elements(0, rank_); }

int64_t Shape::elements(int from, int to) const {
  int64_t n = 1;
  for (int i = from; i < to; ++i) {
    require((*this)[i] >= 0, ErrorCode::kInvalidArgument, "shape {} has a negative size", *this);
    n = checked_mul(n, (*this)[i]);
  }
  return n;
}

bool Shape::operator==(const Shape& other) const { return std::ranges::equal(dims(), other.dims()); }

std::string Shape::str() const { return fmt::format("[{}]", fmt::join(begin(), end(), ",")); }

Shape broadcast(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  Shape out;
  for (int i = 0; i < rank; ++i) {
    const int ia = i - (rank - a.rank());
    const int ib = i - (rank - b.rank());
    const int64_t da = ia < 0 ? 1 : a[ia];
    const int64_t db = ib < 0 ? 1 : b[ib];
    require(da == db || da == 1 || db == 1, ErrorCode::kInvalidArgument, "shapes {} and {} do not broadcast", a, b);
    out.push_back(da == 1 ? db : da);
  }
  return out;
}

int normalize_axis(int64_t axis, int rank) {
  require(axis >= -rank && axis < rank, ErrorCode::kInvalidArgument, "axis {} is outside a tensor of rank {}", axis,
          rank);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace assay
