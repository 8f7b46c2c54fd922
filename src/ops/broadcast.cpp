#include "ops/broadcast.h"

namespace assay {

Broadcast::Broadcast(std::initializer_list<const Shape*> inputs) {
  for (const Shape* s : inputs) shape = broadcast(shape, *s);
  std::array<SmallInts, kMaxInputs> full;
  size_t n = 0;
  for (const Shape* s : inputs) {
    const SmallInts own = strides_of(*s);
    const int missing = shape.rank() - s->rank();
    for (int d = 0; d < shape.rank(); ++d) full[n][d] = d < missing || (*s)[d - missing] == 1 ? 0 : own[d - missing];
    ++n;
  }
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape[d] == 1) continue;
    bool merges = rank > 0;
    for (size_t i = 0; i < n && merges; ++i) merges = strides[i][rank - 1] == full[i][d] * shape[d];
    if (!merges) dims[rank++] = 1;
    dims[rank - 1] *= shape[d];
    for (size_t i = 0; i < n; ++i) strides[i][rank - 1] = full[i][d];
  }
  if (rank == 0) {  // one element
    rank = 1;
    dims[0] = 1;
  }
  for (int d = 0; d < rank - 1; ++d) rows_ *= dims[d];
}

}  // namespace assay
