#include "workloads/evaluate.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/nearest.h"
#include "base/parallel.h"

namespace assay::workloads {
namespace {

/// Runs fn(i) for i in [0, n) on threads; rethrows the error of the lowest i, whatever thread met it.
template <typename Fn>
void for_each_index(int threads, int64_t n, const Fn& fn) {
  std::vector<std::exception_ptr> errors(static_cast<size_t>(n));
  parallel_for(threads, n, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      try {
        fn(i);
      } catch (...) {
        errors[static_cast<size_t>(i)] = std::current_exception();
        return;
      }
    }
  });
  for (const auto& e : errors)
    if (e) std::rethrow_exception(e);
}

/// One row of a batch and where its outputs go.
struct Slot {
  size_t item, feature;
  const Feature* row;
};

class Evaluation {
 public:
  Evaluation(const Task& task, const Dataset& data, Engine& engine, const EvalOptions& options, const Clock& clock,
             Progress& progress)
      : task_(task),
        data_(data),
        engine_(engine),
        options_(options),
        clock_(clock),
        progress_(progress),
        batcher_(engine.inputs(), task.pad_id()),
        choice_(task.choose_outputs(engine.outputs())) {}

  EvalResult run() {
    const int64_t began = clock_.now_ns();
    const int64_t rows = options_.max_samples > 0 ? std::min(options_.max_samples, data_.size()) : data_.size();
    require(rows > 0, ErrorCode::kInvalidArgument, "'{}' holds no rows to evaluate", data_.source);
    result_.task = task_.name();
    const auto bound = task_.bind(data_, rows);
    result_.predictions.reserve(static_cast<size_t>(rows));
    progress_.begin(result_.task, rows);
    for (int64_t at = 0; at < rows && !result_.interrupted; at += task_.chunk_rows())
      chunk(*bound, at, std::min(at + task_.chunk_rows(), rows));
    result_.samples = static_cast<int64_t>(result_.predictions.size());
    if (result_.interrupted)
      result_.notes.push_back(fmt::format("interrupted after {} of {} samples", result_.samples, rows));
    else
      result_.metrics = bound->score(result_.predictions);
    progress_.end();
    finish_record(*bound, began);
    return std::move(result_);
  }

 private:
  void chunk(const BoundTask& bound, int64_t from, int64_t to) {
    const auto n = static_cast<size_t>(to - from);
    std::vector<std::unique_ptr<Item>> items(n);
    for_each_index(options_.threads, to - from, [&](int64_t i) {
      auto item = bound.prepare(from + i);
      try {
        for (const Feature& f : item->features) batcher_.check(f);
      } catch (Error& e) {
        throw e.at("sample", data_.where(from + i));
      }
      items[static_cast<size_t>(i)] = std::move(item);
    });

    std::vector<std::vector<std::vector<RowOutput>>> outputs(n);
    std::vector<size_t> left(n);
    std::vector<Slot> slots;
    for (size_t i = 0; i < n; ++i) {
      outputs[i].resize(items[i]->features.size());
      left[i] = items[i]->features.size();
      for (size_t f = 0; f < items[i]->features.size(); ++f) slots.push_back({i, f, &items[i]->features[f]});
    }
    // Longest first: memory is sized once, and rows that share a batch are of like length.
    std::stable_sort(slots.begin(), slots.end(),
                     [](const Slot& a, const Slot& b) { return a.row->length() > b.row->length(); });
    for (size_t at = 0; at < slots.size();) {
      if (progress_.interrupted()) {
        result_.interrupted = true;
        break;
      }
      const size_t count = batch_size(slots, at);
      const std::span batch(slots.data() + at, count);
      run_batch(batch, from, outputs);
      int64_t done = 0;
      for (const Slot& s : batch) done += --left[s.item] == 0 ? 1 : 0;
      progress_.advance(done);
      at += count;
    }
    // Interrupted: the rows before the first unfinished one.
    const auto whole =
        static_cast<size_t>(std::find_if(left.begin(), left.end(), [](size_t k) { return k > 0; }) - left.begin());
    const size_t base = result_.predictions.size();
    result_.predictions.resize(base + whole);
    for_each_index(options_.threads, static_cast<int64_t>(whole), [&](int64_t i) {
      const auto k = static_cast<size_t>(i);
      try {
        result_.predictions[base + k] = items[k]->finish(outputs[k]);
      } catch (Error& e) {
        throw e.at("sample", data_.where(from + i));
      }
    });
  }

  size_t batch_size(const std::vector<Slot>& slots, size_t at) const {
    const size_t left = slots.size() - at;
    if (!engine_.batch_invariant()) return 1;
    if (batcher_.fixed_rows() > 0) return std::min(left, static_cast<size_t>(batcher_.fixed_rows()));
    const int64_t length = std::max<int64_t>(batcher_.padded_length(slots[at].row->length()), 1);
    const int64_t rows =
        std::clamp(options_.batch_tokens / length, int64_t{1}, std::max(options_.batch_rows, int64_t{1}));
    return std::min(left, static_cast<size_t>(rows));
  }

