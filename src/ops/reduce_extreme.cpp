// ReduceMax, ReduceMin, ReduceProd.

#include "ops/reduce.h"

namespace assay {
namespace {

template <typename T>
T highest() {
  if constexpr (std::is_same_v<T, bool>) return true;
  if constexpr (std::is_floating_point_v<T>) return std::numeric_limits<T>::infinity();
  return std::numeric_limits<T>::max();
}

template <typename T>
T lowest() {
  if constexpr (std::is_same_v<T, bool>) return false;
  if constexpr (std::is_floating_point_v<T>) return -std::numeric_limits<T>::infinity();
  return std::numeric_limits<T>::lowest();
}

// A NaN, once seen, stays.
template <typename T>
struct Max {
  T start() const { return lowest<T>(); }
  T step(T a, T b) const { return a > b || a != a ? a : b; }
  T join(T a, T b) const { return step(a, b); }
  T finish(T s, int64_t /*n*/) const { return s; }
};

template <typename T>
struct Min {
  T start() const { return highest<T>(); }
  T step(T a, T b) const { return a < b || a != a ? a : b; }
  T join(T a, T b) const { return step(a, b); }
  T finish(T s, int64_t /*n*/) const { return s; }
};

template <typename T>
struct Prod {
  using State = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;
  State start() const { return 1; }
  State step(State s, T x) const { return s * static_cast<State>(x); }
  State join(State a, State b) const { return a * b; }
  T finish(State s, int64_t /*n*/) const { return static_cast<T>(s); }
};

using ExtremeTypes = Join<FloatTypes, Types<bool, int8_t, uint8_t, int32_t, int64_t, uint32_t, uint64_t>>;
using ProdTypes = Join<FloatTypes, Types<int32_t, int64_t, uint32_t, uint64_t>>;

const OpRegistration kMax{"", "ReduceMax", 1, make_op<ReduceOp<Max, ExtremeTypes>>};
const OpRegistration kMin{"", "ReduceMin", 1, make_op<ReduceOp<Min, ExtremeTypes>>};
const OpRegistration kProd{"", "ReduceProd", 1, make_op<ReduceOp<Prod, ProdTypes>>};

}  // namespace
}  // namespace assay
