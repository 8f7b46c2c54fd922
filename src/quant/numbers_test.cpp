#include "quant/numbers.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

namespace assay::quant {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(Numbers, CodeRanges) {
  const auto is = [](CodeRange r, int32_t lo, int32_t hi) { return r.lo == lo && r.hi == hi; };
  EXPECT_TRUE(is(code_range(DType::kUint8, false, false), 0, 255));
  EXPECT_TRUE(is(code_range(DType::kInt8, false, false), -128, 127));
  EXPECT_TRUE(is(code_range(DType::kInt8, true, false), -127, 127));
  EXPECT_TRUE(is(code_range(DType::kInt8, true, true), -64, 64));
  EXPECT_TRUE(is(code_range(DType::kUint8, true, true), 0, 127));
  EXPECT_THROW(code_range(DType::kInt32, false, false), Error);
}

// All-zero tensors, one value everywhere, tiny and huge ranges: the scale is finite and > 0
// (microsoft/onnxruntime#12470).
TEST(Numbers, ScaleIsAlwaysFiniteAndPositive) {
  const CodeRange u8 = code_range(DType::kUint8, false, false);
  EXPECT_EQ(scale_zero(0, 0, u8, false), (ScaleZero{1.0f, 0}));
  EXPECT_EQ(scale_zero(0, 1e-38f, u8, false), (ScaleZero{1.0f, 0}));
  EXPECT_EQ(scale_zero(0.5f, 0.5f, u8, false), (ScaleZero{0.5f / 255.0f, 0}));
  const float big = std::numeric_limits<float>::max();
  EXPECT_TRUE(std::isfinite(scale_zero(-big, big, u8, false).scale));
  EXPECT_EQ(scale_zero(-1, 1, u8, true).zero_point, 128);  // 127.5 rounds to even
  EXPECT_EQ(scale_zero(-1, 1, code_range(DType::kInt8, true, false), true), (ScaleZero{1.0f / 127.0f, 0}));
  try {
    scale_zero(kNan, 1, u8, false);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kNumeric);
  }
}

TEST(Numbers, MinMaxCountsWhatIsNotFinite) {
  const std::vector<float> v{kNan, 1, 2, 3, kNan, kInf, -4, 5, 6};
  const MinMax m = min_max(v.data(), 9, 1);
  EXPECT_EQ(m.lo, -4.0f);
  EXPECT_EQ(m.hi, 6.0f);
  EXPECT_EQ(m.finite, 6);
  EXPECT_EQ(m.not_finite, 3);
  const std::vector<float> none(5, kNan);
  EXPECT_EQ(min_max(none.data(), 5, 1).finite, 0);
}

TEST(Numbers, RoundsHalfToEvenAndSaturates) {
  const Tensor w = Tensor::from<float>({9}, {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 300.0f, -300.0f, 127.5f, 1e30f});
  const QuantizedTensor q = quantize_tensor(w, {DType::kInt8, false, false, -1}, std::vector<ScaleZero>{{1.0f, 0}}, 1);
  const auto codes = q.codes.values<int8_t>();
  EXPECT_EQ(std::vector<int>(codes.begin(), codes.end()), (std::vector<int>{0, 2, 2, 0, -2, 127, -128, 127, 127}));
}

