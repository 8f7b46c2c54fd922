#include "runs/sweep.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>

#include "base/file.h"
#include "base/hash.h"
#include "bench/random_inputs.h"
#include "engine/engine.h"
#include "formats/onnx_read.h"
#include "formats/onnx_write.h"
#include "formats/registry.h"
#include "quant/calibrator.h"
#include "quant/quantizer.h"
#include "quant/sensitivity.h"
#include "report/format.h"
#include "report/results_json.h"
#include "runs/child_measure.h"
#include "runs/data_split.h"
#include "runs/environment.h"
#include "runs/timing.h"
#include "workloads/evaluate.h"

namespace assay::runs {
namespace {

namespace fs = std::filesystem;

/// Bytes of a model on disk: the file with its external data, or the weights of a folder.
int64_t model_bytes(const fs::path& path) {
  int64_t bytes = 0;
  const auto add = [&](const fs::path& file) {
    if (fs::is_regular_file(file)) bytes += static_cast<int64_t>(fs::file_size(file));
  };
  if (!fs::is_directory(path)) {
    add(path);
    add(path.string() + ".data");
    return bytes;
  }
  for (const auto& entry : fs::directory_iterator(path))
    if (entry.path().extension() == ".safetensors" || entry.path().extension() == ".onnx" ||
        entry.path().extension() == ".data")
      add(entry.path());
  return bytes;
}

std::vector<report::Parameter> parameters_of(const RunFile& run) {
  std::vector<report::Parameter> out;
  for (const auto& [name, value] : run.fields.items()) {
    if (name == "metrics" || name == "task" || name == "time_benchmark_args" || name == "max_eval_samples" ||
        name == "task_args")
      continue;
    out.push_back({name, {value}});
  }
  for (const SweptField& f : run.sweep) out.push_back({f.name, f.values});
  return out;
}

std::string slug(const Json& value) {
  std::string s;
  for (const char c : report::short_text(value)) s += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '-';
  s.erase(std::unique(s.begin(), s.end(), [](char a, char b) { return a == '-' && b == '-'; }), s.end());
  return s.substr(0, 40);
}

/// Two sweeps in one folder would overwrite each other's files: the second is refused while the first runs.
class FolderLock {
 public:
  explicit FolderLock(const fs::path& folder) {
    std::error_code ec;
    fs::create_directories(folder, ec);
    const fs::path file = folder / ".lock";
    fd_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    require(fd_ >= 0, ErrorCode::kBadFile, "cannot write in '{}': {}", folder.string(), std::strerror(errno));
    if (::flock(fd_, LOCK_EX | LOCK_NB) == 0) return;
    ::close(fd_);
    fail(ErrorCode::kInvalidArgument, "another run is writing to '{}'; wait for it or give another folder",
         folder.string());
  }
  ~FolderLock() { ::close(fd_); }  // the empty file stays: removing it would let a third run lock another one
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_ = -1;
};

/// One sweep while it runs: what all cells share.
class Sweep {
 public:
  Sweep(const RunFile& run, const SweepOptions& options, const Clock& clock, Progress& progress)
      : run_(run), options_(options), clock_(clock), progress_(progress), common_(run.config(0)) {
    session_ = options.session;
    if (common_.threads > 0) session_.threads = common_.threads;
  }

  report::Record execute() {
    const int64_t start = clock_.now_ns();
    const FolderLock lock(options_.folder);
    load();
    begin_record();
    for (size_t i = 0; i < run_.cells(); ++i) {
      report::Cell cell = named_cell(i);
      const fs::path file = options_.folder / "cells" / (cell.id + ".json");
      if (progress_.interrupted()) {
        cell.status = report::CellStatus::kSkipped;
        cell.reason = "interrupted before it ran; the same command with --resume goes on from here";
      } else if (!(options_.resume && take_finished(file, cell))) {
        progress_.note(fmt::format("cell {}/{}: {}", i + 1, run_.cells(), report::cell_label(record_, cell)));
        run_cell(i, cell);
        if (progress_.interrupted()) {
          cell.status = report::CellStatus::kSkipped;
          cell.reason = "interrupted while it ran; the same command with --resume runs it again";
        } else {
          keep(file, cell);
        }
      } else {
        progress_.note(fmt::format("cell {}/{}: {}: taken from {}", i + 1, run_.cells(),
                                   report::cell_label(record_, cell), file.string()));
      }
      record_.cells.push_back(std::move(cell));
    }
    record_.wall_s = static_cast<double>(clock_.now_ns() - start) * 1e-9;
    finish_environment(record_, noise_before_);
    return std::move(record_);
  }

