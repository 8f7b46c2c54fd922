#include "report/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/format.h"
#include "report/markdown.h"

namespace assay::report {
namespace {

constexpr std::string_view kLatency = "latency_mean";

/// Figures of a cell by name, in the order of the report.
std::vector<std::pair<std::string, double>> figures_of(const Record& record, const Cell& cell) {
  std::vector<std::pair<std::string, double>> out = cell.optimized.metrics;
  for (const auto& [batch, length] : time_grid(record))
    if (const TimePoint* t = find_time(cell, batch, length); t != nullptr && t->optimized)
      out.emplace_back(fmt::format("{} b{} s{} (ms)", kLatency, batch, length), t->optimized->latency_mean);
  if (cell.optimized.load_ms) out.emplace_back("load (ms)", *cell.optimized.load_ms);
  if (cell.optimized.peak_memory_bytes)
    out.emplace_back("peak memory (MB)", static_cast<double>(*cell.optimized.peak_memory_bytes) * 1e-6);
  if (cell.optimized.model_bytes)
    out.emplace_back("model (MB)", static_cast<double>(*cell.optimized.model_bytes) * 1e-6);
  return out;
}

std::optional<double> value_of(const std::vector<std::pair<std::string, double>>& figures, const std::string& name) {
  const auto it = std::find_if(figures.begin(), figures.end(), [&](const auto& f) { return f.first == name; });
  return it == figures.end() ? std::nullopt : std::optional(it->second);
}

void note_unlike(const Record& a, const Record& b, std::string_view field, std::vector<std::string>& notes) {
  const Json x = a.machine.contains(field) ? a.machine.at(std::string(field)) : Json();
  const Json y = b.machine.contains(field) ? b.machine.at(std::string(field)) : Json();
  if (x != y) notes.push_back(fmt::format("{} differs: {} and {}", field, short_text(x), short_text(y)));
}

}  // namespace

Comparison compare(const Record& before, const Record& after) {
  Comparison c;
  c.before = before.display_name();
  c.after = after.display_name();
  for (const std::string_view field : {"cpu", "threads", "used_instructions"})
    note_unlike(before, after, field, c.notes);
  for (const Record* r : {&before, &after})
    if (const auto it = r->machine.find("noise");
        it != r->machine.end() && it->is_object() && it->contains("p99_over_p50"))
      c.notes.push_back(fmt::format("{}: noise probe p99 is {} of its median", r == &before ? "before" : "after",
                                    (*it)["p99_over_p50"].is_number()
                                        ? ratio_text((*it)["p99_over_p50"].get<double>(), 1.0)
                                        : std::string(kNoFigure)));
  if (before.fixed("model_name_or_path") != after.fixed("model_name_or_path"))
    c.notes.emplace_back("the models differ");
  if (before.datasets != after.datasets || before.evaluated_samples != after.evaluated_samples)
    c.notes.emplace_back("the data sets differ");
  std::vector<std::string> seen;
  const auto add = [&](const Cell* x, const Cell* y, const std::string& label) {
    const auto fx = x != nullptr ? figures_of(before, *x) : std::vector<std::pair<std::string, double>>{};
    const auto fy = y != nullptr ? figures_of(after, *y) : std::vector<std::pair<std::string, double>>{};
    for (const auto& [name, value] : fx) c.differences.push_back({label, name, value, value_of(fy, name)});
    for (const auto& [name, value] : fy)
      if (!value_of(fx, name)) c.differences.push_back({label, name, std::nullopt, value});
  };
  const auto find = [](const Record& r, const std::string& label) -> const Cell* {
    for (const Cell& cell : r.cells)
      if (cell_label(r, cell) == label) return &cell;
    return nullptr;
  };
  for (const size_t i : report_order(before)) {
    const std::string label = cell_label(before, before.cells[i]);
    seen.push_back(label);
    add(&before.cells[i], find(after, label), label);
  }
  for (const size_t i : report_order(after)) {
    const std::string label = cell_label(after, after.cells[i]);
    if (std::find(seen.begin(), seen.end(), label) == seen.end()) add(nullptr, &after.cells[i], label);
  }
  double sum = 0;
  int count = 0;
  for (const Difference& d : c.differences) {
    if (!d.figure.starts_with(kLatency) || !d.before || !d.after || !(*d.before > 0) || !(*d.after > 0)) continue;
    sum += std::log(*d.after / *d.before);
    ++count;
  }
  if (count > 0) c.latency_ratio = std::exp(sum / count);
  return c;
}

Json to_json(const Comparison& c) {
  const auto number = [](const std::optional<double>& v) { return v ? Json(*v) : Json(nullptr); };
  Json out = {{"before", c.before},
              {"after", c.after},
              {"latency_ratio", number(c.latency_ratio)},
              {"notes", c.notes},
              {"differences", Json::array()}};
  for (const Difference& d : c.differences) {
    Json row = {{"cell", d.cell}, {"figure", d.figure}, {"before", number(d.before)}, {"after", number(d.after)}};
    row["ratio"] = d.before && d.after && *d.before != 0 ? Json(*d.after / *d.before) : Json(nullptr);
    out["differences"].push_back(std::move(row));
  }
  return out;
}

std::string to_markdown(const Comparison& c) {
  std::string text = fmt::format("# {} → {}\n", markdown_escape(c.before), markdown_escape(c.after));
  if (c.latency_ratio)
    text += fmt::format("\nMean latency after / before, geometric mean over all cells: {}\n",
                        ratio_text(c.latency_ratio, 1.0));
  for (const std::string& n : c.notes) text += "\n- " + markdown_escape(n);
  if (!c.notes.empty()) text += "\n";
  for (size_t i = 0; i < c.differences.size();) {
    const std::string& cell = c.differences[i].cell;
    text += fmt::format("\n## {}\n\n", markdown_escape(cell));
    MarkdownTable table({"figure", "before", "after", "difference", "after / before"});
    for (; i < c.differences.size() && c.differences[i].cell == cell; ++i) {
      const Difference& d = c.differences[i];
      const auto difference = d.before && d.after ? std::optional(*d.after - *d.before) : std::nullopt;
      table.row({markdown_escape(d.figure), metric_text(d.before), metric_text(d.after), difference_text(difference),
                 ratio_text(d.after, d.before)});
    }
    text += table.text();
  }
  return text;
}

}  // namespace assay::report
