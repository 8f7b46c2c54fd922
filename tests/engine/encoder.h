#pragma once

#include <string>
#include <vector>

#include "base/rng.h"
#include "engine/session.h"
#include "formats/registry.h"

namespace assay {

/// The project's own question-answering model, read from its checkpoint.
inline Model squad_model() { return load_model(std::string(ASSAY_SOURCE_DIR) + "/models/minilm-l6-squad").model; }

inline Model copy_of_model(const Model& m) {
  Model copy = m;
  copy.graph = m.graph.clone();
  return copy;
}

/// Inputs of a padded batch: row r has lengths[r] real tokens. In the order input_ids, attention_mask, token_type_ids.
inline std::vector<Tensor> encoder_batch(const std::vector<int64_t>& lengths, uint64_t seed = 1) {
  int64_t seq = 0;
  for (int64_t n : lengths) seq = std::max(seq, n);
  const auto batch = static_cast<int64_t>(lengths.size());
  Tensor ids(DType::kInt64, {batch, seq});
  Tensor mask(DType::kInt64, {batch, seq});
  Tensor types(DType::kInt64, {batch, seq});
  for (int64_t b = 0; b < batch; ++b) {
    Rng rng(seed * 1000 + static_cast<uint64_t>(lengths[static_cast<size_t>(b)]));  // a row depends on its length alone
    for (int64_t s = 0; s < lengths[static_cast<size_t>(b)]; ++s) {
      ids.mutable_view().as<int64_t>()[b * seq + s] = 1000 + static_cast<int64_t>(rng.below(20000));
      mask.mutable_view().as<int64_t>()[b * seq + s] = 1;
      types.mutable_view().as<int64_t>()[b * seq + s] = s > 5 ? 1 : 0;
    }
  }
  return {ids, mask, types};
}

/// Outputs of one run, copied.
inline std::vector<Tensor> run_once(const Session& session, const std::vector<Tensor>& inputs) {
  Runner runner(session);
  const std::vector<TensorView> views(inputs.begin(), inputs.end());
  std::vector<Tensor> out;
  for (const TensorView& v : runner.run(views)) out.push_back(copy_of(v));
  return out;
}

}  // namespace assay
