#include <gtest/gtest.h>

#include <cmath>

#include "kernels/internal.h"
#include "kernels/test_levels.h"

namespace assay::kernels {
namespace {

/// A product with everything that can vary, and its plain answer.
struct Case {
  int64_t m, k, n;
  bool a_signed = false, b_unsigned = false, transposed = false;
  bool row_zero_points = false, col_zero_points = false;
  int32_t a_zp = 0, b_zp = 0;
};

struct Data {
  std::vector<uint8_t> a, b;  // b is [K, N] in bits of its type
  std::vector<int32_t> a_zps, b_zps;
};

int32_t value(uint8_t bits, bool is_signed) { return is_signed ? static_cast<int8_t>(bits) : bits; }

Data make_data(const Case& c, uint64_t seed) {
  Rng rng(seed);
  Data d{random_bytes(rng, c.m * c.k), random_bytes(rng, c.k * c.n), {}, {}};
  for (int64_t i = 0; i < c.m; ++i) d.a_zps.push_back(static_cast<int32_t>(rng.below(256)) - (c.a_signed ? 128 : 0));
  for (int64_t i = 0; i < c.n; ++i) d.b_zps.push_back(static_cast<int32_t>(rng.below(256)) - (c.b_unsigned ? 0 : 128));
  return d;
}

std::vector<int32_t> plain(const Case& c, const Data& d) {
  std::vector<int32_t> out(static_cast<size_t>(c.m * c.n));
  for (int64_t m = 0; m < c.m; ++m)
    for (int64_t n = 0; n < c.n; ++n) {
      const int32_t za = c.row_zero_points ? d.a_zps[static_cast<size_t>(m)] : c.a_zp;
      const int32_t zb = c.col_zero_points ? d.b_zps[static_cast<size_t>(n)] : c.b_zp;
      int64_t sum = 0;
      for (int64_t k = 0; k < c.k; ++k)
        sum += int64_t{value(d.a[static_cast<size_t>(m * c.k + k)], c.a_signed) - za} *
               (value(d.b[static_cast<size_t>(k * c.n + n)], !c.b_unsigned) - zb);
      out[static_cast<size_t>(m * c.n + n)] = static_cast<int32_t>(sum);
    }
  return out;
}

/// B packed for a level, from [K, N] or (transposed) from [N, K].
struct PackedHolder {
  Aligned<std::byte> bytes;
  PackedInt8 view;
  PackedHolder(const Leaves& leaf, const Case& c, const std::vector<uint8_t>& b, int threads)
      : bytes(packed_int8_bytes(leaf, c.k, c.n), std::byte{0xcd}),
        view{leaf.isa, c.k, c.n, c.b_unsigned, bytes.data()} {
    if (c.transposed) {
      std::vector<uint8_t> t(b.size());
      for (int64_t k = 0; k < c.k; ++k)
        for (int64_t n = 0; n < c.n; ++n) t[static_cast<size_t>(n * c.k + k)] = b[static_cast<size_t>(k * c.n + n)];
      pack_int8(leaf, c.k, c.n, t.data(), c.k, c.b_unsigned, true, bytes.data(), threads);
    } else {
      pack_int8(leaf, c.k, c.n, b.data(), c.n, c.b_unsigned, false, bytes.data(), threads);
    }
  }
};

GemmInt8 arguments(const Case& c, const Data& d) {
  GemmInt8 g;
  g.m = c.m;
  g.a = d.a.data();
  g.a_stride = c.k;
  g.a_signed = c.a_signed;
  g.a_zero_point = c.a_zp;
  g.b_zero_point = c.b_zp;
  if (c.row_zero_points) g.a_zero_points = d.a_zps.data();
  if (c.col_zero_points) g.b_zero_points = d.b_zps.data();
  return g;
}

std::vector<int32_t> run_raw(const Leaves& leaf, const Case& c, const Data& d, int threads) {
  const PackedHolder b(leaf, c, d.b, threads);
  Aligned<std::byte> scratch(gemm_int8_scratch_bytes(leaf, c.m, c.n, c.k, threads), std::byte{0xcd});
  std::vector<int32_t> out(static_cast<size_t>(c.m * c.n), -77);
  GemmInt8 g = arguments(c, d);
  g.dst_i32 = out.data();
  g.dst_i32_stride = c.n;
  gemm_int8(leaf, b.view, g, scratch.data(), threads);
  return out;
}

TEST(GemmInt8, EveryLevelEqualsThePlainLoop) {
  const int64_t sizes[] = {1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 16, 17, 25, 31, 32, 33, 40, 64, 65, 70};
  Rng rng(1);
  int cases = 0;
  for (int64_t m : sizes)
    for (int64_t n : sizes) {
      Case c{m, sizes[rng.below(std::size(sizes))], n};
      c.a_signed = rng.below(2) != 0;
      c.b_unsigned = rng.below(2) != 0;
      c.transposed = rng.below(2) != 0;
      c.row_zero_points = rng.below(2) != 0;
      c.col_zero_points = rng.below(2) != 0;
      if (rng.below(2) != 0) c.a_zp = c.a_signed ? -7 : 131;
      if (rng.below(2) != 0) c.b_zp = c.b_unsigned ? 128 : 3;
      const Data d = make_data(c, static_cast<uint64_t>(m * 1000 + n));
      const auto expected = plain(c, d);
      for (const TestLevel& level : test_levels())
        ASSERT_EQ(run_raw(*level.leaves, c, d, 1 + static_cast<int>(rng.below(3))), expected)
            << level.name << " m " << m << " k " << c.k << " n " << n << " a_signed " << c.a_signed << " b_unsigned "
            << c.b_unsigned;
      ++cases;
    }
  EXPECT_EQ(cases, 400);
}

TEST(GemmInt8, EveryDepthFrom0To70) {
  for (int64_t k = 0; k <= 70; ++k) {
    Case c{7, k, 35};
    c.a_signed = k % 2 != 0;
    c.a_zp = c.a_signed ? 5 : 120;
    c.b_zp = k % 3 == 0 ? -2 : 0;
    const Data d = make_data(c, static_cast<uint64_t>(k));
    const auto expected = plain(c, d);
    for (const TestLevel& level : test_levels())
      ASSERT_EQ(run_raw(*level.leaves, c, d, 2), expected) << level.name << " k " << k;
  }
}

// microsoft/onnxruntime#6004: pair sums that saturate at 16 bits.
TEST(GemmInt8, ExtremeValuesDoNotSaturate) {
  for (int64_t k : {4, 6, 64, 1000, 1003, 3072})
    for (int sign : {1, -1}) {
      Case c{3, k, 33};
      Data d = make_data(c, 1);
      std::fill(d.a.begin(), d.a.end(), uint8_t{255});
      std::fill(d.b.begin(), d.b.end(), static_cast<uint8_t>(static_cast<int8_t>(sign > 0 ? 127 : -128)));
      const int32_t expected = static_cast<int32_t>(255 * k * (sign > 0 ? 127 : -128));
      for (const TestLevel& level : test_levels())
        for (int32_t v : run_raw(*level.leaves, c, d, 1)) ASSERT_EQ(v, expected) << level.name << " k " << k;
      c.a_signed = true;
      std::fill(d.a.begin(), d.a.end(), static_cast<uint8_t>(-128));
      for (const TestLevel& level : test_levels())
        for (int32_t v : run_raw(*level.leaves, c, d, 1))
          ASSERT_EQ(v, static_cast<int32_t>(-128 * k * (sign > 0 ? 127 : -128))) << level.name << " k " << k;
    }
}

// Weights as they are in models: narrow, with a few far out. Where a level has a kernel that sums pairs in 16 bits,
// these take it, and its clipped weights with their extra groups must give the exact sums for the largest activations
// too.
TEST(GemmInt8, NarrowWeightsWithOutliersAreExact) {
  Rng rng(12);
  int pair_safe = 0;
  for (int64_t m : {1, 2, 3, 4, 5, 6, 7, 20})
    for (int64_t k : {5, 8, 63, 256, 259, 1000})
      for (int64_t n : {1, 16, 40}) {
        Case c{m, k, n};
        c.a_signed = rng.below(2) != 0;
        c.b_unsigned = rng.below(2) != 0;
        c.row_zero_points = rng.below(2) != 0;
        c.b_zp = c.b_unsigned ? 130 : static_cast<int32_t>(rng.below(3));
        Data d = make_data(c, static_cast<uint64_t>(m + k + n));
        const uint8_t flip = c.b_unsigned ? 0x80 : 0;
        for (uint8_t& w : d.b)
          w = static_cast<uint8_t>(static_cast<uint8_t>(static_cast<int>(rng.below(100)) - 50) ^ flip);
        // A pair of the largest weights of one sign in every 64 of k, on both sides of the group of four.
        for (int64_t i = 0; i + 4 <= k; i += 64)
          for (int64_t j = 0; j < n; j += 3) {
            const auto big = static_cast<uint8_t>(static_cast<int8_t>(j % 2 == 0 ? 127 : -128));
            const int64_t at = i + (j % 4 < 2 ? 0 : 2);
            d.b[static_cast<size_t>(at * n + j)] = d.b[static_cast<size_t>((at + 1) * n + j)] =
                static_cast<uint8_t>(big ^ flip);
          }
        const auto top = static_cast<uint8_t>(c.a_signed ? 127 : 255);
        for (size_t i = 0; i < d.a.size(); i += 1 + rng.below(3)) d.a[i] = top;
        const auto expected = plain(c, d);
        for (const TestLevel& level : test_levels()) {
          ASSERT_EQ(run_raw(*level.leaves, c, d, 1 + static_cast<int>(rng.below(2))), expected)
              << level.name << " m " << m << " k " << k << " n " << n;
          if (level.leaves->pair_safe.tile != nullptr) {
            const PackedHolder b(*level.leaves, c, d.b, 1);
            int32_t taken;
            std::memcpy(&taken, b.bytes.data(), 4);
            pair_safe += taken;
          }
        }
      }
  if (isa_supported(Isa::kAvx2)) {
    EXPECT_EQ(pair_safe, 8 * 6 * 3);
  }
}

TEST(GemmInt8, EmptyProducts) {
  for (const TestLevel& level : test_levels()) {
    const Case no_rows{0, 8, 5};
    EXPECT_TRUE(run_raw(*level.leaves, no_rows, make_data(no_rows, 1), 2).empty());
    const Case no_columns{3, 8, 0};
    EXPECT_TRUE(run_raw(*level.leaves, no_columns, make_data(no_columns, 1), 2).empty());
  }
}

struct FloatOut {
  std::vector<float> f32;
  std::vector<uint8_t> bytes;
};

/// A dynamic product with everything the epilogue does, on every level and thread count: bits must agree with scalar,
/// one thread.
TEST(GemmInt8, FloatEpilogueIsBitEqualOverLevelsAndThreads) {
  Rng rng(3);
  const Case c{61, 130, 71, false, false, false, true, false, 0, 0};
  const Data d = make_data(c, 9);
  const auto row_scales = random_floats(rng, c.m, 0.01f, 0.02f), col_scales = random_floats(rng, c.n, 0.001f, 0.01f);
  const auto bias = random_floats(rng, c.n), residual = random_floats(rng, c.m * c.n);
  const auto acc = plain(c, d);
  for (Unary activation :
       {Unary::kNone, Unary::kRelu, Unary::kGeluErf, Unary::kGeluTanh, Unary::kTanh, Unary::kSigmoid})
    for (OutType type : {OutType::kF32, OutType::kU8, OutType::kS8}) {
      const auto run = [&](const Leaves& leaf, int threads) {
        const PackedHolder b(leaf, c, d.b, threads);
        Aligned<std::byte> scratch(gemm_int8_scratch_bytes(leaf, c.m, c.n, c.k, threads));
        FloatOut out{std::vector<float>(residual.size()), std::vector<uint8_t>(residual.size())};
        GemmInt8 g = arguments(c, d);
        g.a_scales = row_scales.data();
        g.b_scales = col_scales.data();
        g.epilogue.bias = bias.data();
        g.epilogue.activation = activation;
        g.epilogue.residual = residual.data();
        g.epilogue.residual_stride = c.n;
        g.epilogue.out_type = type;
        g.epilogue.out_scale = 0.03f;
        g.epilogue.out_zero_point = type == OutType::kU8 ? 100 : -3;
        g.epilogue.dst = type == OutType::kF32 ? static_cast<void*>(out.f32.data()) : out.bytes.data();
        g.epilogue.dst_stride = c.n;
        gemm_int8(leaf, b.view, g, scratch.data(), threads);
        return out;
      };
      const FloatOut expected = run(leaves(Isa::kScalar), 1);
      for (const TestLevel& level : test_levels())
        for (int threads : {1, 2, 3}) {
          const FloatOut got = run(*level.leaves, threads);
          ASSERT_EQ(0, std::memcmp(got.f32.data(), expected.f32.data(), got.f32.size() * 4)) << level.name;
          ASSERT_EQ(got.bytes, expected.bytes) << level.name;
        }
      if (type == OutType::kF32 && activation == Unary::kNone)
        for (int64_t i = 0; i < c.m * c.n; ++i) {
          const auto at = static_cast<size_t>(i), m = static_cast<size_t>(i / c.n), n = static_cast<size_t>(i % c.n);
          const double want = double{row_scales[m]} * col_scales[n] * acc[at] + bias[n] + residual[at];
          // Four roundings of terms no larger than the sum of their sizes.
          const double size =
              std::abs(double{row_scales[m]} * col_scales[n] * acc[at]) + std::abs(bias[n]) + std::abs(residual[at]);
          ASSERT_NEAR(expected.f32[at], want, 4 * 6e-8 * size);
        }
    }
}

// OpenNMT/CTranslate2#1050, microsoft/onnxruntime#10111: a row's result depends on its neighbours.
TEST(GemmInt8, ARowAloneEqualsTheRowBesideOthers) {
  Rng rng(5);
  const int64_t m = 37, k = 129, n = 67;
  for (const TestLevel& level : test_levels()) {
    const Leaves& leaf = *level.leaves;
    auto x = random_floats(rng, m * k);
    for (int64_t i = 0; i < k; ++i) x[static_cast<size_t>(k + i)] *= 1000.0f;
    const Case c{m, k, n};
    const Data d = make_data(c, 8);
    const PackedHolder b(leaf, c, d.b, 1);
    const auto run = [&](const float* rows, int64_t count, int threads) {
      std::vector<uint8_t> q(static_cast<size_t>(count * k));
      std::vector<float> scales(static_cast<size_t>(count)), out(static_cast<size_t>(count * n));
      std::vector<int32_t> zps(static_cast<size_t>(count));
      quantize_rows_u8(leaf, count, k, rows, k, q.data(), k, scales.data(), zps.data(), threads);
      Aligned<std::byte> scratch(gemm_int8_scratch_bytes(leaf, count, n, k, threads));
      GemmInt8 g;
      g.m = count;
      g.a = q.data();
      g.a_stride = k;
      g.a_zero_points = zps.data();
      g.a_scales = scales.data();
      g.b_scale = 0.01f;
      g.epilogue.dst = out.data();
      g.epilogue.dst_stride = n;
      gemm_int8(leaf, b.view, g, scratch.data(), threads);
      return out;
    };
    const auto all = run(x.data(), m, 2);
    for (int64_t r = 0; r < m; ++r) {
      const auto alone = run(x.data() + r * k, 1, 1);
      ASSERT_EQ(0, std::memcmp(alone.data(), all.data() + r * n, static_cast<size_t>(n) * 4))
          << level.name << " row " << r;
    }
  }
}

// Weights written to a file and mapped: the bytes alone, no pointers, decide.
TEST(GemmInt8, PackedBytesCanMove) {
  const Case c{5, 70, 40};
  const Data d = make_data(c, 4);
  for (const TestLevel& level : test_levels()) {
    const PackedHolder first(*level.leaves, c, d.b, 1), second(*level.leaves, c, d.b, 3);
    ASSERT_EQ(first.bytes.size(), second.bytes.size());
    EXPECT_EQ(0, std::memcmp(first.bytes.data(), second.bytes.data(), first.bytes.size())) << level.name;
  }
}

}  // namespace
}  // namespace assay::kernels
