#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "kernels/internal.h"
#include "kernels/test_levels.h"

namespace assay::kernels {
namespace {

using Floats = std::vector<float>;
constexpr float kInf = std::numeric_limits<float>::infinity();

double exact(Unary op, double x) {
  switch (op) {
    case Unary::kNone:
      return x;
    case Unary::kRelu:
      return x > 0 ? x : 0;
    case Unary::kGeluErf:
      return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
    case Unary::kGeluTanh:
      return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Unary::kErf:
      return std::erf(x);
    case Unary::kTanh:
      return std::tanh(x);
    case Unary::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case Unary::kSilu:
      return x / (1 + std::exp(-x));
    case Unary::kExp:
      return std::exp(x);
  }
  return x;
}

constexpr Unary kAll[] = {Unary::kNone, Unary::kRelu,    Unary::kGeluErf, Unary::kGeluTanh, Unary::kErf,
                          Unary::kTanh, Unary::kSigmoid, Unary::kSilu,    Unary::kExp};

/// A sweep through every magnitude, both signs.
Floats sweep() {
  Floats x;
  for (uint32_t bits = 0x1e000000u; bits < 0x43800000u; bits += 0x2345u) {  // 6e-21 to 256
    x.push_back(std::bit_cast<float>(bits));
    x.push_back(-x.back());
  }
  for (float v : {0.0f, -0.0f, 1e-45f, -1e-45f, 1e30f, -1e30f, 88.7f, 88.8f, -87.3f, -103.9f, -104.1f}) x.push_back(v);
  return x;
}

TEST(UnaryF32, ErrorsAreWithinWhatTheHeaderSays) {
  const Floats x = sweep();
  for (Unary op : kAll) {
    Floats y(x.size());
    leaves(best_isa()).unary(op, static_cast<int64_t>(x.size()), x.data(), y.data());
    double worst_ulp = 0, worst_absolute = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double want = exact(op, x[i]);
      const float want_f = static_cast<float>(want);
      if (std::isinf(want_f)) {
        ASSERT_EQ(y[i], want_f) << static_cast<int>(op) << " of " << x[i];
        continue;
      }
      const double error = std::abs(y[i] - want);
      const bool relative = (op != Unary::kGeluErf && op != Unary::kGeluTanh && op != Unary::kSilu) || x[i] > 0;
      if (relative && std::abs(want) > 1.2e-38) {
        const float a = std::abs(want_f);
        worst_ulp = std::max(worst_ulp, error / (double{std::nextafter(a, kInf)} - a));
      } else {
        worst_absolute = std::max(worst_absolute, error);
      }
    }
    EXPECT_LE(worst_ulp, 4.0) << static_cast<int>(op);
    EXPECT_LE(worst_absolute, 2e-7) << static_cast<int>(op);
  }
}

TEST(UnaryF32, EveryLevelGivesTheSameBits) {
  Floats x = sweep();
  x.resize(x.size() / 97 * 7 + 5);
  for (float v : {NAN, kInf, -kInf, 0.0f, -0.0f}) x.push_back(v);
  for (Unary op : kAll) {
    Floats want(x.size());
    leaves(Isa::kScalar).unary(op, static_cast<int64_t>(x.size()), x.data(), want.data());
    for (const TestLevel& level : test_levels()) {
      Floats got(x.size());
      level.leaves->unary(op, static_cast<int64_t>(x.size()), x.data(), got.data());
      for (size_t i = 0; i < x.size(); ++i)
        ASSERT_TRUE(same_bits(got[i], want[i])) << level.name << " op " << static_cast<int>(op) << " of " << x[i]
                                                << ": " << got[i] << " is not " << want[i];
    }
  }
}

TEST(UnaryF32, SpecialValues) {
  for (const TestLevel& level : test_levels()) {
    const auto f = [&](Unary op, float x) {
      float y;
      level.leaves->unary(op, 1, &x, &y);
      return y;
    };
    for (Unary op : kAll) EXPECT_TRUE(std::isnan(f(op, NAN))) << level.name << " op " << static_cast<int>(op);
    EXPECT_EQ(f(Unary::kExp, kInf), kInf);
    EXPECT_EQ(f(Unary::kExp, -kInf), 0.0f);
    EXPECT_EQ(f(Unary::kExp, 0.0f), 1.0f);
    EXPECT_EQ(f(Unary::kTanh, kInf), 1.0f);
    EXPECT_EQ(f(Unary::kTanh, -kInf), -1.0f);
    EXPECT_EQ(f(Unary::kErf, kInf), 1.0f);
    EXPECT_EQ(f(Unary::kErf, -kInf), -1.0f);
    EXPECT_EQ(f(Unary::kSigmoid, kInf), 1.0f);
    EXPECT_EQ(f(Unary::kSigmoid, -kInf), 0.0f);
    for (Unary op : {Unary::kGeluErf, Unary::kGeluTanh, Unary::kSilu}) {
      EXPECT_EQ(f(op, kInf), kInf);
      EXPECT_EQ(f(op, -kInf), 0.0f) << level.name << " op " << static_cast<int>(op);
    }
    EXPECT_EQ(f(Unary::kRelu, -kInf), 0.0f);
  }
}

Norm norm_case(int64_t rows, int64_t n, const Floats& x, const Floats& gamma, const Floats& beta) {
  Norm a;
  a.rows = rows;
  a.n = n;
  a.src = x.data();
  a.src_stride = n;
  a.gamma = gamma.data();
  a.beta = beta.data();
  a.dst_stride = n;
  return a;
}

TEST(Norm, LayerNormAndRmsNormAgainstDouble) {
  Rng rng(11);
  for (int64_t n : {1, 2, 15, 16, 17, 31, 33, 64, 100, 384})
    for (bool rms : {false, true})
      for (bool with_residual : {false, true}) {
        const int64_t rows = 5;
        const Floats x = random_floats(rng, rows * n, -3, 5), r = random_floats(rng, rows * n),
                     gamma = random_floats(rng, n), beta = random_floats(rng, n);
        Norm a = norm_case(rows, n, x, gamma, beta);
        a.rms = rms;
        Floats sum(x.size(), NAN);
        if (with_residual) {
          a.residual = r.data();
          a.residual_stride = n;
          a.sum_out = sum.data();
          a.sum_stride = n;
        }
        Floats first;
        for (const TestLevel& level : test_levels())
          for (int threads : {1, 3}) {
            Floats out(x.size(), NAN);
            a.dst = out.data();
            norm_f32(*level.leaves, a, threads);
            if (first.empty()) first = out;
            for (size_t i = 0; i < out.size(); ++i)
              ASSERT_TRUE(same_bits(out[i], first[i])) << level.name << " n " << n;
          }
        for (int64_t row = 0; row < rows; ++row) {
          double mean = 0, square = 0;
          std::vector<double> v;
          for (int64_t i = 0; i < n; ++i) {
            const auto at = static_cast<size_t>(row * n + i);
            const float s = with_residual ? x[at] + r[at] : x[at];
            if (with_residual) {
              ASSERT_EQ(sum[at], s);
            }
            v.push_back(s);
            mean += s;
          }
          mean = rms ? 0 : mean / static_cast<double>(n);
          for (double s : v) square += (s - mean) * (s - mean);
          const double inverse = 1 / std::sqrt(square / static_cast<double>(n) + double{a.eps});
          for (int64_t i = 0; i < n; ++i) {
            const auto c = static_cast<size_t>(i);
            // The mean's error, a few roundings of its size, is scaled by 1 / deviation.
            ASSERT_NEAR(first[static_cast<size_t>(row * n) + c], (v[c] - mean) * inverse * gamma[c] + beta[c],
                        1e-6 * (1 + 6 * inverse))
                << "n " << n << " rms " << rms;
          }
        }
      }
}

TEST(Norm, EmitsTheSameBytesAsQuantizingItsOutput) {
  Rng rng(12);
  const int64_t rows = 7, n = 100;
  const Floats x = random_floats(rng, rows * n), gamma = random_floats(rng, n), beta = random_floats(rng, n);
  for (const TestLevel& level : test_levels()) {
    Norm a = norm_case(rows, n, x, gamma, beta);
    Floats out(x.size()), scales(rows), want_scales(rows);
    std::vector<uint8_t> q(x.size()), want(x.size());
    std::vector<int32_t> zps(rows), want_zps(rows);
    a.dst = out.data();
    a.q = q.data();
    a.q_stride = n;
    a.q_scales = scales.data();
    a.q_zero_points = zps.data();
    norm_f32(*level.leaves, a, 2);
    quantize_rows_u8(*level.leaves, rows, n, out.data(), n, want.data(), n, want_scales.data(), want_zps.data(), 1);
    EXPECT_EQ(q, want) << level.name;
    EXPECT_EQ(scales, want_scales);
    EXPECT_EQ(zps, want_zps);
  }
}

TEST(Softmax, AgainstDoubleWithMaskAndBitEqualOverLevels) {
  Rng rng(13);
  for (int64_t n : {1, 2, 15, 16, 17, 40, 100, 384})
    for (bool masked : {false, true}) {
      const int64_t rows = 6;
      const Floats x = random_floats(rng, rows * n, -20, 20);
      Floats mask = random_floats(rng, 2 * n, -1, 1);
      for (int64_t i = 1; i < 2 * n; i += 3) mask[static_cast<size_t>(i)] = i % n == 0 ? 0.0f : -kInf;
      Floats first;
      for (const TestLevel& level : test_levels()) {
        Floats out(x.size(), NAN);
        for (int64_t r = 0; r < rows; ++r)
          level.leaves->softmax_row(n, x.data() + r * n, masked ? mask.data() + r / 2 % 2 * n : nullptr,
                                    out.data() + r * n);
        if (first.empty()) first = out;
        for (size_t i = 0; i < out.size(); ++i) ASSERT_TRUE(same_bits(out[i], first[i])) << level.name << " n " << n;
      }
      Floats driver(x.size(), NAN);
      softmax_f32(best_isa(), rows, n, x.data(), masked ? mask.data() : nullptr, 2, 2, driver.data(), 3);
      for (size_t i = 0; i < first.size(); ++i) ASSERT_TRUE(same_bits(driver[i], first[i]));
      for (int64_t r = 0; r < rows; ++r) {
        std::vector<double> p;
        double max = -INFINITY, sum = 0;
        for (int64_t i = 0; i < n; ++i) {
          const float v =
              x[static_cast<size_t>(r * n + i)] + (masked ? mask[static_cast<size_t>(r / 2 % 2 * n + i)] : 0.0f);
          p.push_back(v);
          max = std::max<double>(max, v);
        }
        for (double& v : p) sum += v = std::exp(v - max);
        for (int64_t i = 0; i < n; ++i)
          ASSERT_NEAR(first[static_cast<size_t>(r * n + i)], p[static_cast<size_t>(i)] / sum,
                      4e-6 * p[static_cast<size_t>(i)] / sum + 1e-38);
      }
    }
}

}  // namespace
}  // namespace assay::kernels
