#include "bench/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace assay {
namespace {

TEST(Statistics, MeanAndPopulationDeviation) {
  const std::vector<double> v = {2, 4, 4, 4, 5, 5, 7, 9};
  EXPECT_DOUBLE_EQ(mean(v), 5);
  EXPECT_DOUBLE_EQ(standard_deviation(v), 2);
  EXPECT_TRUE(std::isnan(mean({})));
}

TEST(Statistics, QuantilesInterpolateLikeNumpy) {
  const std::vector<double> v = {1, 2, 3, 4};
  EXPECT_DOUBLE_EQ(quantile(v, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile(v, 0.9), 3.7);
  EXPECT_DOUBLE_EQ(quantile(v, 1.0), 4);
  EXPECT_DOUBLE_EQ(quantile(std::vector<double>{7}, 0.99), 7);
}

TEST(Statistics, APercentileNeedsFivePassesBeyondIt) {
  EXPECT_EQ(passes_needed(0.5), 1);
  EXPECT_EQ(passes_needed(0.9), 50);
  EXPECT_EQ(passes_needed(0.95), 100);
  EXPECT_EQ(passes_needed(0.99), 500);
  EXPECT_EQ(passes_needed(0.999), 5000);
  std::vector<double> v(499);
  std::iota(v.begin(), v.end(), 0.0);
  EXPECT_FALSE(supported_quantile(v, 0.99).has_value());
  v.push_back(499);
  EXPECT_TRUE(supported_quantile(v, 0.99).has_value());
}

}  // namespace
}  // namespace assay