  /// Reads the model and the data sets and puts one to the other.
  void load() {
    loaded_ = load_model(common_.model_name_or_path, {.opset = common_.opset});
    for (const std::string& n : loaded_.notes) progress_.note(n);
    workloads::TaskSetup setup;
    setup.info = loaded_.info;
    setup.keys.data = {common_.dataset.data_keys.begin(), common_.dataset.data_keys.end()};
    setup.keys.ref = common_.dataset.ref_keys;
    setup.metrics = common_.metrics;
    if (common_.task == "text-classification") setup.is_regression = common_.is_regression;
    task_ = workloads::make_task(common_.task, setup);
    eval_data_ = read_split(common_.dataset.path, common_.dataset.eval_split);
    for (const std::string& n : eval_data_.notes) progress_.note(n);
    if (common_.dataset.calibration_split) {
      calibration_data_ = read_split(common_.dataset.path, common_.dataset.calibration_split);
      if (calibration_data_->rows == eval_data_.rows)
        record_.notes.push_back(
            "the calibration rows are the evaluation rows: ranges were fitted to the very questions that are scored");
    }
    // Columns, references and lengths are wrong for every cell or for none: say so before the first.
    const int64_t rows = common_.max_eval_samples.value_or(eval_data_.size());
    require(eval_data_.size() > 0, ErrorCode::kInvalidArgument, "'{}' holds no rows to evaluate", eval_data_.source);
    task_->bind(eval_data_, std::min(rows, eval_data_.size()));
    try {
      require_lengths_fit(loaded_.model.graph, loaded_.info.max_positions, common_.input_lengths);
    } catch (Error& e) {
      throw e.at("field", "input_lengths");
    }
    if (const auto it = loaded_.model.metadata.find("assay.source_dtype");
        it != loaded_.model.metadata.end() && it->second != "float32")
      record_.notes.push_back(
          fmt::format("the original is stored as {}, half the bytes of the float32 it is computed in: of the sizes, "
                      "compare the int8 files with twice the original's",
                      it->second));
    Model copy = loaded_.model;
    copy.graph = loaded_.model.graph.clone();
    baseline_ = std::make_unique<NativeEngine>(std::move(copy), session_);
    key_ = hash_text(fmt::format("{} {} {} {} {} {} {}", run_.fields.dump(), quant::fingerprint(loaded_.model),
                                 eval_data_.hash.hex(), calibration_data_ ? calibration_data_->hash.hex() : "",
                                 kernels::to_string(session_.isa), session_.threads, ASSAY_VERSION))
               .hex();
  }

