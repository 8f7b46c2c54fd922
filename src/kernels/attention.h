#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/isa.h"

namespace assay::kernels {

/// softmax(scale * Q K^T + masks) V for a packed batch: sequence s owns query rows [query_splits[s], query_splits[s+1])
/// and key rows [key_splits[s], key_splits[s+1]); nothing crosses sequences. Pointers with row strides, so that slices
/// of a fused [tokens, 3*hidden] buffer are read in place. Query head h reads key/value head h / (heads / kv_heads).
struct Attention {
  int64_t batch = 0;
  const int64_t* query_splits = nullptr;  ///< [batch + 1]
  const int64_t* key_splits = nullptr;    ///< [batch + 1], or null for query_splits
  int heads = 1, kv_heads = 1;            ///< kv_heads divides heads
  int64_t head_dim = 0;                   ///< of queries and keys
  int64_t value_dim = 0;                  ///< of values and output
  const float* q = nullptr;               ///< [tokens, heads * head_dim]
  int64_t q_stride = 0;
  const float* k = nullptr;  ///< [key tokens, kv_heads * head_dim]
  int64_t k_stride = 0;
  const float* v = nullptr;  ///< [key tokens, kv_heads * value_dim]
  int64_t v_stride = 0;
  float scale = 1.0f;
  /// Query i of a sequence sees keys j <= i + (keys - queries).
  bool causal = false;
  const float* key_mask = nullptr;  ///< added to every score of a key: [key tokens], or null
  /// Added to scores: bias[s * bias_batch + h * bias_head + i * bias_row + j], or null; a stride of 0 broadcasts.
  const float* bias = nullptr;
  int64_t bias_batch = 0, bias_head = 0, bias_row = 0;
  float* dst = nullptr;  ///< [tokens, heads * value_dim]
  int64_t dst_stride = 0;
};

/// Bytes of scratch for sequences of at most this many keys (64-byte aligned memory).
size_t attention_scratch_bytes(Isa isa, int64_t max_keys, int64_t head_dim, int64_t value_dim, int threads);
/// A query whose keys are all masked by -infinity (or that has none) gives zeros. `max_keys` is that of the scratch.
void attention_f32(Isa isa, const Attention& args, int64_t max_keys, void* scratch, int threads);

}  // namespace assay::kernels
