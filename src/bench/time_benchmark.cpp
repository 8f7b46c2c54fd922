#include "bench/time_benchmark.h"

namespace assay {

std::vector<TimedLoop> time_interleaved(std::span<Engine* const> engines, std::span<const std::vector<Tensor>> inputs,
                                        const TimeOptions& options, const Clock& clock, const Progress& progress) {
  require(engines.size() == inputs.size(), ErrorCode::kInternal, "{} engines and {} sets of inputs", engines.size(),
          inputs.size());
  require(options.duration_s >= 0 && options.rounds >= 1 && options.warmup_runs >= 0, ErrorCode::kInvalidArgument,
          "duration and warm-up runs cannot be negative, and there is at least one round");
  std::vector<TimedLoop> loops(engines.size());
  std::vector<std::vector<TensorView>> views(engines.size());
  for (size_t e = 0; e < engines.size(); ++e) views[e].assign(inputs[e].begin(), inputs[e].end());
  for (size_t e = 0; e < engines.size(); ++e)
    for (int64_t i = 0; i < options.warmup_runs && !progress.interrupted(); ++i) engines[e]->run(views[e]);
  const auto share_ns = static_cast<int64_t>(options.duration_s * 1e9 / static_cast<double>(options.rounds));
  for (int64_t round = 0; round < options.rounds && !progress.interrupted(); ++round) {
    for (size_t turn = 0; turn < engines.size(); ++turn) {
      const size_t e = round % 2 == 0 ? turn : engines.size() - 1 - turn;
      if (options.rounds > 1) engines[e]->run(views[e]);  // untimed: its weights come back into the caches
      int64_t spent = 0;
      do {
        const int64_t start = clock.now_ns();
        engines[e]->run(views[e]);
        const int64_t ns = clock.now_ns() - start;
        loops[e].latencies_ns.push_back(ns);
        spent += ns;
      } while (spent < share_ns && !progress.interrupted());
      loops[e].duration_s += static_cast<double>(spent) * 1e-9;
    }
  }
  return loops;
}

}  // namespace assay