// microsoft/onnxruntime#18576, #22741, #3442: whatever the length (vectors, tails), cut and type, codes are
// round-half-even(x / scale) + zero point, then saturated to all of the type: ties of either parity, values far beyond.
TEST(Numbers, EveryPathRoundsHalfToEvenAndSaturates) {
  const auto plain = [](float x, const ScaleZero& p, DType type) {
    const CodeRange full = full_range(type);
    const double q = std::nearbyint(static_cast<double>(x / p.scale)) + p.zero_point;
    return static_cast<int>(std::min<double>(std::max<double>(q, full.lo), full.hi));
  };
  const float far[] = {1e30f, -1e30f, std::numeric_limits<float>::max(), 1e-40f, -0.0f};
  for (const DType type : {DType::kInt8, DType::kUint8})
    for (const int64_t columns : {1, 5, 15, 16, 17, 33, 70})
      for (const int axis : {-1, 0, 1}) {
        const int64_t rows = 9;
        Tensor w(DType::kFloat32, Shape{rows, columns});
        for (int64_t i = 0; i < w.elements(); ++i)
          w.mutable_view().as<float>()[i] =
              i % 11 == 10 ? far[i / 11 % 5] : static_cast<float>((i * 37) % 601 - 300) / 2;
        std::vector<ScaleZero> params;
        for (int64_t c = 0; c < (axis < 0 ? 1 : axis == 0 ? rows : columns); ++c)
          params.push_back(
              {c % 3 == 0 ? 1.0f : 0.5f, static_cast<int32_t>(c % 7) + (type == DType::kUint8 ? 100 : -3)});
        const QuantizedTensor q = quantize_tensor(w, {type, false, false, axis}, params, 2);
        for (int64_t i = 0; i < w.elements(); ++i) {
          const ScaleZero& p = params[static_cast<size_t>(axis < 0 ? 0 : axis == 0 ? i / columns : i % columns)];
          const int got = type == DType::kInt8 ? q.codes.values<int8_t>()[static_cast<size_t>(i)]
                                               : q.codes.values<uint8_t>()[static_cast<size_t>(i)];
          const float x = w.values<float>()[static_cast<size_t>(i)];
          ASSERT_EQ(got, plain(x, p, type)) << x << " columns " << columns << " axis " << axis;
        }
      }
}

// microsoft/onnxruntime#23749, microsoft/Olive#1320: values that are not finite, anywhere in any block, are counted and
// left out.
TEST(Numbers, MinMaxLeavesOutWhatIsNotFiniteInEveryBlock) {
  for (const int64_t n : {5000, 8192, 200000})
    for (const int64_t at : {int64_t{0}, int64_t{4095}, int64_t{4096}, n - 1})
      for (const float bad : {kNan, kInf, -kInf}) {
        std::vector<float> v(static_cast<size_t>(n));
        for (int64_t i = 0; i < n; ++i) v[static_cast<size_t>(i)] = static_cast<float>(i % 1000) - 300.0f;
        v[static_cast<size_t>(at)] = bad;
        for (const int threads : {1, 2}) {
          const MinMax m = min_max(v.data(), n, threads);
          EXPECT_EQ(m.lo, -300.0f);
          EXPECT_EQ(m.hi, 699.0f);
          EXPECT_EQ(m.not_finite, 1);
          EXPECT_EQ(m.finite, n - 1);
        }
      }
}

TEST(Numbers, NotFiniteWeightIsAnError) {
  EXPECT_THROW(quantize_tensor(Tensor::from<float>({2}, {1, kNan}), {}, 1), Error);
  EXPECT_THROW(quantize_tensor(Tensor::from<float>({2, 2}, {1, 2, kInf, 4}), {DType::kInt8, true, false, 1}, 1), Error);
}

// A group of zeros beside others quantizes to zeros with a finite scale (ModelCloud/GPTQModel#1531).
TEST(Numbers, ZeroChannelStaysZero) {
  const QuantizedTensor q =
      quantize_tensor(Tensor::from<float>({2, 3}, {1, 0, -2, 3, 0, 4}), {DType::kInt8, true, false, 1}, 1);
  EXPECT_EQ(q.scales[1], 1.0f);
  EXPECT_EQ(q.codes.values<int8_t>()[1], 0);
  EXPECT_EQ(q.codes.values<int8_t>()[4], 0);
}

struct Case {
  Tensor weight;
  WeightSpec spec;
};

// Shapes of rank 2 and 3, every axis or none, both types, values over many magnitudes.
Case any_case() {
  const int rank = *rc::gen::inRange(2, 4);
  Shape shape;
  for (int i = 0; i < rank; ++i) shape.push_back(*rc::gen::inRange(1, 9));
  Tensor w(DType::kFloat32, shape);
  const float magnitude = std::pow(10.0f, static_cast<float>(*rc::gen::inRange(-6, 6)));
  for (float& x : w.mutable_view().values<float>())
    x = magnitude * static_cast<float>(*rc::gen::inRange(-1000, 1000)) / 777.0f;
  WeightSpec spec;
  spec.dtype = *rc::gen::element(DType::kInt8, DType::kUint8);
  spec.symmetric = *rc::gen::arbitrary<bool>();
  spec.reduced = *rc::gen::arbitrary<bool>();
  spec.axis = *rc::gen::inRange(-1, rank);
  return {w, spec};
}

