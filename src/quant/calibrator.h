#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/progress.h"
#include "engine/session.h"
#include "quant/calibration.h"
#include "quant/observers/observer.h"

namespace assay::quant {

/// One sample's (or batch's) inputs, in the order of the model's inputs.
using Sample = std::vector<Tensor>;
/// Gives samples one by one; false when there is none left.
using SampleSource = std::function<bool(Sample&)>;

/// Runs a float model and shows the values of its tensors. The engine behind it can be replaced in tests.
class ActivationSource {
 public:
  virtual ~ActivationSource() = default;
  /// Called with each watched tensor's value: its place in the list given to watch().
  using Sink = std::function<void(size_t, const TensorView&)>;
  /// The tensors to show, by name. NotFound naming one the model does not compute.
  virtual void watch(const std::vector<std::string>& names) = 0;
  virtual void run(const Sample& sample, const Sink& sink) = 0;
};

/// The native engine, the graph run as written so that every tensor exists.
std::unique_ptr<ActivationSource> make_engine_source(const Model& model, int threads);

struct CalibrationOptions {
  ObserverOptions observer;
  int threads = 1;
  int64_t max_samples = -1;  ///< stop after this many; < 0: all
  /// Cut the columns that the attention mask of every row of a sample leaves out at the end, where the model allows any
  /// length: what a model computes at padding is never used, and must not set a range.
  bool trim_padding = true;
};

/// Streams samples through `source` and observes tensors; memory does not grow with their number. An error names the
/// tensor and the sample. InvalidArgument when there is no sample at all.
Calibration calibrate(const Model& model, ActivationSource& source, const std::vector<std::string>& tensors,
                      const SampleSource& samples, const CalibrationOptions& options, Progress& progress);
/// The same on the native engine.
Calibration calibrate(const Model& model, const std::vector<std::string>& tensors, const SampleSource& samples,
                      const CalibrationOptions& options, Progress& progress);

/// The sample without the columns at the end that its attention mask leaves out in every row; the sample itself when
/// the model has no input named attention_mask (or input_mask), or fixes its length.
Sample trim_padding(const Model& model, Sample sample);

}  // namespace assay::quant
