#include "bench/noise.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Noise, ReadsStealFromProcStat) {
  const CpuTicks a = parse_proc_stat("cpu  100 0 50 800 10 0 0 40 0 0\ncpu0 1 2 3\n");
  EXPECT_EQ(a.total, 1000);
  EXPECT_EQ(a.steal, 40);
  const CpuTicks b = parse_proc_stat("cpu  150 0 50 840 10 0 0 50 0 0\n");
  EXPECT_DOUBLE_EQ(steal_percent(a, b), 10.0);
  EXPECT_DOUBLE_EQ(steal_percent(a, a), 0.0);
  EXPECT_EQ(parse_proc_stat("garbage").total, 0);
}

/// Every 100th probe takes ten times as long.
class BumpyClock final : public Clock {
 public:
  int64_t now_ns() const override {
    now_ += ++calls_ % 200 == 0 ? 500'000 : 50'000;
    return now_;
  }
  mutable int64_t now_ = 0;
  mutable int calls_ = 0;
};

TEST(Noise, SeesAMachineThatStumbles) {
  const Noise n = probe_noise(BumpyClock{});
  EXPECT_DOUBLE_EQ(n.p50_us, 50.0);
  EXPECT_GE(n.max_over_p50, 9.9);
}

}  // namespace
}  // namespace assay
