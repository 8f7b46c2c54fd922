// ReduceSum, ReduceMean, ReduceSumSquare, ReduceL1, ReduceL2, ReduceLogSum, ReduceLogSumExp.

#include "ops/reduce.h"

namespace assay {
namespace {

template <typename T>
struct Sum {
  using State = SumType<T>;
  State start() const { return 0; }
  State step(State s, T x) const { return s + static_cast<State>(x); }
  State join(State a, State b) const { return a + b; }
  T finish(State s, int64_t /*n*/) const { return static_cast<T>(s); }
};

template <typename T>
struct Mean : Sum<T> {
  T finish(SumType<T> s, int64_t n) const {
    if constexpr (std::is_integral_v<T>) {
      if (n == 0) return 0;
      if constexpr (std::is_signed_v<T>) return static_cast<T>(static_cast<int64_t>(s) / n);
      return static_cast<T>(s / static_cast<uint64_t>(n));
    } else {
      return static_cast<T>(s / static_cast<double>(n));
    }
  }
};

template <typename T>
struct SumSquare : Sum<T> {
  using State = SumType<T>;
  State step(State s, T x) const { return s + static_cast<State>(x) * static_cast<State>(x); }
};

template <typename T>
struct L1 : Sum<T> {
  using State = SumType<T>;
  State step(State s, T x) const { return x < 0 ? s - static_cast<State>(x) : s + static_cast<State>(x); }
};

template <typename T>
struct L2 : SumSquare<T> {
  T finish(SumType<T> s, int64_t /*n*/) const { return static_cast<T>(std::sqrt(static_cast<double>(s))); }
};

// The logarithm of an integer sum is taken of the signed sum.
template <typename T>
struct LogSum : Sum<T> {
  T finish(SumType<T> s, int64_t /*n*/) const {
    if constexpr (std::is_signed_v<T> && std::is_integral_v<T>)
      return static_cast<T>(std::log(static_cast<double>(static_cast<int64_t>(s))));
    return static_cast<T>(std::log(static_cast<double>(s)));
  }
};

// log(sum(exp(x))) in one pass: the sum is kept relative to the greatest element so far, so nothing overflows.
template <typename T>
struct LogSumExp {
  struct State {
    double max;
    double sum;
  };
  State start() const { return {-std::numeric_limits<double>::infinity(), 0}; }
  State step(State s, T x) const { return join(s, {static_cast<double>(x), 1}); }
  State join(State a, State b) const {
    if (a.max < b.max) std::swap(a, b);
    if (b.sum == 0) return a;
    return {a.max, a.sum + (a.max == b.max ? b.sum : b.sum * std::exp(b.max - a.max))};
  }
  T finish(State s, int64_t /*n*/) const { return static_cast<T>(s.max + std::log(s.sum)); }
};

using ReduceTypes = Join<FloatTypes, Types<int32_t, int64_t, uint32_t, uint64_t>>;

const OpRegistration kSum{"", "ReduceSum", 1, make_op<ReduceOp<Sum, ReduceTypes>>};
const OpRegistration kMean{"", "ReduceMean", 1, make_op<ReduceOp<Mean, ReduceTypes>>};
const OpRegistration kSumSquare{"", "ReduceSumSquare", 1, make_op<ReduceOp<SumSquare, ReduceTypes>>};
const OpRegistration kL1{"", "ReduceL1", 1, make_op<ReduceOp<L1, ReduceTypes>>};
const OpRegistration kL2{"", "ReduceL2", 1, make_op<ReduceOp<L2, ReduceTypes>>};
const OpRegistration kLogSum{"", "ReduceLogSum", 1, make_op<ReduceOp<LogSum, ReduceTypes>>};
const OpRegistration kLogSumExp{"", "ReduceLogSumExp", 1, make_op<ReduceOp<LogSumExp, FloatTypes>>};

}  // namespace
}  // namespace assay
