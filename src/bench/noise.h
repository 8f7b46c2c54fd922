#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/clock.h"

namespace assay {

/// How even the machine's pace is: the same small work timed many times. On a machine of our own every ratio is near 1.
struct Noise {
  int64_t probes = 0;
  double p50_us = 0;
  double p99_over_p50 = 0, max_over_p50 = 0;
  double steal_percent = 0;  ///< processor time taken by the hypervisor between begin and end, of /proc/stat
};

/// Ticks of /proc/stat's "cpu" line: total and stolen.
struct CpuTicks {
  int64_t total = 0, steal = 0;
};
CpuTicks parse_proc_stat(std::string_view text);
CpuTicks read_cpu_ticks();

/// Runs the probe (about 50 ms) and fills all but steal_percent.
Noise probe_noise(const Clock& clock);
/// Steal between two readings, in percent.
double steal_percent(const CpuTicks& before, const CpuTicks& after);

nlohmann::ordered_json to_json(const Noise& noise);

}  // namespace assay
