#include <algorithm>

#include "quant/numbers.h"
#include "quant/observers/observer.h"

namespace assay::quant {
namespace {

/// Outermost finite values over all samples; or, with moving average, lo += c (lo of the sample - lo) with
/// c = max(constant, 1 / samples): the mean of the samples' ends until 1 / constant samples were seen, exponential
/// then.
class MinMaxObserver final : public Observer {
 public:
  explicit MinMaxObserver(const ObserverOptions& options) : options_(options) {
    require(options.averaging_constant > 0.0f && options.averaging_constant <= 1.0f, ErrorCode::kInvalidArgument,
            "the averaging constant is {}: it lies in (0, 1]", options.averaging_constant);
  }

  void observe(const float* data, int64_t n, int threads) override {
    if (n == 0) return;
    const MinMax m = min_max(data, n, threads);
    require(m.finite > 0, ErrorCode::kNumeric, "none of its {} values is finite", n);
    range_.values += m.finite;
    range_.not_finite += m.not_finite;
    ++samples_;
    if (samples_ == 1) {
      lo_ = m.lo;
      hi_ = m.hi;
    } else if (options_.moving_average) {
      const double c = std::max(static_cast<double>(options_.averaging_constant), 1.0 / static_cast<double>(samples_));
      lo_ += c * (m.lo - lo_);
      hi_ += c * (m.hi - hi_);
    } else {
      lo_ = std::min(lo_, static_cast<double>(m.lo));
      hi_ = std::max(hi_, static_cast<double>(m.hi));
    }
  }

  TensorRange range() const override {
    require(samples_ > 0, ErrorCode::kNumeric, "no value of it was observed");
    TensorRange out = range_;
    out.lo = static_cast<float>(lo_);
    out.hi = static_cast<float>(hi_);
    return out;
  }

 private:
  ObserverOptions options_;
  TensorRange range_;
  double lo_ = 0.0, hi_ = 0.0;
  int64_t samples_ = 0;
};

const ObserverRegistration kMinMax("minmax", [](const ObserverOptions& options) -> std::unique_ptr<Observer> {
  return std::make_unique<MinMaxObserver>(options);
});

}  // namespace
}  // namespace assay::quant
