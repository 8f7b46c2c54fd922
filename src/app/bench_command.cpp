#include <fmt/ranges.h>

#include <algorithm>

#include "app/command.h"
#include "bench/machine.h"
#include "bench/random_inputs.h"
#include "bench/time_benchmark.h"
#include "engine/engine.h"
#include "formats/registry.h"
#include "report/format.h"
#include "runs/environment.h"
#include "runs/timing.h"

namespace assay::app {
namespace {

struct Arguments {
  std::vector<std::string> models;
  std::vector<int64_t> batches = {1, 4, 8};
  std::vector<int64_t> lengths = {32, 64, 128};
  TimeOptions time;
  EngineArguments engine;
  JsonArgument json;
};

struct Contender {
  std::string path;
  std::unique_ptr<NativeEngine> engine;
  Graph graph;  // as loaded, for its inputs
  double load_ms = 0;
  int64_t max_positions = 0;
};

void bench(const Arguments& a, const Environment& env) {
  const SessionOptions options = a.engine.options(env);
  const SteadyClock clock;
  std::vector<Contender> contenders;
  contenders.reserve(a.models.size());
  for (const std::string& path : a.models) {
    Contender c;
    c.path = path;
    const int64_t start = clock.now_ns();
    LoadedModel loaded = load_model(path);
    for (const std::string& n : loaded.notes) env.progress.note(n);
    c.graph = loaded.model.graph.clone();
    c.max_positions = loaded.info.max_positions;
    c.engine = std::make_unique<NativeEngine>(std::move(loaded.model), options);
    c.load_ms = static_cast<double>(clock.now_ns() - start) * 1e-6;
    contenders.push_back(std::move(c));
  }
  for (const Contender& c : contenders) try {
      require_lengths_fit(c.graph, c.max_positions, a.lengths);
    } catch (Error& e) {
      throw e.at("model", c.path);
    }
  std::vector<Engine*> engines;
  engines.reserve(contenders.size());
  for (const Contender& c : contenders) engines.push_back(c.engine.get());

  Json result;
  result["threads"] = options.threads;
  result["isa"] = kernels::to_string(options.isa);
  result["machine"] = runs::machine_json(options, probe_noise(clock));
  std::vector<Json> times(contenders.size(), Json::array());
  std::string table = fmt::format("{:>6} {:>7}  {:>10} {:>10} {:>10} {:>10} {:>12}  {}\n", "batch", "length", "mean ms",
                                  "p50 ms", "p90 ms", "p99 ms", "samples/s", "model");
  const bool any_length = has_free_length(contenders[0].graph);
  const std::vector<int64_t> lengths = any_length ? a.lengths : std::vector<int64_t>{0};
  env.progress.begin("bench", static_cast<int64_t>(a.batches.size() * lengths.size()));
  for (const int64_t batch : a.batches)
    for (const int64_t length : lengths) {
      std::vector<std::vector<Tensor>> inputs;
      for (const Contender& c : contenders) inputs.push_back(random_inputs(c.graph, batch, length, 2));
      const auto loops = time_interleaved(engines, inputs, a.time, clock, env.progress);
      for (size_t e = 0; e < loops.size(); ++e) {
        const report::Timing t = runs::to_timing(loops[e], batch);
        times[e].push_back(runs::time_row(batch, length, t));
        table += fmt::format("{:>6} {:>7}  {:>10} {:>10} {:>10} {:>10} {:>12}  {}\n", batch, length,
                             report::time_text(t.latency_mean), report::percentile_text(t.latency_50),
                             report::percentile_text(t.latency_90), report::percentile_text(t.latency_99),
                             report::time_text(t.samples_per_s), contenders[e].path);
      }
      env.progress.advance();
      if (env.progress.interrupted()) break;
    }
  env.progress.end();
  result["model"] = contenders[0].path;
  result["load_ms"] = contenders[0].load_ms;
  result["peak_memory_bytes"] = peak_memory_bytes();
  result["time"] = times[0];
  if (contenders.size() > 1) {
    for (size_t e = 0; e < contenders.size(); ++e)
      result["models"].push_back(
          {{"model", contenders[e].path}, {"load_ms", contenders[e].load_ms}, {"time", times[e]}});
  }
  a.json.write(result);
  if (!a.json.to_stdout()) print(table);
}

}  // namespace

void add_bench(CLI::App& parent, const Environment& env) {
  auto a = std::make_shared<Arguments>();
  CLI::App* c = parent.add_subcommand("bench", "time forward passes by batch size and input length");
  c->add_option("MODEL", a->models, "ONNX file or checkpoint folder; several are timed interleaved")->required();
  c->add_option("--batch", a->batches, "batch sizes, comma separated")
      ->delimiter(',')
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  c->add_option("--length", a->lengths, "input lengths, comma separated")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  c->add_option("--duration", a->time.duration_s, "seconds for each batch, length and model")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str();
  c->add_option("--warmup", a->time.warmup_runs, "untimed passes first")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  a->engine.declare(*c);
  a->json.declare(*c);
  c->footer(
      "Latencies are in ms around one forward pass on random inputs; throughput is forward passes a second, "
      "samples_per_s is that times the batch.\n"
      "A percentile appears only when enough passes were timed to support it.\n"
      "Examples:\n  assay bench model.onnx --batch 1,4,8 --length 32,64,128 --duration 1 --threads 2\n"
      "  assay bench fp32.onnx int8.onnx --batch 1 --length 128 --duration 5 --json -");
  c->callback([a, &env] { bench(*a, env); });
}

}  // namespace assay::app
