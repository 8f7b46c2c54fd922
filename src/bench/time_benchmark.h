#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/progress.h"
#include "engine/engine.h"

namespace assay {

/// How one (batch, length) cell is timed.
struct TimeOptions {
  double duration_s = 1;  ///< forward passes of an engine go on until their latencies sum to this
  int64_t warmup_runs = 10;
  int64_t rounds = 4;  ///< the duration is cut into this many turns; engines take them in alternating order
};

/// The latencies of one engine on one cell, in nanoseconds, in the order measured.
struct TimedLoop {
  std::vector<int64_t> latencies_ns;
  double duration_s = 0;  ///< their sum
};

/// Times engines on the same inputs, interleaved: every round each engine runs for its share of the duration, the order
/// reversed from round to round, so that a machine that speeds up or slows down does so for all. The clock runs around
/// Engine::run alone. At least one pass an engine and round. Stops early (with what it has) when interrupted.
std::vector<TimedLoop> time_interleaved(std::span<Engine* const> engines, std::span<const std::vector<Tensor>> inputs,
                                        const TimeOptions& options, const Clock& clock, const Progress& progress);

}  // namespace assay
