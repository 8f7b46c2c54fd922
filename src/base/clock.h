#pragma once

#include <chrono>
#include <cstdint>

namespace assay {

/// Time as an argument, so that harness rules are tested with a fake.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Monotonic nanoseconds from an arbitrary start.
  virtual int64_t now_ns() const = 0;
};

class SteadyClock final : public Clock {
 public:
  int64_t now_ns() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
};

}  // namespace assay
