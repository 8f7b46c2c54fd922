#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "graph/graph.h"

namespace assay::quant {

/// What was observed of one tensor: its range, and over how many values.
struct TensorRange {
  float lo = 0.0f;
  float hi = 0.0f;
  int64_t values = 0;      ///< finite ones
  int64_t not_finite = 0;  ///< NaN and infinities, left out of the range
  bool operator==(const TensorRange&) const = default;
};

/// Ranges of a model's activations, with where they come from.
struct Calibration {
  std::string method;  ///< name of the observer
  std::string model;   ///< fingerprint of the float model that ran
  std::string data;    ///< what the samples were, in words that differ when they do; empty: not said
  int64_t samples = 0;
  std::map<std::string, TensorRange> ranges;  ///< by tensor name
};

/// Identity of what a model computes: its operators, edges, attributes' count and constants. 32 hexadecimal digits.
std::string fingerprint(const Model& model);

nlohmann::json to_json(const Calibration& calibration);
/// BadFile naming the field.
Calibration calibration_from_json(const nlohmann::json& json);

/// A file that keeps calibrations for the next run.
void save_calibration(const Calibration& calibration, const std::filesystem::path& path);
/// BadFile naming the file and field; InvalidArgument when it is of another model (by fingerprint, unless empty) or
/// method (unless empty).
Calibration load_calibration(const std::filesystem::path& path, const std::string& model, const std::string& method);

}  // namespace assay::quant
