#pragma once

#include <vector>

#include "engine/session.h"

namespace assay {

/// Outputs of a Session made of a copy of the model.
inline std::vector<Tensor> session_run(const Model& m, const std::vector<Tensor>& inputs,
                                       const SessionOptions& options) {
  Model copy = m;
  copy.graph = m.graph.clone();
  const Session session(std::move(copy), options);
  Runner runner(session);
  const std::vector<TensorView> views(inputs.begin(), inputs.end());
  std::vector<Tensor> out;
  for (const TensorView& v : runner.run(views)) out.push_back(copy_of(v));
  return out;
}

}  // namespace assay
