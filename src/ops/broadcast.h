#pragma once

#include <initializer_list>

#include "ops/support.h"

namespace assay {

/// How up to three inputs are walked to fill a broadcast result. Dimensions that all inputs walk alike are merged, so
/// the usual cases (one shape, a scalar, a vector along the last axis) have rank 1 or 2. Strides are in elements, 0
/// where an input repeats.
struct Broadcast {
  static constexpr int kMaxInputs = 3;

  explicit Broadcast(std::initializer_list<const Shape*> inputs);

  Shape shape;   ///< of the result
  int rank = 0;  ///< of the merged walk, at least 1
  SmallInts dims;
  std::array<SmallInts, kMaxInputs> strides;

  int64_t inner() const { return dims[rank - 1]; }
  int64_t rows() const { return rows_; }
  /// Stride of an input within a row: 0 or 1.
  int64_t inner_stride(int input) const { return strides[static_cast<size_t>(input)][rank - 1]; }
  /// Element offset of an input at the start of a row.
  int64_t row_offset(int input, int64_t row) const {
    int64_t offset = 0;
    for (int d = rank - 2; d >= 0; --d) {
      offset += row % dims[d] * strides[static_cast<size_t>(input)][d];
      row /= dims[d];
    }
    return offset;
  }

  /// Calls fn(row, begin, end) so that every element of every row is covered once, on `threads` threads.
  template <typename Fn>
  void for_ranges(int threads, const Fn& fn) const {
    const int64_t n = inner();
    if (rows_ == 1) {
      parallel_for(threads, n, kGrain, [&](int64_t begin, int64_t end) { fn(int64_t{0}, begin, end); });
    } else if (n > 0) {
      parallel_for(threads, rows_, grain_of(n), [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) fn(r, int64_t{0}, n);
      });
    }
  }

 private:
  int64_t rows_ = 1;
};

/// out = f(a, b) with NumPy broadcasting by `plan` (inputs 0 and 1).
template <typename A, typename B, typename R, typename F>
void broadcast_binary(const Broadcast& plan, const A* a, const B* b, R* out, int threads, const F& f) {
  const bool a_moves = plan.inner_stride(0) != 0;
  const bool b_moves = plan.inner_stride(1) != 0;
  const auto apply = [&f](A x, B y) {
    return static_cast<R>(f(static_cast<Compute<A>>(x), static_cast<Compute<B>>(y)));
  };
  plan.for_ranges(threads, [&](int64_t row, int64_t begin, int64_t end) {
    const A* pa = a + plan.row_offset(0, row);
    const B* pb = b + plan.row_offset(1, row);
    R* po = out + row * plan.inner();
    if (a_moves && b_moves) {
      for (int64_t i = begin; i < end; ++i) po[i] = apply(pa[i], pb[i]);
    } else if (a_moves) {
      const B y = *pb;
      for (int64_t i = begin; i < end; ++i) po[i] = apply(pa[i], y);
    } else if (b_moves) {
      const A x = *pa;
      for (int64_t i = begin; i < end; ++i) po[i] = apply(x, pb[i]);
    } else {
      std::fill(po + begin, po + end, apply(*pa, *pb));
    }
  });
}

}  // namespace assay
