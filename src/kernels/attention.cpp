#include "kernels/attention.h"

#include <algorithm>

#include "base/parallel.h"
#include "kernels/blocking.h"
#include "kernels/internal.h"

namespace assay::kernels {
namespace {

/// Query rows worked at once: their scores against all keys are what is held (rows x keys).
int64_t query_block(const Leaves& leaf) { return 4 * leaf.f32_mr; }

/// One worker's memory: keys as panels [keys, head_dim], values as panels [value_dim, keys], scores of a block of
/// queries.
struct Scratch {
  size_t keys, values, scores, sums;
  size_t total() const { return keys + values + scores + sums; }
};

Scratch scratch_of(const Leaves& leaf, int64_t max_keys, int64_t head_dim, int64_t value_dim) {
  const int64_t keys = round_up(max_keys, leaf.f32_nr), values = round_up(value_dim, leaf.f32_nr);
  return {align64(static_cast<size_t>(keys * head_dim) * 4), align64(static_cast<size_t>(values * max_keys) * 4),
          align64(static_cast<size_t>(query_block(leaf) * (keys + kLanes)) * 4),
          align64(static_cast<size_t>(query_block(leaf)) * 4)};
}

struct Head {
  const Leaves& leaf;
  const Attention& args;
  float* keys;
  float* values;
  float* scores;
  float* inverse_sums;

  void pack(int64_t key0, int64_t key_count, int64_t kv_head) const;
  void run(int64_t s, int64_t h, int64_t q0, int64_t q_count, int64_t key0, int64_t key_count) const;
};

void Head::pack(int64_t key0, int64_t key_count, int64_t kv_head) const {
  const int nr = leaf.f32_nr;
  const float* k = args.k + key0 * args.k_stride + kv_head * args.head_dim;
  for (int64_t j = 0; j < key_count; j += nr)
    leaf.transpose_panel(args.head_dim, static_cast<int>(std::min<int64_t>(nr, key_count - j)), nr,
                         k + j * args.k_stride, args.k_stride, keys + j * args.head_dim);
  const float* v = args.v + key0 * args.v_stride + kv_head * args.value_dim;
  for (int64_t c = 0; c < args.value_dim; c += nr) {
    const int64_t cols = std::min<int64_t>(nr, args.value_dim - c);
    float* panel = values + c * key_count;
    for (int64_t j = 0; j < key_count; ++j) {
      std::copy(v + j * args.v_stride + c, v + j * args.v_stride + c + cols, panel + j * nr);
      std::fill(panel + j * nr + cols, panel + (j + 1) * nr, 0.0f);
    }
  }
}

void Head::run(int64_t s, int64_t h, int64_t q0, int64_t q_count, int64_t key0, int64_t key_count) const {
  const int nr = leaf.f32_nr, mr = leaf.f32_mr;
  const int64_t width = round_up(key_count, nr);
  // Off multiples of the page, so that rows of scores do not fall on the same cache sets.
  const int64_t stride = width % 256 == 0 ? width + kLanes : width;
  const int64_t dim = args.head_dim, value_dim = args.value_dim;
  const float* key_mask = args.key_mask != nullptr ? args.key_mask + key0 : nullptr;
  alignas(64) float out[kMaxMr * kMaxNr];
  for (int64_t i0 = 0; i0 < q_count; i0 += query_block(leaf)) {
    const int64_t rows = std::min(query_block(leaf), q_count - i0);
    const int64_t tiles = (rows + mr - 1) / mr;
    const int group = leaf.f32_tile_panels(static_cast<int>((rows + tiles - 1) / tiles));
    // Keys beyond what the last row sees are not even multiplied.
    const int64_t seen = args.causal ? std::clamp<int64_t>(i0 + rows + key_count - q_count, 0, key_count) : key_count;
    const float* q = args.q + (q0 + i0) * args.q_stride + h * dim;
    for (int64_t j = 0; j < seen; j += nr * group) {
      const int panels = static_cast<int>(std::min<int64_t>(group, (seen - j + nr - 1) / nr));
      for (int64_t t = 0; t < tiles; ++t) {
        const int64_t r0 = part_begin(rows, t, tiles);
        leaf.gemm_f32_tile(static_cast<int>(part_begin(rows, t + 1, tiles) - r0), panels, dim, q + r0 * args.q_stride,
                           args.q_stride, keys + j * dim, nr, dim * nr, scores + r0 * stride + j, stride, false);
      }
    }
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t visible =
          args.causal ? std::clamp<int64_t>(i0 + r + 1 + key_count - q_count, 0, key_count) : key_count;
      const float* bias = args.bias != nullptr
                              ? args.bias + s * args.bias_batch + h * args.bias_head + (i0 + r) * args.bias_row
                              : nullptr;
      inverse_sums[r] =
          leaf.attention_row(visible, round_up(seen, kLanes), args.scale, key_mask, bias, scores + r * stride);
    }
    for (int64_t c = 0; c < value_dim; c += nr) {
      const int64_t cols = std::min<int64_t>(nr, value_dim - c);
      for (int64_t t = 0; t < tiles; ++t) {
        const int64_t r0 = part_begin(rows, t, tiles);
        const int height = static_cast<int>(part_begin(rows, t + 1, tiles) - r0);
        leaf.gemm_f32_tile(height, 1, seen, scores + r0 * stride, stride, values + c * key_count, nr, 0, out, nr,
                           false);
        for (int r = 0; r < height; ++r)
          leaf.scale_row(cols, out + r * nr, inverse_sums[r0 + r],
                         args.dst + (q0 + i0 + r0 + r) * args.dst_stride + h * value_dim + c);
      }
    }
  }
}

}  // namespace

