#pragma once

#include "ops/support.h"

namespace assay {

/// Copies a strided window of src (element strides, from src_offset) into a contiguous destination of shape dims:
/// Transpose, Expand, Slice and their kin. Negative and zero strides are fine; the caller has checked the bounds.
template <typename T>
void strided_copy(const SmallInts& dims, const SmallInts& strides, const T* src, T* dst, int threads) {
  // Merge dimensions that are walked as one.
  SmallInts d, s;
  for (int i = 0; i < dims.n; ++i) {
    if (dims[i] == 0) return;
    if (dims[i] == 1) continue;
    if (d.n > 0 && s[d.n - 1] == strides[i] * dims[i]) {
      d[d.n - 1] *= dims[i];
      s[d.n - 1] = strides[i];
    } else {
      d[d.n] = dims[i];
      s[d.n] = strides[i];
      s.n = ++d.n;
    }
  }
  if (d.n == 0) {
    *dst = *src;
    return;
  }
  const int64_t inner = d[d.n - 1], step = s[d.n - 1];
  int64_t rows = 1;
  for (int i = 0; i < d.n - 1; ++i) rows *= d[i];
  parallel_for(threads, rows, grain_of(inner), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      int64_t offset = 0, rest = r;
      for (int i = d.n - 2; i >= 0; --i) {
        offset += rest % d[i] * s[i];
        rest /= d[i];
      }
      const T* in = src + offset;
      T* out = dst + r * inner;
      if (step == 1) {
        std::copy(in, in + inner, out);
      } else if (step == 0) {
        std::fill(out, out + inner, *in);
      } else {
        for (int64_t i = 0; i < inner; ++i) out[i] = in[i * step];
      }
    }
  });
}

/// The same for any element type: moves elements by their size.
void strided_copy(DType dtype, std::string_view what, const SmallInts& dims, const SmallInts& strides, const void* src,
                  int64_t src_offset, void* dst, int threads);

}  // namespace assay
