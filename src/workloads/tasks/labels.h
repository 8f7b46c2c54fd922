#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "workloads/data/dataset.h"

namespace assay::workloads {

/// True classes of the first rows: names of the model's labels (case ignored) or their numbers. BadFile naming the row
/// for anything else, or a number beyond the labels (`labels` empty: any number from 0).
std::vector<int64_t> read_classes(const Dataset& data, size_t column, int64_t rows,
                                  const std::vector<std::string>& labels);
/// The same as real numbers, for regression.
std::vector<double> read_values(const Dataset& data, size_t column, int64_t rows);

/// Name of a class: the model's, else its number.
std::string label_name(const std::vector<std::string>& labels, int64_t id);

/// Ids of the `n` largest, best first, ties to the lower id.
std::vector<int64_t> top_classes(std::span<const float> scores, size_t n);

}  // namespace assay::workloads
