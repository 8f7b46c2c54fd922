#include "report/compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "report/seed_card_test.h"

namespace assay::report {
namespace {

TEST(Compare, ARunIsLikeItself) {
  const Comparison c = compare(full_record(), full_record());
  EXPECT_FALSE(c.differences.empty());
  for (const Difference& d : c.differences) {
    ASSERT_TRUE(d.before && d.after) << d.cell << " " << d.figure;
    EXPECT_EQ(*d.before, *d.after);
  }
  ASSERT_TRUE(c.latency_ratio);
  EXPECT_DOUBLE_EQ(*c.latency_ratio, 1.0);
}

TEST(Compare, FindsWhatChanged) {
  const Record before = full_record();
  Record after = before;
  std::reverse(after.cells.begin(), after.cells.end());  // cells pair by their parameters, not by place
  after.machine["threads"] = 8;
  for (Cell& c : after.cells)
    for (TimePoint& t : c.time)
      if (t.optimized) t.optimized->latency_mean /= 2;
  after.cells[0].optimized.metrics[1].second -= 0.25;  // dynamic, Add + MatMul, with exclusion
  const Comparison c = compare(before, after);
  EXPECT_NEAR(*c.latency_ratio, 0.5, 1e-12);
  int changed = 0;
  for (const Difference& d : c.differences)
    if (d.figure == "f1" && *d.before != *d.after) {
      ++changed;
      EXPECT_EQ(d.cell, "dynamic · Add, MatMul · layernorm, gelu, residual, gather, softmax");
      EXPECT_NEAR(*d.after - *d.before, -0.25, 1e-9);
    }
  EXPECT_EQ(changed, 1);
  const std::string text = to_markdown(c);
  EXPECT_NE(text.find("threads differs: 4 and 8"), std::string::npos);
  EXPECT_NE(text.find("| f1 | 86.097 | 85.847 | -0.250 | 1.00× |"), std::string::npos);
  EXPECT_NE(text.find("| latency_mean b1 s32 (ms) | 7.230 | 3.615 | -3.615 | 0.50× |"), std::string::npos);
  EXPECT_EQ(to_json(c)["differences"].size(), c.differences.size());
}

TEST(Compare, KeepsCellsThatOnlyOneRunHas) {
  const Record before = seed_record();
  Record after = before;
  after.cells.pop_back();
  size_t lost = 0;
  for (const Difference& d : compare(before, after).differences) lost += d.after ? 0 : 1;
  EXPECT_EQ(lost, 2u + 9);
  lost = 0;
  for (const Difference& d : compare(after, before).differences) lost += d.before ? 0 : 1;
  EXPECT_EQ(lost, 2u + 9);
}

}  // namespace
}  // namespace assay::report
