#include "runs/timing.h"

#include <algorithm>

#include "bench/statistics.h"
#include "report/results_json.h"

namespace assay::runs {

report::Timing to_timing(const TimedLoop& loop, int64_t batch) {
  report::Timing t;
  t.nb_forwards = static_cast<int64_t>(loop.latencies_ns.size());
  t.duration_s = loop.duration_s;
  if (loop.latencies_ns.empty()) return t;
  std::vector<double> ms;
  ms.reserve(loop.latencies_ns.size());
  for (const int64_t ns : loop.latencies_ns) ms.push_back(static_cast<double>(ns) * 1e-6);
  std::sort(ms.begin(), ms.end());
  t.latency_mean = mean(ms);
  t.latency_std = standard_deviation(ms);
  // Over the time the passes took, not the time asked for: the last pass of a loop always ends beyond it.
  t.throughput = static_cast<double>(t.nb_forwards) / loop.duration_s;
  t.samples_per_s = t.throughput * static_cast<double>(batch);
  constexpr double kQuantiles[] = {0.50, 0.90, 0.95, 0.99, 0.999};
  const auto& names = report::percentile_names();
  for (size_t i = 0; i < names.size(); ++i) {
    report::Percentile& p = t.*names[i].member;
    p.ms = supported_quantile(ms, kQuantiles[i]);
    if (!p.ms) p.needed = passes_needed(kQuantiles[i]);
  }
  return t;
}

report::Json time_row(int64_t batch, int64_t length, const report::Timing& timing) {
  report::Json row = {{"batch_size", batch}, {"input_length", length}};
  row.update(report::to_json(timing));
  return row;
}

}  // namespace assay::runs
