#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quant/calibration.h"

namespace assay::quant {

/// How ranges are observed; each observer reads the fields it knows.
struct ObserverOptions {
  std::string method = "minmax";
  bool moving_average = false;       ///< mean of the samples' ends instead of the outermost
  float averaging_constant = 0.01f;  ///< weight of a new sample once 1/constant samples were seen
};

/// Watches one tensor over many samples in fixed memory. Only finite values count.
class Observer {
 public:
  virtual ~Observer() = default;
  /// All values the tensor has in one sample. Numeric when it has values and none is finite.
  virtual void observe(const float* data, int64_t n, int threads) = 0;
  /// What to quantize to. Numeric when nothing was observed.
  virtual TensorRange range() const = 0;
};

using ObserverFactory = std::unique_ptr<Observer> (*)(const ObserverOptions&);

/// Makes `name` available to make_observer; called by a static registration in the observer's own file.
class ObserverRegistration {
 public:
  ObserverRegistration(std::string_view name, ObserverFactory factory);
};

/// InvalidArgument listing what there is when the method is unknown.
std::unique_ptr<Observer> make_observer(const ObserverOptions& options);
/// Registered names, sorted.
std::vector<std::string> observer_names();

}  // namespace assay::quant
