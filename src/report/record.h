#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::report {

/// JSON that keeps the order in which keys were put.
using Json = nlohmann::ordered_json;

/// A latency percentile in milliseconds; absent when too few forward passes were timed to support it, and then
/// `needed` says how many would have been enough (0: not measured at all).
struct Percentile {
  std::optional<double> ms;
  int64_t needed = 0;
};

/// One timed loop: forward passes of one model at one batch size and input length.
struct Timing {
  int64_t nb_forwards = 0;
  double duration_s = 0;              ///< sum of the timed forward passes
  double throughput = -1;             ///< forward passes a second, as in Optimum: not times batch
  double samples_per_s = -1;          ///< throughput times batch
  double latency_mean = -1;           ///< ms
  std::optional<double> latency_std;  ///< ms, of the population
  Percentile latency_50, latency_90, latency_95, latency_99, latency_999;
};

/// The names of the five percentiles of a Timing as Optimum writes them, with their place in it, in rising order.
struct PercentileName {
  const char* key;    ///< "latency_999"
  const char* label;  ///< "p99.9"
  Percentile Timing::*member;
};
const std::vector<PercentileName>& percentile_names();

/// Both models timed interleaved at one batch size and input length; either may be absent (a reason is then a note).
struct TimePoint {
  int64_t batch_size = 0;
  int64_t input_length = 0;
  std::optional<Timing> baseline, optimized;
};

/// One of the two models of a cell.
struct Side {
  std::string engine;                                   ///< "assay fp32", "onnxruntime 1.32.0", ...
  std::vector<std::pair<std::string, double>> metrics;  ///< in the task's order, e.g. exact_match, f1
  std::optional<double> eval_samples_per_s;             ///< speed of the accuracy run
  std::optional<double> load_ms;                        ///< from file to ready plan
  std::optional<int64_t> peak_memory_bytes;             ///< highest resident set while this model was loaded and run
  std::optional<int64_t> model_bytes;                   ///< file size, external data included

  std::optional<double> metric(std::string_view name) const;
};

/// What became of one node of the graph, and why.
struct NodeDecision {
  std::string node, op;
  bool quantized = false;
  std::string scheme;                 ///< "u8 row x s8 channel", empty when not quantized
  std::string reason;                 ///< why not, or why so
  int64_t weight_bytes = 0;           ///< bytes of the node's weights before quantizing
  std::optional<double> sqnr_db;      ///< signal to quantization noise of its output against fp32
  std::optional<double> metric_drop;  ///< loss of the first metric when this node alone is quantized
};

enum class CellStatus { kOk, kFailed, kSkipped };
std::string_view to_string(CellStatus status);  ///< "ok", "failed", "skipped"

/// One row: one choice of the benchmarked parameters and everything measured with it.
struct Cell {
  std::string id;            ///< stable name of the cell, also of its files
  std::vector<Json> values;  ///< one for each benchmarked parameter, in their order
  CellStatus status = CellStatus::kOk;
  std::string reason;  ///< why it failed or was skipped
  Side baseline, optimized;
  std::vector<TimePoint> time;
  std::vector<NodeDecision> nodes;
  std::vector<std::string> notes;
};

/// A parameter of the run file: fixed when it has one value, benchmarked when it has more.
struct Parameter {
  std::string name;
  std::vector<Json> values;
  bool benchmarked() const { return values.size() > 1; }
};

/// The record of one run, from which every report is written.
struct Record {
  std::string title;       ///< a person's name for the run; model_name_or_path when empty
  std::string task;        ///< "question-answering"
  std::string model_type;  ///< "bert"
  std::string backend;     ///< where it ran, e.g. "local"
  std::vector<std::string> datasets, metrics;
  std::vector<Parameter> parameters;        ///< in the order of the run file; includes model_name_or_path and dataset
  Json task_args;                           ///< Optimum's, or null
  Json time_benchmark_args;                 ///< {"duration": seconds, "warmup_runs": N}
  std::optional<int64_t> max_eval_samples;  ///< as asked; absent: the whole data set
  int64_t evaluated_samples = 0;            ///< as done
  std::string hardware;                     ///< what lscpu prints
  Json machine =
      Json::object();  ///< as bench::to_json(Machine): instance_type, supported_instructions, threads, noise ...
  std::map<std::string, std::string> versions;
  std::string started_at;  ///< ISO 8601, UTC
  double wall_s = 0;
  std::string command;
  std::vector<Cell> cells;         ///< in the order run
  std::vector<std::string> notes;  ///< about the run as a whole

  /// The parameters with more than one value, in order. Cells' values follow this order.
  std::vector<const Parameter*> benchmarked() const;
  /// The value of a fixed parameter, or null.
  Json fixed(std::string_view name) const;
  /// `title`, or the fixed model_name_or_path, or "run".
  std::string display_name() const;
  /// Throws InvalidArgument when a cell's values do not match the benchmarked parameters in number or are none of their
  /// alternatives, an id appears twice, or a time point of a cell appears twice.
  void validate() const;
};

/// Indices of cells in the order of the report: sorted by the text of their parameter values.
std::vector<size_t> report_order(const Record& record);
/// All (batch, length) pairs with a time point, ascending.
std::vector<std::pair<int64_t, int64_t>> time_grid(const Record& record);
/// The cell's time point at a pair, or null.
const TimePoint* find_time(const Cell& cell, int64_t batch_size, int64_t input_length);
/// Names of all metrics: record.metrics first where measured, then others in order of appearance.
std::vector<std::string> metric_columns(const Record& record);

}  // namespace assay::report
