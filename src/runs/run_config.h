#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quant/scheme.h"
#include "runs/yaml.h"

namespace assay::runs {

/// A data set as a run file names it. `path` is a folder or a file; a split is a file in that folder (or absent when
/// path is the file), with rows chosen as in "train.json[:100]", "dev.tsv[10:20]".
struct DatasetConfig {
  std::string path;
  std::optional<std::string> name;
  std::optional<std::string> eval_split, calibration_split;
  std::map<std::string, std::string> data_keys;  ///< role -> column
  std::vector<std::string> ref_keys;
};

struct CalibrationConfig {
  std::string method = "minmax";
  int64_t num_calibration_samples = 100;
  bool moving_average = false;
  double moving_average_constant = 0.01;
};

/// Optimum's RunConfig for one cell, under its names, with our additions. Defaults are Optimum's.
struct RunConfig {
  std::string model_name_or_path;
  std::string task;
  std::vector<std::string> metrics;
  DatasetConfig dataset;
  bool is_regression = false;
  std::optional<int64_t> max_eval_samples;
  std::optional<CalibrationConfig> calibration;
  quant::QuantScheme scheme;  ///< quantization_approach, operators_to_quantize, node_exclusion, per_channel, ...
  int opset = 17;
  int threads = 0;  ///< 0: as many as the machine gives
  double duration_s = 30;
  int64_t warmup_runs = 10;
  std::vector<int64_t> batch_sizes = {4, 8};
  std::vector<int64_t> input_lengths = {128};
};

/// One alternative of a swept field.
struct SweptField {
  std::string name;  ///< dotted below the top: "calibration.method"
  std::vector<Json> values;
};

/// A run file: fields with one value, and those under `sweep:` with several.
struct RunFile {
  std::string file;
  std::string title;
  Json fields;  ///< as written, without sweep and title
  std::vector<SweptField> sweep;
  std::map<std::string, int> lines;

  /// Number of cells: the product of the alternatives.
  size_t cells() const;
  /// The alternatives of cell i, the last swept field changing fastest.
  std::vector<Json> values(size_t cell) const;
  /// The whole configuration of cell i.
  RunConfig config(size_t cell) const;
};

/// Reads and checks a run file whole: every key, type and value of every cell, before any work starts. Errors name
/// file, line, field, and the nearest valid name.
RunFile read_run_file(const std::filesystem::path& path);
RunFile parse_run_file(std::string_view text, const std::string& file);

/// Every field a run file may have, dotted, with a line of help: what `assay list fields` prints.
std::vector<std::pair<std::string, std::string>> run_file_fields();

}  // namespace assay::runs
