#include "kernels/quantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/internal.h"
#include "kernels/test_levels.h"

namespace assay::kernels {
namespace {

using Floats = std::vector<float>;
constexpr float kInf = std::numeric_limits<float>::infinity();

/// ONNX QuantizeLinear, word for word.
int plain_quantize(float x, float scale, int zp, bool is_signed) {
  const int low = is_signed ? -128 : 0, high = is_signed ? 127 : 255;
  if (std::isnan(x / scale)) return zp;
  const double v = std::nearbyint(x / scale) + double{static_cast<float>(zp)};
  return static_cast<int>(std::min<double>(std::max<double>(v, low), high));
}

Floats interesting(int64_t n, uint64_t seed) {
  Rng rng(seed);
  Floats x = random_floats(rng, n, -4, 9);
  const float special[] = {0.0f,    -0.0f,    NAN,    kInf,   -kInf,   1e-45f, -1e-38f,
                           3.4e38f, -3.4e38f, 0.125f, 0.375f, -0.125f, 0.625f};
  for (size_t i = 0; i < x.size(); i += 3) x[i] = special[i / 3 % std::size(special)];
  return x;
}

TEST(Quantize, LinearOnEveryLevelEqualsThePlainFormula) {
  for (int64_t n = 1; n <= 70; ++n)
    for (bool is_signed : {false, true}) {
      const Floats x = interesting(n, static_cast<uint64_t>(n));
      const int zp = is_signed ? -3 : 77;
      for (const TestLevel& level : test_levels()) {
        std::vector<uint8_t> out(x.size() + 1, 0xee);
        level.leaves->quantize(n, x.data(), 0.25f, zp, is_signed, out.data());
        EXPECT_EQ(out.back(), 0xee) << level.name;
        for (size_t i = 0; i < x.size(); ++i)
          ASSERT_EQ(is_signed ? static_cast<int8_t>(out[i]) : out[i], plain_quantize(x[i], 0.25f, zp, is_signed))
              << level.name << " of " << x[i];
        Floats back(x.size() + 1, -1.0f);
        level.leaves->dequantize(n, out.data(), is_signed, 0.25f, zp, back.data());
        EXPECT_EQ(back.back(), -1.0f);
        for (size_t i = 0; i < x.size(); ++i)
          ASSERT_EQ(back[i], 0.25f * static_cast<float>((is_signed ? static_cast<int8_t>(out[i]) : out[i]) - zp))
              << level.name;
      }
    }
}

TEST(Quantize, HalvesGoToEven) {
  const Floats x = {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f};
  const int want[] = {0, 2, 2, 0, -2, -2};
  for (const TestLevel& level : test_levels()) {
    int8_t out[6];
    level.leaves->quantize(6, x.data(), 1.0f, 0, true, out);
    for (int i = 0; i < 6; ++i) EXPECT_EQ(out[i], want[i]) << level.name;
  }
}

TEST(Quantize, PerAxisInTheMiddleAndLast) {
  Rng rng(3);
  const int64_t outer = 2, channels = 21, inner = 5;
  const Floats x = random_floats(rng, outer * channels * inner, -4, 4),
               scales = random_floats(rng, channels, 0.01f, 0.1f);
  std::vector<int32_t> zps;
  for (int64_t i = 0; i < channels; ++i) zps.push_back(static_cast<int32_t>(rng.below(256)));
  for (Isa isa : supported_isas())
    for (bool last : {false, true}) {
      const int64_t o = last ? outer * inner : outer, in = last ? 1 : inner;
      std::vector<uint8_t> out(x.size());
      quantize_linear(isa, o, channels, in, x.data(), scales.data(), zps.data(), false, out.data(), 3);
      Floats back(x.size());
      dequantize_linear(isa, o, channels, in, out.data(), false, scales.data(), zps.data(), back.data(), 2);
      for (int64_t i = 0; i < static_cast<int64_t>(x.size()); ++i) {
        const auto at = static_cast<size_t>(i), c = static_cast<size_t>(i / in % channels);
        ASSERT_EQ(out[at], plain_quantize(x[at], scales[c], zps[c], false)) << to_string(isa) << " last " << last;
        ASSERT_EQ(back[at], static_cast<float>(out[at] - zps[c]) * scales[c]);
      }
    }
  // Many channels, so that the vector path has whole vectors and a tail.
  const Floats wide = random_floats(rng, 3 * 37, -4, 4), wide_scales = random_floats(rng, 37, 0.01f, 0.1f);
  for (const TestLevel& level : test_levels()) {
    std::vector<int8_t> out(37);
    level.leaves->quantize_each(37, wide.data(), wide_scales.data(), nullptr, true, out.data());
    for (size_t i = 0; i < 37; ++i) ASSERT_EQ(out[i], plain_quantize(wide[i], wide_scales[i], 0, true)) << level.name;
  }
}

TEST(Quantize, DynamicRangeFollowsTheStandard) {
  const QuantRange r = dynamic_range_u8(-1.0f, 3.0f);
  EXPECT_EQ(r.scale, 4.0f / 255.0f);
  EXPECT_EQ(r.zero_point, 64);                            // round(63.75)
  EXPECT_EQ(dynamic_range_u8(2.0f, 5.0f).zero_point, 0);  // zero is always in the range
  EXPECT_EQ(dynamic_range_u8(-5.0f, -2.0f).zero_point, 255);
  EXPECT_EQ(dynamic_range_u8(2.0f, 5.0f).scale, 5.0f / 255.0f);
  // microsoft/onnxruntime#12470: nothing but zeros, a constant, a tiny range.
  EXPECT_EQ(dynamic_range_u8(0.0f, 0.0f).scale, 1.0f);
  EXPECT_EQ(dynamic_range_u8(0.0f, 0.0f).zero_point, 0);
  EXPECT_EQ(dynamic_range_u8(0.5f, 0.5f).scale, 0.5f / 255.0f);
  for (float tiny : {1e-38f, 1e-42f, 1e-45f}) {
    EXPECT_GT(dynamic_range_u8(0.0f, tiny).scale, 0.0f);
    EXPECT_GE(dynamic_range_u8(-tiny, tiny).zero_point, 0);
    EXPECT_LE(dynamic_range_u8(-tiny, tiny).zero_point, 255);
  }
  const float most = std::numeric_limits<float>::max();
  EXPECT_TRUE(std::isfinite(dynamic_range_u8(-most, most).scale));
}

TEST(Quantize, RowsOnEveryLevelAndAlone) {
  Rng rng(5);
  for (int64_t n : {1, 7, 16, 33, 70}) {
    const int64_t rows = 6;
    Floats x = random_floats(rng, rows * n);
    for (int64_t i = 0; i < n; ++i) {
      x[static_cast<size_t>(i)] *= 1000.0f;
      x[static_cast<size_t>(n + i)] = 0.0f;
      x[static_cast<size_t>(2 * n + i)] = 0.5f;
    }
    x[static_cast<size_t>(3 * n)] = NAN;
    x[static_cast<size_t>(4 * n)] = kInf;
    for (const TestLevel& level : test_levels())
      for (int threads : {1, 2, 3}) {
        std::vector<uint8_t> q(x.size());
        Floats scales(static_cast<size_t>(rows));
        std::vector<int32_t> zps(static_cast<size_t>(rows));
        quantize_rows_u8(*level.leaves, rows, n, x.data(), n, q.data(), n, scales.data(), zps.data(), threads);
        for (int64_t r = 0; r < rows; ++r) {
          float low = 0, high = 0;
          for (int64_t i = 0; i < n; ++i) {
            const float v = x[static_cast<size_t>(r * n + i)];
            low = std::isfinite(v) ? std::min(low, v) : NAN;
            high = std::isfinite(v) ? std::max(high, v) : NAN;
            if (std::isnan(low)) break;  // a broken value must not look healthy in what comes of it
          }
          const QuantRange want = dynamic_range_u8(low, high);
          const auto row = static_cast<size_t>(r);
          ASSERT_TRUE(scales[row] == want.scale || (std::isnan(scales[row]) && std::isnan(want.scale))) << level.name;
          ASSERT_EQ(std::isnan(want.scale), r == 3 || r == 4);
          ASSERT_EQ(zps[row], want.zero_point) << level.name;
          for (int64_t i = 0; i < n; ++i)
            ASSERT_EQ(q[static_cast<size_t>(r * n + i)],
                      plain_quantize(x[static_cast<size_t>(r * n + i)], want.scale, want.zero_point, false))
                << level.name;
        }
      }
  }
}

TEST(Quantize, WholeTensorDoesNotDependOnThreads) {
  Rng rng(6);
  const Floats x = random_floats(rng, 50001, -3, 7);
  std::vector<uint8_t> want(x.size());
  const QuantRange first = quantize_dynamic_u8(Isa::kScalar, static_cast<int64_t>(x.size()), x.data(), want.data(), 1);
  EXPECT_EQ(first.scale,
            dynamic_range_u8(*std::min_element(x.begin(), x.end()), *std::max_element(x.begin(), x.end())).scale);
  for (Isa isa : supported_isas())
    for (int threads : {1, 2, 3, 100}) {
      std::vector<uint8_t> got(x.size());
      const QuantRange r = quantize_dynamic_u8(isa, static_cast<int64_t>(x.size()), x.data(), got.data(), threads);
      EXPECT_EQ(r.scale, first.scale);
      EXPECT_EQ(r.zero_point, first.zero_point);
      EXPECT_EQ(got, want);
    }
  EXPECT_EQ(quantize_dynamic_u8(best_isa(), 0, nullptr, nullptr, 2).scale, 1.0f);
}

TEST(Quantize, Int32Biases) {
  const std::vector<int32_t> x = {0, 1, -1, 1000000, -2147483647};
  const float scale = 7.8e-10f;
  for (const TestLevel& level : test_levels()) {
    Floats out(x.size());
    level.leaves->dequantize_i32(static_cast<int64_t>(x.size()), x.data(), scale, 0, out.data());
    for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(out[i], static_cast<float>(x[i]) * scale) << level.name;
  }
}

}  // namespace
}  // namespace assay::kernels
