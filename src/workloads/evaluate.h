#pragma once

#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/progress.h"
#include "workloads/batch.h"
#include "workloads/task.h"

namespace assay::workloads {

struct EvalOptions {
  int64_t max_samples = 0;      ///< the first rows of the data set; 0: all
  int64_t batch_tokens = 2048;  ///< rows of a batch times its longest
  int64_t batch_rows = 32;      ///< at most
  int threads = 1;              ///< for reading, preprocessing and postprocessing; the engine has its own
};

struct EvalResult {
  std::string task;
  std::vector<Metric> metrics;          ///< empty when interrupted
  std::vector<Prediction> predictions;  ///< in the order of the data set
  int64_t samples = 0;
  int64_t features = 0;  ///< model input rows: windows of a passage count each
  int64_t forward_passes = 0;
  int64_t tokens = 0;  ///< fed, without padding
  int64_t padding_tokens = 0;
  double seconds = 0;         ///< all of it: preprocessing, engine, postprocessing, metrics
  double engine_seconds = 0;  ///< inside Engine::run
  double samples_per_s = 0;   ///< samples / seconds
  bool interrupted = false;
  std::vector<std::string> notes;
  std::map<std::string, std::string> definition;  ///< what the numbers depend on: travels with them

  /// The value of a metric; NotFound naming the nearest.
  double metric(std::string_view name) const;
};

/// Puts every sample to the engine and judges the answers. Rows of similar length share a batch; the result does not
/// depend on how rows are batched: an engine that is not batch-invariant gets one row at a time, without padding unless
/// its model demands it. Numeric naming the sample for an output that is NaN or +infinity; InvalidArgument before any
/// compute for columns, references or lengths that do not fit. Stops between batches when interrupted: the result then
/// holds the predictions of the leading rows that were finished, no metrics, and says so.
EvalResult evaluate(const Task& task, const Dataset& data, Engine& engine, const EvalOptions& options,
                    const Clock& clock, Progress& progress);

/// A JSON list, one object a sample: id, text, score, reference and what else the task sets.
void write_predictions(const EvalResult& result, std::ostream& out);

/// Inputs for calibration: the first rows of a data set, preprocessed as for evaluation, one at a time in order. A
/// passage longer than one window gives its first.
class SampleStream {
 public:
  /// `inputs`: the model's. `rows`: how many; fewer when the data set has less. Task, data and ports must outlive it.
  SampleStream(const Task& task, const Dataset& data, const std::vector<Port>& inputs, int64_t rows);
  int64_t size() const { return rows_; }
  /// The next row's input tensors in the model's order, batch 1; false at the end.
  bool next(std::vector<Tensor>& inputs);
  /// Back to the first row.
  void rewind() { at_ = 0; }

 private:
  Batcher batcher_;
  int64_t rows_;
  std::unique_ptr<BoundTask> bound_;
  int64_t at_ = 0;
};

}  // namespace assay::workloads
