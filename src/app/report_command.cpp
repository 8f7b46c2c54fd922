#include <CLI/CLI.hpp>

#include "app/command.h"
#include "base/file.h"
#include "report/compare.h"
#include "report/html.h"
#include "report/results_json.h"

namespace assay::app {
namespace {

struct Arguments {
  std::vector<std::string> runs;
  std::string out;
  JsonArgument json;
};

void report_on(const Arguments& a) {
  const report::Record record = report::read_results(a.runs[0]);
  if (a.runs.size() == 1) {
    const std::filesystem::path folder = !a.out.empty() ? std::filesystem::path(a.out)
                                         : std::filesystem::is_directory(a.runs[0])
                                             ? std::filesystem::path(a.runs[0])
                                             : std::filesystem::path(a.runs[0]).parent_path();
    Json written = Json::array();
    for (const auto& path : report::write_reports(record, folder)) written.push_back(path.string());
    a.json.write({{"written", written}});
    if (!a.json.to_stdout())
      for (const Json& path : written) print(path.get<std::string>() + "\n");
    return;
  }
  const report::Comparison comparison = report::compare(record, report::read_results(a.runs[1]));
  a.json.write(report::to_json(comparison));
  const std::string text = report::to_markdown(comparison);
  if (!a.out.empty()) write_text(a.out, text);
  if (a.out.empty() && !a.json.to_stdout()) print(text);
}

}  // namespace

void add_report(CLI::App& parent, const Environment& /*env*/) {
  auto a = std::make_shared<Arguments>();
  CLI::App* c = parent.add_subcommand("report", "write a run's reports again, or compare two runs");
  c->add_option("RUN", a->runs, "a run's folder or results.json; two are compared")->required()->expected(1, 2);
  c->add_option("-o,--output", a->out, "folder for the reports, or file for a comparison");
  a->json.declare(*c);
  c->footer("Examples:\n  assay report out/minilm-squad\n  assay report out/before out/after -o difference.md");
  c->callback([a] { report_on(*a); });
}

}  // namespace assay::app