  void run_batch(std::span<const Slot> batch, int64_t from, std::vector<std::vector<std::vector<RowOutput>>>& outputs) {
    std::vector<const Feature*> rows;
    for (const Slot& s : batch) rows.push_back(s.row);
    const int64_t length = batcher_.padded_length(rows[0]->length());
    const std::vector<Tensor> inputs = batcher_.make(rows, length);
    const std::vector<TensorView> views(inputs.begin(), inputs.end());
    const int64_t began = clock_.now_ns();
    const auto results = engine_.run(views);
    result_.engine_seconds += static_cast<double>(clock_.now_ns() - began) * 1e-9;
    ++result_.forward_passes;
    result_.features += static_cast<int64_t>(batch.size());
    for (const Feature* f : rows) {
      result_.tokens += f->length();
      result_.padding_tokens += f->ids.empty() ? 0 : length - f->length();
    }
    for (size_t index : choice_.index) {
      require(index < results.size(), ErrorCode::kInternal, "the engine gave {} outputs", results.size());
      const Tensor converted = results[index].dtype == DType::kFloat32 ? Tensor() : to_float32(results[index]);
      const TensorView view = converted ? converted.view() : results[index];
      const std::string& name = engine_.outputs()[index].name;
      const auto expected = static_cast<int64_t>(batch.size());
      require(view.shape.rank() >= 1 && view.shape[0] >= expected, ErrorCode::kInvalidArgument,
              "output '{}' has shape {} for a batch of {}", name, view.shape.str(), expected);
      const int64_t stride = view.shape.elements(1, view.shape.rank());
      for (size_t r = 0; r < batch.size(); ++r) {
        const Slot& slot = batch[r];
        RowOutput row;
        row.shape = Shape(view.shape.dims().subspan(1));
        int64_t n = stride;
        if (choice_.per_token) {
          require(row.shape.rank() >= 1 && row.shape[0] == length, ErrorCode::kInvalidArgument,
                  "output '{}' has shape {}; one entry for each of {} tokens is expected", name, view.shape.str(),
                  length);
          row.shape[0] = slot.row->length();
          n = stride / length * slot.row->length();
        }
        const float* data = view.as<float>() + static_cast<int64_t>(r) * stride;
        row.values.assign(data, data + n);
        for (float v : row.values)
          if (std::isnan(v) || v == INFINITY)
            throw Error(ErrorCode::kNumeric, fmt::format("output '{}' holds {}", name, v))
                .at("sample", data_.where(from + static_cast<int64_t>(slot.item)));
        outputs[slot.item][slot.feature].push_back(std::move(row));
      }
    }
  }

  void finish_record(const BoundTask& bound, int64_t began) {
    result_.seconds = static_cast<double>(clock_.now_ns() - began) * 1e-9;
    if (result_.seconds > 0) result_.samples_per_s = static_cast<double>(result_.samples) / result_.seconds;
    for (auto& note : data_.notes) result_.notes.push_back(note);
    for (auto& note : bound.notes()) result_.notes.push_back(std::move(note));
    if (!engine_.batch_invariant())
      result_.notes.emplace_back("rows went to the engine one by one: its results depend on the rest of a batch");
    result_.definition = task_.definition();
    result_.definition["data_xxh3"] = data_.hash.hex();
    result_.definition["data_format"] = data_.format;
  }

  const Task& task_;
  const Dataset& data_;
  Engine& engine_;
  const EvalOptions& options_;
  const Clock& clock_;
  Progress& progress_;
  Batcher batcher_;
  OutputChoice choice_;
  EvalResult result_;
};

}  // namespace

double EvalResult::metric(std::string_view name) const {
  std::vector<std::string> names;
  for (const Metric& m : metrics) {
    if (m.name == name) return m.value;
    names.push_back(m.name);
  }
  fail(ErrorCode::kNotFound, "{} gave no metric '{}'{}", task, name, nearest_hint(name, names));
}

EvalResult evaluate(const Task& task, const Dataset& data, Engine& engine, const EvalOptions& options,
                    const Clock& clock, Progress& progress) {
  require(options.max_samples >= 0, ErrorCode::kInvalidArgument, "max_samples is {}", options.max_samples);
  require(options.batch_tokens >= 1 && options.batch_rows >= 1, ErrorCode::kInvalidArgument,
          "a batch of {} tokens and {} rows holds nothing", options.batch_tokens, options.batch_rows);
  return Evaluation(task, data, engine, options, clock, progress).run();
}

void write_predictions(const EvalResult& result, std::ostream& out) {
  using nlohmann::ordered_json;
  out << "[";
  bool first = true;
  for (const Prediction& p : result.predictions) {
    ordered_json j = {{"id", p.id}};
    if (p.labels.empty()) j["text"] = p.text;
    if (!p.labels.empty()) j["labels"] = p.labels;
    j["score"] = p.score;
    if (!p.classes.empty()) j["classes"] = p.classes;
    if (p.begin >= 0) j["bytes"] = {p.begin, p.end};
    j["reference"] = p.reference;
    for (const auto& [name, value] : p.scores) j["scores"][name] = value;
    for (const auto& [text, score] : p.alternatives) j["alternatives"].push_back({{"text", text}, {"score", score}});
    out << (first ? "\n" : ",\n") << j.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
    first = false;
  }
  out << "\n]\n";
}

SampleStream::SampleStream(const Task& task, const Dataset& data, const std::vector<Port>& inputs, int64_t rows)
    : batcher_(inputs, task.pad_id()), rows_(std::min(rows, data.size())) {
  require(rows_ > 0, ErrorCode::kInvalidArgument, "'{}' holds no rows to calibrate with", data.source);
  bound_ = task.bind(data, 0);
}

bool SampleStream::next(std::vector<Tensor>& inputs) {
  if (at_ >= rows_) return false;
  const auto item = bound_->prepare(at_++);
  const Feature* row = &item->features.at(0);
  batcher_.check(*row);
  inputs = batcher_.make({&row, 1}, batcher_.padded_length(row->length()));
  return true;
}

}  // namespace assay::workloads
