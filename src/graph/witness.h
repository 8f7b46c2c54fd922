#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace assay {

/// What every value of a graph was in a few tiny runs on made-up inputs. Passes use it as proof: a rewrite found by
/// structure is made only if it explains the recorded numbers, whatever spelling the exporter chose. Symbolic sizes
/// differ between the runs, so a size that follows "batch" or "sequence" cannot be mistaken for a constant.
class Witness {
 public:
  struct Run {
    int64_t batch = 0, seq = 0;  ///< what first and further free dimensions were set to
    std::vector<Tensor> values;  ///< by ValueId; undefined where nothing was recorded
  };
  std::vector<Run> runs;

  /// The recorded tensor, or nullptr (constants of the graph are not recorded here).
  const Tensor* value(size_t run, ValueId id) const;
  /// A new value stands for the same numbers as an old one.
  void same(ValueId fresh, ValueId old);
  /// Both recorded, with equal shapes in every run.
  bool same_shape(ValueId a, ValueId b) const;
  /// Rank in every run, or -1 when unknown or not constant.
  int rank(ValueId id) const;
  /// Whether the value is [batch, seq, ...] in every run.
  bool per_token(ValueId id) const;
};

}  // namespace assay
