#pragma once

#include "bench/time_benchmark.h"
#include "report/record.h"

namespace assay::runs {

/// The figures of a timed loop as reports carry them; a percentile is left out where the passes are too few to support
/// it.
report::Timing to_timing(const TimedLoop& loop, int64_t batch);

/// An optimum-style time entry of JSON: batch_size, input_length and the timing's own keys.
report::Json time_row(int64_t batch, int64_t length, const report::Timing& timing);

}  // namespace assay::runs
