#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/record.h"

namespace assay::report {

/// One figure of the optimized model that both runs have (or only one: then the other side is absent).
struct Difference {
  std::string cell;    ///< label of the cell, by its parameter values
  std::string figure;  ///< "f1", "latency_mean b8 s128 (ms)", "model_bytes"
  std::optional<double> before, after;
};

/// Two runs side by side, cells paired by their parameter values.
struct Comparison {
  std::string before, after;  ///< names of the runs
  std::vector<Difference> differences;
  std::optional<double> latency_ratio;  ///< geometric mean of after / before over all mean latencies that both have
  std::vector<std::string>
      notes;  ///< how noisy each machine was, and what makes the two unlike: machine, threads, model, data
};

Comparison compare(const Record& before, const Record& after);

Json to_json(const Comparison& comparison);
/// A table a cell: figure, before, after, difference, ratio.
std::string to_markdown(const Comparison& comparison);

}  // namespace assay::report