size_t attention_scratch_bytes(const Leaves& leaf, int64_t max_keys, int64_t head_dim, int64_t value_dim, int threads) {
  return scratch_of(leaf, max_keys, head_dim, value_dim).total() * static_cast<size_t>(std::max(threads, 1));
}

void attention_f32(const Leaves& leaf, const Attention& args, int64_t max_keys, void* scratch, int threads) {
  const int64_t* key_splits = args.key_splits != nullptr ? args.key_splits : args.query_splits;
  const Scratch sizes = scratch_of(leaf, max_keys, args.head_dim, args.value_dim);
  // A task is one sequence and one key/value head. Each worker takes the tasks whose cost begins in its share of the
  // sum.
  const auto cost = [&](int64_t s) {
    return (args.query_splits[s + 1] - args.query_splits[s] + 8) * (key_splits[s + 1] - key_splits[s] + 8);
  };
  int64_t total = 0;
  for (int64_t s = 0; s < args.batch; ++s) total += cost(s) * args.kv_heads;
  const int workers = std::max(threads, 1);
  const int64_t group = args.heads / args.kv_heads;
  parallel_for(threads, workers, 1, [&](int64_t worker_begin, int64_t worker_end) {
    for (int64_t w = worker_begin; w < worker_end; ++w) {
      std::byte* base = static_cast<std::byte*>(scratch) + sizes.total() * static_cast<size_t>(w);
      const Head head{leaf,
                      args,
                      reinterpret_cast<float*>(base),
                      reinterpret_cast<float*>(base + sizes.keys),
                      reinterpret_cast<float*>(base + sizes.keys + sizes.values),
                      reinterpret_cast<float*>(base + sizes.keys + sizes.values + sizes.scores)};
      const int64_t from = part_begin(total, w, workers), to = part_begin(total, w + 1, workers);
      int64_t at = 0;
      for (int64_t s = 0; s < args.batch; ++s) {
        const int64_t q0 = args.query_splits[s], q_count = args.query_splits[s + 1] - q0;
        const int64_t key0 = key_splits[s], key_count = key_splits[s + 1] - key0;
        for (int64_t kv = 0; kv < args.kv_heads; ++kv, at += cost(s)) {
          if (at < from || at >= to || q_count <= 0) continue;
          head.pack(key0, key_count, kv);
          for (int64_t h = kv * group; h < (kv + 1) * group; ++h) head.run(s, h, q0, q_count, key0, key_count);
        }
      }
    }
  });
}

size_t attention_scratch_bytes(Isa isa, int64_t max_keys, int64_t head_dim, int64_t value_dim, int threads) {
  return attention_scratch_bytes(leaves(isa), max_keys, head_dim, value_dim, threads);
}

void attention_f32(Isa isa, const Attention& args, int64_t max_keys, void* scratch, int threads) {
  attention_f32(leaves(isa), args, max_keys, scratch, threads);
}

}  // namespace assay::kernels
