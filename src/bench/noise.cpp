#include "bench/noise.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

#include "bench/statistics.h"

namespace assay {
namespace {

// About 50 microseconds of integer work that the compiler cannot shorten.
uint64_t fixed_work(uint64_t x) {
  for (int i = 0; i < 40000; ++i) x = x * 6364136223846793005ULL + 1442695040888963407ULL;
  return x;
}

}  // namespace

CpuTicks parse_proc_stat(std::string_view text) {
  std::istringstream in{std::string(text.substr(0, text.find('\n')))};
  std::string name;
  in >> name;
  CpuTicks ticks;
  if (name != "cpu") return ticks;
  for (int i = 0; i < 8; ++i) {  // user nice system idle iowait irq softirq steal
    int64_t n = 0;
    if (!(in >> n)) break;
    ticks.total += n;
    if (i == 7) ticks.steal = n;
  }
  return ticks;
}

CpuTicks read_cpu_ticks() {
  std::ifstream in("/proc/stat");
  std::string line;
  std::getline(in, line);
  return parse_proc_stat(line);
}

Noise probe_noise(const Clock& clock) {
  constexpr int64_t kProbes = 1000;
  std::vector<double> us;
  us.reserve(kProbes);
  volatile uint64_t sink = 1;
  for (int64_t i = 0; i < kProbes; ++i) {
    const int64_t start = clock.now_ns();
    sink = fixed_work(sink);
    us.push_back(static_cast<double>(clock.now_ns() - start) * 1e-3);
  }
  std::sort(us.begin(), us.end());
  Noise n;
  n.probes = kProbes;
  n.p50_us = quantile(us, 0.5);
  if (n.p50_us > 0) {
    n.p99_over_p50 = quantile(us, 0.99) / n.p50_us;
    n.max_over_p50 = us.back() / n.p50_us;
  }
  return n;
}

double steal_percent(const CpuTicks& before, const CpuTicks& after) {
  const int64_t total = after.total - before.total;
  return total > 0 ? 100.0 * static_cast<double>(after.steal - before.steal) / static_cast<double>(total) : 0;
}

nlohmann::ordered_json to_json(const Noise& n) {
  return {{"probes", n.probes},
          {"p50_us", n.p50_us},
          {"p99_over_p50", n.p99_over_p50},
          {"max_over_p50", n.max_over_p50},
          {"steal_percent", n.steal_percent}};
}

}  // namespace assay
