#include <CLI/CLI.hpp>

#include "app/command.h"
#include "report/format.h"
#include "report/html.h"
#include "report/results_json.h"
#include "runs/sweep.h"

namespace assay::app {
namespace {

struct Arguments {
  std::string file, out;
  bool resume = false;
  bool check = false;
  EngineArguments engine;
  JsonArgument json;
};

std::string table(const report::Record& record) {
  std::string text;
  for (const size_t i : report::report_order(record)) {
    const report::Cell& cell = record.cells[i];
    text += fmt::format("{:<60}", report::cell_label(record, cell));
    if (cell.status != report::CellStatus::kOk) {
      text += fmt::format("{}: {}\n", report::to_string(cell.status), cell.reason);
      continue;
    }
    for (const std::string& m : report::metric_columns(record))
      text += fmt::format("  {} {} -> {}", m, report::metric_text(cell.baseline.metric(m)),
                          report::metric_text(cell.optimized.metric(m)));
    if (!cell.time.empty() && cell.time.back().baseline && cell.time.back().optimized)
      text += fmt::format(
          "  b{} s{}: {}", cell.time.back().batch_size, cell.time.back().input_length,
          report::ratio_text(cell.time.back().baseline->latency_mean, cell.time.back().optimized->latency_mean));
    text += "\n";
  }
  return text;
}

void run(const Arguments& a, const Environment& env) {
  const runs::RunFile file = runs::read_run_file(a.file);
  runs::SweepOptions options;
  options.session = a.engine.options(env);
  if (a.check) {
    runs::check_sweep(file, options, env.progress);
    if (!a.json.to_stdout()) print(fmt::format("{}: {} cells, no errors\n", a.file, file.cells()));
    a.json.write({{"file", a.file}, {"cells", file.cells()}});
    return;
  }
  require(!a.out.empty(), ErrorCode::kInvalidArgument, "-o DIR says where the reports go");
  options.folder = a.out;
  options.executable = "/proc/self/exe";
  options.resume = a.resume;
  options.command = env.command_line;
  const report::Record record = runs::run_sweep(file, options, SteadyClock{}, env.progress);
  const auto written = report::write_reports(record, a.out);
  a.json.write(report::to_json(record));
  if (!a.json.to_stdout()) {
    print(table(record));
    for (const auto& path : written) print(path.string() + "\n");
  }
  if (env.progress.interrupted()) throw CLI::RuntimeError(130);
  for (const report::Cell& cell : record.cells)
    if (cell.status == report::CellStatus::kFailed) throw CLI::RuntimeError(1);
}

}  // namespace

void add_run(CLI::App& parent, const Environment& env) {
  auto a = std::make_shared<Arguments>();
  CLI::App* c =
      parent.add_subcommand("run", "run a sweep of quantization choices from a YAML file and write its reports");
  c->add_option("FILE", a->file, "the run file (its fields: assay list fields)")->required();
  c->add_option("-o,--output", a->out, "folder for report.html, report.md, results.json, cells/ and models/");
  c->add_flag("--resume", a->resume, "take finished cells of an earlier run with the same inputs");
  c->add_flag("--check", a->check, "only check the run file, its model and its data");
  a->engine.declare(*c);
  a->json.declare(*c);
  c->footer(
      "Ctrl-C stops after the current step; finished cells stay, and --resume goes on. Exit status 1 when a cell "
      "failed.\n"
      "Examples:\n  assay run examples/runs/minilm-squad.yaml -o out/minilm-squad\n  assay run sweep.yaml -o out/sweep "
      "--resume\n  assay run sweep.yaml --check");
  c->callback([a, &env] { run(*a, env); });
}

}  // namespace assay::app
