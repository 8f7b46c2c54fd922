#include "bench/time_benchmark.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

class FakeClock final : public Clock {
 public:
  int64_t now_ns() const override { return now; }
  mutable int64_t now = 0;
};

/// Takes `cost_ns` of fake time a run and writes down who ran when.
class NullEngine final : public Engine {
 public:
  NullEngine(char id, int64_t cost_ns, const FakeClock& clock, std::string& order)
      : id_(id), cost_ns_(cost_ns), clock_(clock), order_(order) {}
  std::string name() const override { return "null"; }
  std::string version() const override { return "0"; }
  const std::vector<Port>& inputs() const override { return ports_; }
  const std::vector<Port>& outputs() const override { return ports_; }
  bool batch_invariant() const override { return true; }
  std::span<const TensorView> run(std::span<const TensorView>) override {
    clock_.now += cost_ns_;
    order_ += id_;
    return {};
  }

 private:
  char id_;
  int64_t cost_ns_;
  const FakeClock& clock_;
  std::string& order_;
  std::vector<Port> ports_;
};

struct Race {
  FakeClock clock;
  std::string order;
  NullEngine a{'a', 1'000'000, clock, order};
  NullEngine b{'b', 4'000'000, clock, order};
  std::vector<TimedLoop> run(const TimeOptions& options) {
    Engine* engines[] = {&a, &b};
    const std::vector<std::vector<Tensor>> inputs(2);
    return time_interleaved(engines, inputs, options, clock, Progress{});
  }
};

TEST(TimeInterleaved, EachEngineGetsItsDurationAndOrderAlternates) {
  Race race;
  const auto loops = race.run({.duration_s = 0.016, .warmup_runs = 2, .rounds = 2});
  EXPECT_EQ(race.order,
            "aabb"
            "a"
            "aaaaaaaa"
            "b"
            "bb"
            "b"
            "bb"
            "a"
            "aaaaaaaa");
  EXPECT_EQ(loops[0].latencies_ns.size(), 16u);
  EXPECT_EQ(loops[1].latencies_ns.size(), 4u);
  EXPECT_DOUBLE_EQ(loops[1].duration_s, 0.016);
}

TEST(TimeInterleaved, ZeroDurationStillMeasuresOnce) {
  Race race;
  const auto loops = race.run({.duration_s = 0, .warmup_runs = 0, .rounds = 1});
  EXPECT_EQ(race.order, "ab");
  EXPECT_EQ(loops[1].latencies_ns, (std::vector<int64_t>{4'000'000}));
}

TEST(TimeInterleaved, WarmUpIsNotCounted) {
  Race race;
  const auto loops = race.run({.duration_s = 0.004, .warmup_runs = 5, .rounds = 1});
  EXPECT_EQ(loops[0].latencies_ns.size(), 4u);
  EXPECT_EQ(loops[1].latencies_ns.size(), 1u);
}

}  // namespace
}  // namespace assay
