#include "report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "report/format.h"
#include "report/html/assets.h"
#include "report/html/sections.h"
#include "report/markdown.h"
#include "report/results_json.h"
#include "report/view.h"

namespace assay::report {
namespace {

// A script's text must not end its element: these sequences mean the same inside a JavaScript string or regular
// expression.
std::string script_text(std::string_view js) {
  std::string out;
  out.reserve(js.size());
  for (size_t i = 0; i < js.size(); ++i) {
    const std::string_view rest = js.substr(i);
    const bool closes = rest.size() > 2 && rest[0] == '<' && rest[1] == '/' && (rest[2] == 's' || rest[2] == 'S');
    const bool comments = rest.substr(0, 4) == "<!--";
    out += js[i];
    if (closes || comments) out += '\\';
  }
  return out;
}

Json figure(std::optional<double> value, std::string text) {
  return value ? Json{{"v", *value}, {"t", std::move(text)}} : Json(nullptr);
}

Json timing_data(const std::optional<Timing>& timing) {
  if (!timing) return nullptr;
  Json out = {{"sps", figure(timing->samples_per_s, time_text(timing->samples_per_s))},
              {"mean", figure(timing->latency_mean, time_text(timing->latency_mean))}};
  for (const PercentileName& p : percentile_names()) {
    const Percentile& value = (*timing).*p.member;
    out[p.key] = figure(value.ms, percentile_text(value));
  }
  return out;
}

// What the plots need, with every text already formatted.
Json plot_data(const Record& r) {
  Json out = {
      {"parameters", Json::array()}, {"metrics", metric_columns(r)}, {"grid", time_grid(r)}, {"cells", Json::array()}};
  const auto swept = r.benchmarked();
  for (const Parameter* p : swept) {
    Json values = Json::array();
    for (const Json& v : p->values) values.push_back(short_text(v));
    out["parameters"].push_back({{"name", p->name}, {"values", values}});
  }
  for (const size_t i : report_order(r)) {
    const Cell& c = r.cells[i];
    Json cell = {
        {"label", cell_label(r, c)}, {"values", Json::array()}, {"metrics", Json::object()}, {"time", Json::array()}};
    for (size_t k = 0; k < swept.size(); ++k) {
      const auto& values = swept[k]->values;
      cell["values"].push_back(std::find(values.begin(), values.end(), c.values[k]) - values.begin());
    }
    for (const std::string& m : metric_columns(r)) {
      const auto a = c.baseline.metric(m), b = c.optimized.metric(m);
      cell["metrics"][m] = {{"baseline", figure(a, metric_text(a))},
                            {"optimized", figure(b, metric_text(b))},
                            {"change", difference_text(metric_change(c, m))}};
    }
    for (const TimePoint& t : c.time) {
      const auto a = mean_latency(t.baseline), b = mean_latency(t.optimized);
      cell["time"].push_back({{"batch", t.batch_size},
                              {"length", t.input_length},
                              {"ratio", a && b ? figure(*a / *b, ratio_text(a, b)) : Json(nullptr)},
                              {"baseline", timing_data(t.baseline)},
                              {"optimized", timing_data(t.optimized)}});
    }
    out["cells"].push_back(std::move(cell));
  }
  return out;
}

}  // namespace

std::string to_html(const Record& record, std::string_view plotly_js) {
  record.validate();
  const std::string name = html_escape(record.display_name());
  std::string out = "<!doctype html>\n<html lang=\"en\" data-theme=\"light\">\n<head>\n<meta charset=\"utf-8\">\n";
  out += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  out +=
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'; img-src data: blob:\">\n";
  out += fmt::format("<title>{} · assay</title>\n<style>{}</style>\n</head>\n<body>\n", name, html_css());
  out += html_header(record);
  out += "<main>\n";
  out += html_summary(record);
  if (!plotly_js.empty()) out += html_plots(record);
  out += html_metrics(record) + html_speed_up(record) + html_time(record) + html_nodes(record) + html_machine(record);
  out += "</main>\n";
  out += fmt::format("<footer>{}</footer>\n",
                     record.command.empty() ? "" : "<code>" + html_escape(record.command) + "</code>");
  out += fmt::format("<script type=\"application/json\" id=\"run-data\">{}</script>\n", script_json(plot_data(record)));
  if (!plotly_js.empty()) out += fmt::format("<script>{}</script>\n", script_text(plotly_js));
  out += fmt::format("<script>{}</script>\n</body>\n</html>\n", script_text(html_js()));
  return out;
}

std::vector<std::filesystem::path> write_reports(const Record& record, const std::filesystem::path& folder) {
  const std::string json = to_json(record).dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  // The file just described is what a later reading gives, so the other two are rendered from the same.
  const std::string markdown = to_markdown(record), html = to_html(record, html_plotly());
  write_text(folder / "results.json", json);
  write_text(folder / "report.md", markdown);
  write_text(folder / "report.html", html);
  return {folder / "results.json", folder / "report.md", folder / "report.html"};
}

}  // namespace assay::report
