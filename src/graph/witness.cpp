#include "graph/witness.h"

#include <algorithm>

namespace assay {

const Tensor* Witness::value(size_t run, ValueId id) const {
  if (id == kNoValue || run >= runs.size() || static_cast<size_t>(id) >= runs[run].values.size()) return nullptr;
  const Tensor& t = runs[run].values[static_cast<size_t>(id)];
  return t ? &t : nullptr;
}

void Witness::same(ValueId fresh, ValueId old) {
  for (Run& r : runs) {
    if (r.values.size() <= static_cast<size_t>(std::max(fresh, old)))
      r.values.resize(static_cast<size_t>(std::max(fresh, old)) + 1);
    r.values[static_cast<size_t>(fresh)] = r.values[static_cast<size_t>(old)];
  }
}

bool Witness::same_shape(ValueId a, ValueId b) const {
  for (size_t r = 0; r < runs.size(); ++r) {
    const Tensor* x = value(r, a);
    const Tensor* y = value(r, b);
    if (x == nullptr || y == nullptr || !(x->shape() == y->shape())) return false;
  }
  return !runs.empty();
}

int Witness::rank(ValueId id) const {
  int rank = -1;
  for (size_t r = 0; r < runs.size(); ++r) {
    const Tensor* t = value(r, id);
    if (t == nullptr || (r > 0 && t->shape().rank() != rank)) return -1;
    rank = t->shape().rank();
  }
  return rank;
}

bool Witness::per_token(ValueId id) const {
  for (size_t r = 0; r < runs.size(); ++r) {
    const Tensor* t = value(r, id);
    if (t == nullptr || t->shape().rank() < 2 || t->shape()[0] != runs[r].batch || t->shape()[1] != runs[r].seq)
      return false;
  }
  return !runs.empty();
}

}  // namespace assay
