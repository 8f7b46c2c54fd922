#include <gtest/gtest.h>

#include <cmath>

#include "kernels/internal.h"
#include "kernels/test_levels.h"

namespace assay::kernels {
namespace {

using Floats = std::vector<float>;

/// The bound on a chain of k fused multiply-adds and a few more operations: (k + 4) roundings of the sum of absolute
/// terms.
double bound(int64_t k, double size) { return static_cast<double>(k + 4) * 6e-8 * size + 1e-30; }

struct Answer {
  std::vector<double> value, size;
};

/// A [m, k] and B [k, n] in double, with the sums of absolute terms.
Answer plain(const Floats& a, const Floats& b, int64_t m, int64_t k, int64_t n) {
  Answer r{std::vector<double>(static_cast<size_t>(m * n)), std::vector<double>(static_cast<size_t>(m * n))};
  for (int64_t i = 0; i < m; ++i)
    for (int64_t p = 0; p < k; ++p)
      for (int64_t j = 0; j < n; ++j) {
        const double x = double{a[static_cast<size_t>(i * k + p)]} * b[static_cast<size_t>(p * n + j)];
        r.value[static_cast<size_t>(i * n + j)] += x;
        r.size[static_cast<size_t>(i * n + j)] += std::abs(x);
      }
  return r;
}

Floats transposed(const Floats& x, int64_t rows, int64_t cols) {
  Floats t(x.size());
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j) t[static_cast<size_t>(j * rows + i)] = x[static_cast<size_t>(i * cols + j)];
  return t;
}

Floats run_packed(const Leaves& leaf, const Floats& a, const Floats& b, int64_t m, int64_t k, int64_t n,
                  bool b_transposed, int threads, Epilogue e = {}) {
  Aligned<float> packed(packed_f32_bytes(leaf, k, n) / 4, NAN);
  pack_f32(leaf, k, n, b.data(), b_transposed ? k : n, b_transposed, packed.data(), threads);
  Aligned<std::byte> scratch(gemm_f32_packed_scratch_bytes(leaf, m, n, k, threads), std::byte{0xff});
  Floats out(static_cast<size_t>(m * n), NAN);
  e.dst = out.data();
  e.dst_stride = n;
  gemm_f32_packed(leaf, {leaf.isa, k, n, packed.data()}, m, a.data(), k, e, scratch.data(), threads);
  return out;
}

TEST(GemmF32, PackedIsWithinItsBoundAndBitEqualOverLevelsAndThreads) {
  const int64_t sizes[] = {1, 2, 3, 5, 6, 7, 12, 13, 16, 17, 31, 33, 48, 70};
  Rng rng(2);
  for (int64_t m : sizes)
    for (int64_t n : sizes) {
      const int64_t k =
          rng.below(8) == 0 ? 300 + static_cast<int64_t>(rng.below(300)) : sizes[rng.below(std::size(sizes))];
      const Floats a = random_floats(rng, m * k), b = random_floats(rng, k * n);
      const Answer want = plain(a, b, m, k, n);
      const Floats first = run_packed(leaves(Isa::kScalar), a, b, m, k, n, false, 1);
      for (size_t i = 0; i < first.size(); ++i)
        ASSERT_NEAR(first[i], want.value[i], bound(k, want.size[i])) << m << " " << k << " " << n;
      const Floats bt = transposed(b, k, n);
      for (const TestLevel& level : test_levels()) {
        const bool flip = rng.below(2) != 0;
        const Floats got =
            run_packed(*level.leaves, a, flip ? bt : b, m, k, n, flip, 1 + static_cast<int>(rng.below(3)));
        ASSERT_EQ(0, std::memcmp(got.data(), first.data(), got.size() * 4))
            << level.name << " " << m << " " << k << " " << n;
      }
    }
}

TEST(GemmF32, ManyRowsOverSeveralBlocks) {
  Rng rng(4);
  const int64_t m = 150, k = 777, n = 50;  // blocks of rows and several depths
  const Floats a = random_floats(rng, m * k), b = random_floats(rng, k * n), bias = random_floats(rng, n);
  const Answer want = plain(a, b, m, k, n);
  Epilogue e;
  e.bias = bias.data();
  e.activation = Unary::kRelu;
  const Floats first = run_packed(leaves(Isa::kScalar), a, b, m, k, n, false, 1, e);
  for (int64_t i = 0; i < m * n; ++i) {
    const auto at = static_cast<size_t>(i);
    ASSERT_NEAR(first[at], std::max(0.0, want.value[at] + bias[static_cast<size_t>(i % n)]),
                bound(k, want.size[at] + 1));
  }
  for (const TestLevel& level : test_levels())
    for (int threads : {1, 2, 5}) {
      const Floats got = run_packed(*level.leaves, a, b, m, k, n, false, threads, e);
      ASSERT_EQ(0, std::memcmp(got.data(), first.data(), got.size() * 4)) << level.name << " threads " << threads;
    }
}

TEST(GemmF32, ARowAloneEqualsTheRowBesideOthers) {
  Rng rng(6);
  const int64_t m = 29, k = 65, n = 45;
  Floats a = random_floats(rng, m * k);
  const Floats b = random_floats(rng, k * n);
  for (int64_t i = 0; i < k; ++i) a[static_cast<size_t>(i)] *= 1000.0f;
  for (const TestLevel& level : test_levels()) {
    const Floats all = run_packed(*level.leaves, a, b, m, k, n, false, 2);
    for (int64_t r = 0; r < m; ++r) {
      const Floats row(a.begin() + r * k, a.begin() + (r + 1) * k);
      const Floats alone = run_packed(*level.leaves, row, b, 1, k, n, false, 1);
      ASSERT_EQ(0, std::memcmp(alone.data(), all.data() + r * n, static_cast<size_t>(n) * 4))
          << level.name << " row " << r;
    }
  }
}

TEST(GemmF32, InPlaceResidualAndEmptyDepth) {
  Rng rng(7);
  const int64_t m = 9, k = 20, n = 40;
  const Floats a = random_floats(rng, m * k), b = random_floats(rng, k * n), start = random_floats(rng, m * n);
  const Answer want = plain(a, b, m, k, n);
  for (const TestLevel& level : test_levels()) {
    const Leaves& leaf = *level.leaves;
    Aligned<float> packed(packed_f32_bytes(leaf, k, n) / 4);
    pack_f32(leaf, k, n, b.data(), n, false, packed.data(), 1);
    Floats out = start;
    Epilogue e;
    e.residual = out.data();
    e.residual_stride = n;
    e.dst = out.data();
    e.dst_stride = n;
    Aligned<std::byte> scratch(gemm_f32_packed_scratch_bytes(leaf, m, n, k, 2));
    gemm_f32_packed(leaf, {leaf.isa, k, n, packed.data()}, m, a.data(), k, e, scratch.data(), 2);
    for (size_t i = 0; i < out.size(); ++i)
      ASSERT_NEAR(out[i], want.value[i] + start[i], bound(k, want.size[i] + 2)) << level.name;
    Floats zeros = run_packed(leaf, {}, {}, 3, 0, 5, false, 1);
    EXPECT_EQ(zeros, Floats(15, 0.0f)) << level.name;
  }
}

TEST(GemmF32, BatchesOfActivations) {
  Rng rng(8);
  const int64_t batch = 3;
  for (int64_t m : {1, 7, 40})
    for (int64_t n : {1, 16, 37})
      for (int64_t k : {1, 30, 270})
        for (int flags = 0; flags < 8; ++flags) {
          const bool trans_a = (flags & 1) != 0, trans_b = (flags & 2) != 0, share_b = (flags & 4) != 0;
          Floats a, b, expected_scalar;
          std::vector<Answer> want;
          std::vector<Floats> bs;
          for (int64_t i = 0; i < batch; ++i) {
            const Floats ai = random_floats(rng, m * k), bi = i > 0 && share_b ? bs[0] : random_floats(rng, k * n);
            bs.push_back(bi);
            want.push_back(plain(ai, bi, m, k, n));
            const Floats as = trans_a ? transposed(ai, m, k) : ai;
            a.insert(a.end(), as.begin(), as.end());
            if (i == 0 || !share_b) {
              const Floats b_stored = trans_b ? transposed(bi, k, n) : bi;
              b.insert(b.end(), b_stored.begin(), b_stored.end());
            }
          }
          GemmF32 g;
          g.batch = batch;
          g.m = m;
          g.n = n;
          g.k = k;
          g.a = a.data();
          g.a_stride = trans_a ? m : k;
          g.trans_a = trans_a;
          g.a_batch = m * k;
          g.b = b.data();
          g.b_stride = trans_b ? k : n;
          g.trans_b = trans_b;
          g.b_batch = share_b ? 0 : k * n;
          g.dst_batch = m * n;
          g.alpha = 0.5f;
          g.epilogue.dst_stride = n;
          Floats first;
          for (const TestLevel& level : test_levels())
            for (int threads : {1, 3}) {
              Floats out(static_cast<size_t>(batch * m * n), NAN);
              g.epilogue.dst = out.data();
              Aligned<std::byte> scratch(gemm_f32_scratch_bytes(*level.leaves, g, threads), std::byte{0xff});
              gemm_f32(*level.leaves, g, scratch.data(), threads);
              if (first.empty()) first = out;
              ASSERT_EQ(0, std::memcmp(out.data(), first.data(), out.size() * 4)) << level.name << " flags " << flags;
            }
          for (int64_t i = 0; i < batch; ++i)
            for (int64_t j = 0; j < m * n; ++j)
              ASSERT_NEAR(first[static_cast<size_t>(i * m * n + j)],
                          0.5 * want[static_cast<size_t>(i)].value[static_cast<size_t>(j)],
                          bound(k, want[static_cast<size_t>(i)].size[static_cast<size_t>(j)]));
        }
}

}  // namespace
}  // namespace assay::kernels
