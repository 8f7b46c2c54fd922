#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/internal.h"
#include "kernels/test_levels.h"

namespace assay::kernels {
namespace {

using Floats = std::vector<float>;
constexpr float kInf = std::numeric_limits<float>::infinity();

struct Batch {
  std::vector<int64_t> q_splits, k_splits;
  int heads = 2, kv_heads = 2;
  int64_t dim = 8, value_dim = 8;
  bool causal = false;
  bool key_mask = false, bias = false;
};

struct Inputs {
  Floats q, k, v, key_mask, bias;
  int64_t max_keys = 0, max_queries = 0;
};

Inputs make_inputs(const Batch& s, uint64_t seed) {
  Rng rng(seed);
  Inputs in;
  const int64_t tokens = s.q_splits.back(), keys = s.k_splits.back();
  in.q = random_floats(rng, tokens * s.heads * s.dim, -2, 2);
  in.k = random_floats(rng, keys * s.kv_heads * s.dim, -2, 2);
  in.v = random_floats(rng, keys * s.kv_heads * s.value_dim);
  in.key_mask = random_floats(rng, keys);
  for (float& x : in.key_mask)
    if (x < -0.6f) x = -kInf;
  for (size_t i = 0; i + 1 < s.q_splits.size(); ++i) {
    in.max_keys = std::max(in.max_keys, s.k_splits[i + 1] - s.k_splits[i]);
    in.max_queries = std::max(in.max_queries, s.q_splits[i + 1] - s.q_splits[i]);
  }
  in.bias = random_floats(rng, s.heads * in.max_queries * in.max_keys);
  return in;
}

Attention arguments(const Batch& s, const Inputs& in) {
  Attention a;
  a.batch = static_cast<int64_t>(s.q_splits.size()) - 1;
  a.query_splits = s.q_splits.data();
  a.key_splits = s.k_splits.data();
  a.heads = s.heads;
  a.kv_heads = s.kv_heads;
  a.head_dim = s.dim;
  a.value_dim = s.value_dim;
  a.q = in.q.data();
  a.q_stride = s.heads * s.dim;
  a.k = in.k.data();
  a.k_stride = s.kv_heads * s.dim;
  a.v = in.v.data();
  a.v_stride = s.kv_heads * s.value_dim;
  a.scale = 0.37f;
  a.causal = s.causal;
  if (s.key_mask) a.key_mask = in.key_mask.data();
  if (s.bias) {
    a.bias = in.bias.data();
    a.bias_head = in.max_queries * in.max_keys;
    a.bias_row = in.max_keys;
  }
  a.dst_stride = s.heads * s.value_dim;
  return a;
}

/// The formula in double.
std::vector<double> plain(const Attention& a) {
  std::vector<double> out(static_cast<size_t>(a.query_splits[a.batch] * a.dst_stride));
  for (int64_t s = 0; s < a.batch; ++s)
    for (int64_t h = 0; h < a.heads; ++h) {
      const int64_t kv = h / (a.heads / a.kv_heads);
      const int64_t q0 = a.query_splits[s], nq = a.query_splits[s + 1] - q0, k0 = a.key_splits[s],
                    nk = a.key_splits[s + 1] - k0;
      for (int64_t i = 0; i < nq; ++i) {
        std::vector<double> p(static_cast<size_t>(nk));
        double max = -INFINITY, sum = 0;
        for (int64_t j = 0; j < nk; ++j) {
          double x = 0;
          for (int64_t d = 0; d < a.head_dim; ++d)
            x += double{a.q[(q0 + i) * a.q_stride + h * a.head_dim + d]} *
                 a.k[(k0 + j) * a.k_stride + kv * a.head_dim + d];
          x *= a.scale;
          if (a.key_mask != nullptr) x += a.key_mask[k0 + j];
          if (a.bias != nullptr) x += a.bias[s * a.bias_batch + h * a.bias_head + i * a.bias_row + j];
          if (a.causal && j > i + nk - nq) x = -INFINITY;
          p[static_cast<size_t>(j)] = x;
          max = std::max(max, x);
        }
        for (double& x : p) {
          x = max == -INFINITY ? 0 : std::exp(x - max);
          sum += x;
        }
        for (int64_t d = 0; d < a.value_dim; ++d) {
          double y = 0;
          for (int64_t j = 0; j < nk; ++j)
            y += p[static_cast<size_t>(j)] * a.v[(k0 + j) * a.v_stride + kv * a.value_dim + d];
          out[static_cast<size_t>((q0 + i) * a.dst_stride + h * a.value_dim + d)] = sum > 0 ? y / sum : 0;
        }
      }
    }
  return out;
}

Floats run(const Leaves& leaf, Attention a, int64_t max_keys, int threads) {
  Floats out(static_cast<size_t>(a.query_splits[a.batch] * a.dst_stride), NAN);
  Aligned<std::byte> scratch(attention_scratch_bytes(leaf, max_keys, a.head_dim, a.value_dim, threads),
                             std::byte{0xff});
  a.dst = out.data();
  attention_f32(leaf, a, max_keys, scratch.data(), threads);
  return out;
}

void check(const Batch& s, uint64_t seed) {
  const Inputs in = make_inputs(s, seed);
  const Attention a = arguments(s, in);
  const auto want = plain(a);
  const Floats first = run(leaves(Isa::kScalar), a, in.max_keys, 1);
  // Scores of size up to 0.37 * 4 * dim carry dim roundings; exp turns their error into a relative one of the weights.
  const double tolerance = 1.5e-7 * static_cast<double>(s.dim + 8) * static_cast<double>(s.dim) * 0.37 * 4 + 4e-6;
  for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(first[i], want[i], tolerance) << "dim " << s.dim << " at " << i;
  for (const TestLevel& level : test_levels())
    for (int threads : {1, 2, 3}) {
      const Floats got = run(*level.leaves, a, in.max_keys, threads);
      ASSERT_EQ(0, std::memcmp(got.data(), first.data(), got.size() * 4))
          << level.name << " threads " << threads << " dim " << s.dim;
    }
}

TEST(Attention, RaggedBatchesOfAnyHeadDimension) {
  for (int64_t dim : {1, 5, 8, 16, 20, 32, 64, 70}) {
    Batch s{{0, 1, 8, 8, 41}, {0, 1, 8, 8, 41}};
    s.dim = dim;
    s.value_dim = dim;
    check(s, static_cast<uint64_t>(dim));
  }
}

TEST(Attention, MasksCausalityAndGroupedHeads) {
  for (int flags = 0; flags < 8; ++flags) {
    Batch s{{0, 5, 40, 97}, {0, 5, 40, 97}};
    s.causal = (flags & 1) != 0;
    s.key_mask = (flags & 2) != 0;
    s.bias = (flags & 4) != 0;
    s.heads = 4;
    s.kv_heads = flags % 3 == 0 ? 4 : flags % 3 == 1 ? 2 : 1;
    s.dim = 16;
    s.value_dim = 12;
    check(s, static_cast<uint64_t>(100 + flags));
  }
}

TEST(Attention, FewQueriesOverManyKeys) {
  for (bool causal : {false, true}) {
    Batch s{{0, 1, 3, 10}, {0, 50, 350, 357}};  // as with a cache of earlier keys
    s.causal = causal;
    check(s, 3);
  }
}

TEST(Attention, MoreQueriesThanKeysUnderCausality) {
  Batch s{{0, 9}, {0, 4}};  // the first five queries see nothing: zeros
  s.causal = true;
  check(s, 4);
}

TEST(Attention, EverythingMaskedGivesZerosAndNanStaysNan) {
  Batch s{{0, 3}, {0, 3}};
  s.key_mask = true;
  Inputs in = make_inputs(s, 1);
  in.key_mask.assign(3, -kInf);
  for (const TestLevel& level : test_levels()) {
    EXPECT_EQ(run(*level.leaves, arguments(s, in), 3, 1), Floats(48, 0.0f)) << level.name;
    Inputs bad = in;
    bad.key_mask.assign(3, 0.0f);
    bad.q[0] = NAN;
    const Floats out = run(*level.leaves, arguments(s, bad), 3, 1);
    for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(std::isnan(out[i]), i < 8) << level.name << " at " << i;
  }
}

TEST(Attention, ASequenceAloneEqualsTheSequenceInABatch) {
  Batch s{{0, 33, 50, 123}, {0, 33, 50, 123}};
  s.dim = s.value_dim = 32;
  Inputs in = make_inputs(s, 9);
  for (int64_t i = 0; i < 33 * 64; ++i) in.v[static_cast<size_t>(i)] *= 1000.0f;
  const Attention all = arguments(s, in);
  for (const TestLevel& level : test_levels()) {
    const Floats together = run(*level.leaves, all, 73, 2);
    for (int64_t b = 0; b < 3; ++b) {
      const int64_t from = s.q_splits[static_cast<size_t>(b)], count = s.q_splits[static_cast<size_t>(b) + 1] - from;
      const int64_t splits[2] = {0, count};
      Attention one = all;
      one.batch = 1;
      one.query_splits = one.key_splits = splits;
      one.q += from * one.q_stride;
      one.k += from * one.k_stride;
      one.v += from * one.v_stride;
      const Floats alone = run(*level.leaves, one, count, 1);
      ASSERT_EQ(0, std::memcmp(alone.data(), together.data() + from * 64, alone.size() * 4))
          << level.name << " sequence " << b;
    }
  }
}

}  // namespace
}  // namespace assay::kernels
