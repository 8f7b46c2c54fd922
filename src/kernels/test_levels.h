#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "base/rng.h"
#include "kernels/isa/leaves.h"

// What the tests of this room share: every table of kernels that can run here, and memory that shows a byte written or
// read past its end.

namespace assay::kernels {

/// A set of kernels under test.
struct TestLevel {
  std::string name;  ///< "avx2", "avx512_vnni (emulated)", ...
  const Leaves* leaves = nullptr;
};

/// The kernels of instruction sets this CPU may lack, compiled against an emulation of their intrinsics.
const std::vector<TestLevel>& emulated_levels();
/// Every level this CPU runs, then the emulated ones.
const std::vector<TestLevel>& test_levels();

/// 64-byte aligned array.
template <typename T>
class Aligned {
 public:
  explicit Aligned(size_t n, T fill = T{}) : n_(n), data_(new (std::align_val_t{64}) T[n + 1]) {
    for (size_t i = 0; i < n; ++i) data_[i] = fill;
  }
  ~Aligned() { ::operator delete[](data_, std::align_val_t{64}); }
  Aligned(const Aligned&) = delete;
  Aligned& operator=(const Aligned&) = delete;
  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return n_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }

 private:
  size_t n_;
  T* data_;
};

/// n values uniform in [lo, hi).
inline std::vector<float> random_floats(Rng& rng, int64_t n, float lo = -1.0f, float hi = 1.0f) {
  std::vector<float> v(static_cast<size_t>(n));
  for (float& x : v) x = rng.uniform(lo, hi);
  return v;
}

inline std::vector<uint8_t> random_bytes(Rng& rng, int64_t n) {
  std::vector<uint8_t> v(static_cast<size_t>(n));
  for (uint8_t& x : v) x = static_cast<uint8_t>(rng.next());
  return v;
}

/// Equal bits, NaNs of any kind equal.
inline bool same_bits(float a, float b) {
  if (a != a || b != b) return a != a && b != b;
  return std::memcmp(&a, &b, sizeof(a)) == 0;
}

}  // namespace assay::kernels
