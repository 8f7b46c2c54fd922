#include "quant/calibrator.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "kernels/isa.h"

namespace assay::quant {
namespace {

// Model inputs that a caller gives: not those with a default value.
std::vector<ValueId> given_inputs(const Graph& g) {
  std::vector<ValueId> out;
  for (ValueId v : g.inputs)
    if (g.constant(v) == nullptr) out.push_back(v);
  return out;
}

class EngineSource final : public ActivationSource {
 public:
  EngineSource(const Model& model, int threads) : session_(copy_for_run(model), options(threads)), runner_(session_) {
    const Graph& g = session_.program().graph();
    for (size_t i = 0; i < g.value_count(); ++i) {
      const auto id = static_cast<ValueId>(i);
      if (!g.value(id).name.empty() && g.constant(id) == nullptr) ids_[g.value(id).name] = id;
    }
  }

  void watch(const std::vector<std::string>& names) override {
    watched_.clear();
    inputs_.clear();
    for (size_t i = 0; i < names.size(); ++i) {
      const auto& ports = session_.inputs();
      const auto port = std::find_if(ports.begin(), ports.end(), [&](const Port& p) { return p.name == names[i]; });
      if (port != ports.end()) {
        inputs_.push_back({static_cast<size_t>(port - ports.begin()), i});
        continue;
      }
      const auto it = ids_.find(names[i]);
      require(it != ids_.end(), ErrorCode::kNotFound, "the model computes no tensor '{}'", names[i]);
      watched_[it->second].push_back(i);
    }
  }

  void run(const Sample& sample, const Sink& sink) override {
    std::vector<TensorView> views(sample.begin(), sample.end());
    for (const auto& [port, index] : inputs_) sink(index, views.at(port));
    runner_.set_tap([&](NodeId, ValueId v, const TensorView& value) {
      const auto it = watched_.find(v);
      if (it == watched_.end()) return;
      for (size_t index : it->second) sink(index, value);
    });
    runner_.run(views);
    runner_.set_tap(nullptr);
  }

 private:
  static Model copy_for_run(const Model& model) {
    Model m = model;
    m.graph = model.graph.clone();
    return m;
  }
  static SessionOptions options(int threads) {
    SessionOptions o;
    o.threads = threads;
    o.isa = kernels::best_isa();
    o.fuse = false;
    o.pack_tokens = false;
    return o;
  }

  Session session_;
  Runner runner_;
  std::map<std::string, ValueId> ids_;
  std::map<ValueId, std::vector<size_t>> watched_;
  std::vector<std::pair<size_t, size_t>> inputs_;  ///< input port, place in the watched list
};

template <typename T>
int64_t used_columns(const TensorView& mask) {
  const int64_t rows = mask.shape[0], columns = mask.shape[1];
  const T* m = mask.as<T>();
  int64_t used = 0;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = columns; c-- > used;)
      if (m[r * columns + c] != T{0}) {
        used = c + 1;
        break;
      }
  return used;
}

}  // namespace

Sample trim_padding(const Model& model, Sample sample) {
  const Graph& g = model.graph;
  const auto inputs = given_inputs(g);
  if (inputs.size() != sample.size()) return sample;
  size_t at = inputs.size();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = g.value(inputs[i]).name;
    if (name == "attention_mask" || name == "input_mask") at = i;
  }
  if (at == inputs.size() || sample[at].shape().rank() != 2) return sample;
  const Tensor mask = sample[at];
  const int64_t columns = mask.shape()[1];
  int64_t used = columns;
  if (mask.dtype() == DType::kInt64) used = used_columns<int64_t>(mask);
  if (mask.dtype() == DType::kInt32) used = used_columns<int32_t>(mask);
  if (mask.dtype() == DType::kFloat32) used = used_columns<float>(mask);
  if (used == 0 || used == columns) return sample;
  for (size_t i = 0; i < inputs.size(); ++i) {  // a model that fixes a length is left alone
    const auto& dims = g.value(inputs[i]).type.dims;
    if (sample[i].shape() == mask.shape() && dims && dims->size() == 2 && (*dims)[1].known()) return sample;
    if (sample[i].shape() != mask.shape() && sample[i].shape().rank() > 0) return sample;
  }
  for (Tensor& t : sample) {
    if (t.shape().rank() != 2) continue;
    const int64_t size = bytes_of(t.dtype(), 1);
    Tensor cut(t.dtype(), Shape{t.shape()[0], used});
    const auto* from = static_cast<const std::byte*>(t.data());
    auto* to = static_cast<std::byte*>(cut.mutable_view().data);
    for (int64_t r = 0; r < t.shape()[0]; ++r)
      std::memcpy(to + r * used * size, from + r * columns * size, static_cast<size_t>(used * size));
    t = std::move(cut);
  }
  return sample;
}

std::unique_ptr<ActivationSource> make_engine_source(const Model& model, int threads) {
  return std::make_unique<EngineSource>(model, threads);
}

Calibration calibrate(const Model& model, ActivationSource& source, const std::vector<std::string>& tensors,
                      const SampleSource& samples, const CalibrationOptions& options, Progress& progress) {
  Calibration out;
  out.method = options.observer.method + (options.observer.moving_average ? " moving average" : "");
  out.model = fingerprint(model);
  std::vector<std::unique_ptr<Observer>> observers;
  for (size_t i = 0; i < tensors.size(); ++i) observers.push_back(make_observer(options.observer));
  source.watch(tensors);
  progress.begin("calibrating", std::max<int64_t>(options.max_samples, 0));
  Sample sample;
  for (; options.max_samples < 0 || out.samples < options.max_samples; ++out.samples) {
    require(!progress.interrupted(), ErrorCode::kDeadline, "calibration was interrupted after {} samples", out.samples);
    if (!samples(sample)) break;
    if (options.trim_padding) sample = trim_padding(model, std::move(sample));
    try {
      source.run(sample, [&](size_t index, const TensorView& value) {
        try {
          require(value.dtype == DType::kFloat32, ErrorCode::kUnsupported, "it is {}, float32 is observed",
                  to_string(value.dtype));
          observers[index]->observe(value.as<float>(), value.elements(), options.threads);
        } catch (Error& e) {
          throw e.at("tensor", tensors[index]);
        }
      });
    } catch (Error& e) {
      throw e.at("sample", std::to_string(out.samples));
    }
    progress.advance();
  }
  progress.end();
  require(out.samples > 0, ErrorCode::kInvalidArgument, "there is no calibration sample");
  for (size_t i = 0; i < tensors.size(); ++i) {
    try {
      out.ranges[tensors[i]] = observers[i]->range();
    } catch (Error& e) {
      throw e.at("tensor", tensors[i]);
    }
  }
  return out;
}

Calibration calibrate(const Model& model, const std::vector<std::string>& tensors, const SampleSource& samples,
                      const CalibrationOptions& options, Progress& progress) {
  const auto source = make_engine_source(model, options.threads);
  return calibrate(model, *source, tensors, samples, options, progress);
}

}  // namespace assay::quant