 private:
  void begin_record() {
    record_.title = run_.title;
    record_.task = common_.task;
    record_.model_type = loaded_.info.model_type;
    record_.backend = "local";
    record_.datasets = {common_.dataset.name.value_or(common_.dataset.path)};
    record_.metrics = common_.metrics;
    record_.parameters = parameters_of(run_);
    if (run_.fields.contains("task_args")) record_.task_args = run_.fields["task_args"];
    record_.time_benchmark_args = {{"duration", common_.duration_s}, {"warmup_runs", common_.warmup_runs}};
    record_.max_eval_samples = common_.max_eval_samples;
    record_.started_at = fmt::format(
        "{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
    record_.command = options_.command;
    noise_before_ = begin_environment(record_, session_);
  }

  report::Cell named_cell(size_t i) const {
    report::Cell cell;
    cell.values = run_.values(i);
    cell.id = fmt::format("{:03}", i + 1);
    for (const Json& v : cell.values) cell.id += "-" + slug(v);
    return cell;
  }

  std::string cell_key(const report::Cell& cell) const { return hash_text(key_ + Json(cell.values).dump()).hex(); }

  /// A cell file is a record of its own with one cell, so that it has one reader and writer with the final report.
  void keep(const fs::path& file, const report::Cell& cell) const {
    report::Record one = record_;
    one.cells = {cell};
    Json json = {{"key", cell_key(cell)}, {"record", report::to_json(one)}};
    write_text(file, json.dump(1, ' ', false, Json::error_handler_t::replace));
  }

  bool take_finished(const fs::path& file, report::Cell& cell) {
    if (!fs::exists(file)) return false;
    try {
      const Json json = Json::parse(read_text(file), nullptr, false);
      if (!json.is_object() || json.value("key", "") != cell_key(cell)) return false;
      const report::Record one = report::record_from_json(json.at("record"));
      if (one.cells.size() != 1 || one.cells[0].status != report::CellStatus::kOk) return false;
      cell = one.cells[0];
      record_.evaluated_samples = std::max(record_.evaluated_samples, one.evaluated_samples);
      return true;
    } catch (const std::exception& e) {
      progress_.note(fmt::format("{} is not usable and the cell runs again: {}", file.string(), e.what()));
      return false;
    }
  }

  void run_cell(size_t i, report::Cell& cell) {
    try {
      const RunConfig config = run_.config(i);
      quant::Quantizer quantizer(loaded_.model, config.scheme);
      quantizer.measure_weights(session_.threads);
      std::optional<quant::Calibration> calibration;
      if (config.scheme.approach == quant::Approach::kStatic) calibration = calibrate(config, quantizer);
      if (progress_.interrupted()) return;
      const fs::path file = options_.folder / "models" / (cell.id + ".onnx");
      const quant::QuantPlan plan = quantizer.plan();
      Model exact = quantizer.float_model();
      exact.graph = exact.graph.clone();
      write_onnx(quantizer.quantize(calibration ? &*calibration : nullptr, session_.threads), file);
      cell.notes = plan.notes;
      add_nodes(plan, cell);

      NativeEngine optimized(read_onnx(file), session_);  // what the file holds is what is measured
      baseline_side(cell);
      cell.optimized = measure_once(optimized, file, cell);
      if (progress_.interrupted()) return;
      time(config, optimized, cell);
      add_noise(exact, read_onnx(file), plan, cell);
      cell.optimized.model_bytes = model_bytes(file);
      if (!options_.keep_models) fs::remove(file);
    } catch (const Error& e) {
      cell.status = report::CellStatus::kFailed;
      cell.reason = fmt::format("{}: {}", to_string(e.code()), e.what());
      progress_.note("  failed: " + cell.reason);
    } catch (const std::exception& e) {
      cell.status = report::CellStatus::kFailed;
      cell.reason = e.what();
      progress_.note("  failed: " + cell.reason);
    }
  }

  quant::Calibration calibrate(const RunConfig& config, const quant::Quantizer& quantizer) {
    std::vector<Port> ports;
    const Graph& g = quantizer.float_model().graph;
    for (ValueId v : g.inputs) ports.push_back({g.value(v).name, g.value(v).type});
    workloads::SampleStream stream(*task_, *calibration_data_, ports, config.calibration->num_calibration_samples);
    quant::CalibrationOptions o;
    o.threads = session_.threads;
    o.observer.method = config.calibration->method;
    o.observer.moving_average = config.calibration->moving_average;
    o.observer.averaging_constant = static_cast<float>(config.calibration->moving_average_constant);
    return quant::calibrate(
        quantizer.float_model(), quantizer.tensors_to_observe(), [&](quant::Sample& s) { return stream.next(s); }, o,
        progress_);
  }

  static void add_nodes(const quant::QuantPlan& plan, report::Cell& cell) {
    for (const quant::NodePlan& n : plan.nodes) {
      report::NodeDecision d;
      d.node = n.scope.empty() ? n.node : n.scope + "/" + n.node;
      d.op = n.op_type;
      d.quantized = n.quantized();
      d.scheme = n.form;
      d.reason = n.reason;
      d.weight_bytes = n.weight_bytes;
      cell.nodes.push_back(std::move(d));
    }
  }

  /// Where the numbers leave the original's, node by node on a few rows, and in a note the nodes that did most of it.
  void add_noise(const Model& exact, const Model& quantized, const quant::QuantPlan& plan, report::Cell& cell) {
    constexpr int64_t kRows = 4;
    constexpr size_t kNamed = 5;
    std::vector<Port> ports;
    for (ValueId v : exact.graph.inputs) ports.push_back({exact.graph.value(v).name, exact.graph.value(v).type});
    workloads::SampleStream stream(*task_, eval_data_, ports, kRows);
    std::vector<quant::Sample> samples;
    for (quant::Sample sample; stream.next(sample);) samples.push_back(sample);
    quant::NoiseOptions o;
    o.threads = session_.threads;
    const std::vector<quant::NodeNoise> noise = quant::measure_noise(exact, quantized, plan, samples, o, progress_);
    for (const quant::NodeNoise& n : noise)
      for (report::NodeDecision& d : cell.nodes)
        if (d.node == n.node) d.sqnr_db = n.output_sqnr_db;
    std::string named;
    for (const quant::NodeNoise& n : quant::worst_nodes(noise, kNamed)) {
      const double own = std::min(n.activation_sqnr_db.value_or(1e9), n.weight_sqnr_db.value_or(1e9));
      if (own < 1e9) named += fmt::format("{}{} ({:.1f} dB)", named.empty() ? "" : ", ", n.node, own);
    }
    if (!named.empty()) cell.notes.push_back("most noise of its own: " + named);
  }

  report::Side measure(Engine& engine, const std::string& kind, const fs::path& path, report::Cell& cell) {
    workloads::EvalOptions o;
    o.max_samples = common_.max_eval_samples.value_or(0);
    o.threads = session_.threads;
    const workloads::EvalResult r = workloads::evaluate(*task_, eval_data_, engine, o, clock_, progress_);
    record_.evaluated_samples = r.samples;
    report::Side side;
    side.engine = fmt::format("{} {} {}", engine.name(), engine.version(), kind);
    for (const workloads::Metric& m : r.metrics) side.metrics.emplace_back(m.name, m.value);
    side.eval_samples_per_s = r.samples_per_s;
    side.model_bytes = model_bytes(path);
    if (!options_.executable.empty() && !r.interrupted) {
      std::string why;
      const auto cost = measure_in_child(options_.executable, path, *std::ranges::max_element(common_.batch_sizes),
                                         *std::ranges::max_element(common_.input_lengths), session_.threads,
                                         std::string(kernels::to_string(session_.isa)), why);
      if (cost) {
        side.load_ms = cost->load_ms;
        side.peak_memory_bytes = cost->peak_memory_bytes;
      } else {
        cell.notes.push_back("load time and peak memory are missing: " + why);
      }
    }
    return side;
  }

  /// Cells whose settings come to the same file (dynamic quantization has no Add, with exclusions or without) share one
  /// evaluation; their times are taken for each.
  report::Side measure_once(Engine& engine, const fs::path& file, report::Cell& cell) {
    const std::string hash = hash_bytes(MappedFile::open(file)->bytes()).hex();
    if (const auto it = measured_.find(hash); it != measured_.end()) {
      cell.notes.push_back(fmt::format("the same file as {}, whose answers are shown", it->second.first));
      return it->second.second;
    }
    report::Side side = measure(engine, "int8", file, cell);
    if (!progress_.interrupted()) measured_[hash] = {cell.id, side};
    return side;
  }

  /// The original is measured once and stands beside every cell.
  void baseline_side(report::Cell& cell) {
    if (!baseline_result_) {
      progress_.note("the original model");
      report::Cell notes;
      baseline_result_ = measure(*baseline_, "fp32", common_.model_name_or_path, notes);
      record_.notes.insert(record_.notes.end(), notes.notes.begin(), notes.notes.end());
      if (progress_.interrupted()) baseline_result_.reset();
    }
    if (baseline_result_) cell.baseline = *baseline_result_;
  }

  void time(const RunConfig& config, NativeEngine& optimized, report::Cell& cell) {
    Engine* engines[] = {baseline_.get(), &optimized};
    const TimeOptions o{.duration_s = config.duration_s, .warmup_runs = config.warmup_runs};
    const std::vector<int64_t> lengths =
        has_free_length(loaded_.model.graph) ? config.input_lengths : std::vector<int64_t>{0};
    progress_.begin("time", static_cast<int64_t>(config.batch_sizes.size() * lengths.size()));
    for (const int64_t batch : config.batch_sizes)
      for (const int64_t length : lengths) {
        const auto inputs = random_inputs(loaded_.model.graph, batch, length, 1);
        const std::vector<std::vector<Tensor>> both = {inputs, inputs};
        const auto loops = time_interleaved(engines, both, o, clock_, progress_);
        report::TimePoint point;
        point.batch_size = batch;
        point.input_length = length;
        point.baseline = to_timing(loops[0], batch);
        point.optimized = to_timing(loops[1], batch);
        cell.time.push_back(std::move(point));
        progress_.advance();
        if (progress_.interrupted()) break;
      }
    progress_.end();
  }

  const RunFile& run_;
  const SweepOptions& options_;
  const Clock& clock_;
  Progress& progress_;
  RunConfig common_;
  SessionOptions session_;
  LoadedModel loaded_;
  std::unique_ptr<workloads::Task> task_;
  workloads::Dataset eval_data_;
  std::optional<workloads::Dataset> calibration_data_;
  std::unique_ptr<NativeEngine> baseline_;
  std::optional<report::Side> baseline_result_;
  std::map<std::string, std::pair<std::string, report::Side>> measured_;  ///< by hash of the file: cell, what it showed
  report::Record record_;
  EnvironmentProbe noise_before_;
  std::string key_;
};

}  // namespace

void check_sweep(const RunFile& run, const SweepOptions& options, Progress& progress) {
  Sweep(run, options, SteadyClock{}, progress).load();
}

report::Record run_sweep(const RunFile& run, const SweepOptions& options, const Clock& clock, Progress& progress) {
  return Sweep(run, options, clock, progress).execute();
}

}  // namespace assay::runs
