#pragma once

#include <filesystem>
#include <string>

#include "base/clock.h"
#include "base/progress.h"
#include "engine/session.h"
#include "report/record.h"
#include "runs/run_config.h"

namespace assay::runs {

struct SweepOptions {
  std::filesystem::path folder;      ///< cells/, models/ and the reports go here
  std::filesystem::path executable;  ///< this program: measures load time and peak memory in a process of its own
  SessionOptions session;            ///< the run file's thread count wins
  bool resume = true;                ///< take finished cells of an earlier run whose inputs were the same
  bool keep_models = true;           ///< leave the quantized files in models/
  std::string command;               ///< as typed, for the record
};

/// Reads everything that a run needs without running a cell; throws what run_sweep would.
void check_sweep(const RunFile& run, const SweepOptions& options, Progress& progress);

/// Runs every cell of a run file in order: quantizes, writes the file, reads it back, measures the answers of both
/// models and times them interleaved. A cell that fails is recorded with its reason and the others go on; each finished
/// cell is on disk before the next starts, so an interrupted run (Progress::interrupted) resumes. Throws for what
/// concerns the whole run: the model, the data sets.
report::Record run_sweep(const RunFile& run, const SweepOptions& options, const Clock& clock, Progress& progress);

}  // namespace assay::runs