RC_GTEST_PROP(NumbersProperty, ErrorIsAtMostHalfAStepAndZeroStaysZero, ()) {
  const Case c = any_case();
  const QuantizedTensor q = quantize_tensor(c.weight, c.spec, 1);
  const Tensor back = dequantize(q);
  const auto x = c.weight.values<float>(), y = back.values<float>();
  for (float scale : q.scales) RC_ASSERT(std::isfinite(scale) && scale > 0.0f);
  const Shape& shape = c.weight.shape();
  const int64_t inner = c.spec.axis < 0 ? 1 : shape.elements(c.spec.axis + 1, shape.rank());
  for (int64_t i = 0; i < c.weight.elements(); ++i) {
    const auto at = static_cast<size_t>(i);
    const auto channel = c.spec.axis < 0 ? size_t{0} : static_cast<size_t>(i / inner % shape[c.spec.axis]);
    RC_ASSERT(std::abs(x[at] - y[at]) <= q.scales[channel] * 0.5001f);
    if (x[at] == 0.0f) RC_ASSERT(y[at] == 0.0f);
  }
}

// microsoft/onnxruntime#12470: any two ends, from denormals to the largest float, equal or not, on either side of zero:
// the scale is finite and > 0, zero is exact, and the ends come back to within half a step (or are below every normal
// scale).
RC_GTEST_PROP(NumbersProperty, AnyRangeGivesAUsableScale, ()) {
  const auto end = [] {
    const float kinds[] = {0.0f, 1e-45f, 1e-38f, 0.5f, 1.0f, 1e30f, std::numeric_limits<float>::max()};
    const float v = kinds[*rc::gen::inRange(0, 7)] * (static_cast<float>(*rc::gen::inRange(1, 1001)) / 1000.0f);
    return *rc::gen::arbitrary<bool>() ? v : -v;
  };
  const float a = end(), b = *rc::gen::arbitrary<bool>() ? a : end();
  const float lo = std::min(a, b), hi = std::max(a, b);
  const DType type = *rc::gen::element(DType::kInt8, DType::kUint8);
  const bool symmetric = *rc::gen::arbitrary<bool>();
  const CodeRange codes = code_range(type, symmetric, *rc::gen::arbitrary<bool>());
  const ScaleZero p = scale_zero(lo, hi, codes, symmetric);
  RC_ASSERT(std::isfinite(p.scale) && p.scale > 0.0f);
  RC_ASSERT(p.zero_point >= full_range(type).lo && p.zero_point <= full_range(type).hi);
  const Tensor w = Tensor::from<float>({3}, {lo, 0.0f, hi});
  const auto back = dequantize(quantize_tensor(w, {type, symmetric, false, -1}, std::vector<ScaleZero>{p}, 1));
  const auto y = back.values<float>();
  RC_ASSERT(y[1] == 0.0f);
  const double tiny = 256.0 * static_cast<double>(std::numeric_limits<float>::min());
  const double step = static_cast<double>(p.scale);
  for (size_t i : {size_t{0}, size_t{2}}) {
    const double x = static_cast<double>(w.values<float>()[i]);
    // The zero point is rounded too: up to half a step more at an end.
    const bool nothing = p == ScaleZero{} && std::abs(x) < tiny;
    RC_ASSERT(nothing || std::abs(x - static_cast<double>(y[i])) <= 1.0001 * step);
  }
}

RC_GTEST_PROP(NumbersProperty, ThreadsAndNeighboursChangeNothing, ()) {
  const Case c = any_case();
  const QuantizedTensor one = quantize_tensor(c.weight, c.spec, 1), two = quantize_tensor(c.weight, c.spec, 2);
  RC_ASSERT(one.scales == two.scales);
  RC_ASSERT(one.zero_points == two.zero_points);
  const auto a = one.codes.raw(), b = two.codes.raw();
  RC_ASSERT(std::equal(a.begin(), a.end(), b.begin()));
}

TEST(Numbers, Sqnr) {
  const std::vector<float> x{3, 4}, y{3, 3.5f};
  EXPECT_NEAR(sqnr_db(x.data(), y.data(), 2), 20.0, 1e-6);
  EXPECT_EQ(sqnr_db(x.data(), x.data(), 2), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace assay::quant
