#include "report/markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "report/format.h"
#include "report/view.h"

namespace assay::report {
namespace {

constexpr const char* kDivider = "\\|";  // what the cards print between groups of columns

// A YAML scalar: plain when that is unmistakable, else in double quotes as JSON, which YAML reads.
std::string yaml_scalar(const std::string& text) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '/' || c == '.';
  };
  const bool safe = !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0 &&
                    std::all_of(text.begin(), text.end(), plain) && text != "true" && text != "false" &&
                    text != "null" && text != "yes" && text != "no" && text != "on" && text != "off";
  return safe ? text : Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

void yaml_list(std::string& out, const char* key, const std::vector<std::string>& items) {
  if (items.empty()) return;
  out += fmt::format("{}:\n", key);
  for (const std::string& item : items) out += fmt::format("- {}\n", yaml_scalar(item));
}

void head(std::string& out, const Record& r) {
  out += "---\n";
  out += fmt::format("pipeline_tag: {}\n", yaml_scalar(r.task));
  yaml_list(out, "datasets", r.datasets);
  yaml_list(out, "metrics", r.metrics);
  if (!r.model_type.empty()) yaml_list(out, "tags", {r.model_type});
  out += "---\n\n";
  out += fmt::format("**task**: {}  \n", markdown_code(r.task));
  out += fmt::format("**Backend:** {}  \n", markdown_code(r.backend));
  out += fmt::format("**Backend args:** {}  \n", markdown_code(python_repr(backend_args(r))));
  out += fmt::format("**Number of evaluation samples:** {}  \n\n", markdown_code(evaluation_samples_text(r)));
}

void parameters(std::string& out, const Record& r) {
  out += "Fixed parameters:\n\n";
  for (const Parameter& p : r.parameters) {
    if (p.benchmarked()) continue;
    const Json& value = p.values.front();
    if (!value.is_object()) {
      out += fmt::format("* **{}**: {}\n", markdown_escape(p.name), markdown_code(value_text(value)));
      continue;
    }
    out += fmt::format("* **{}**:\n", markdown_escape(p.name));
    for (const auto& [key, item] : value.items())
      if (!item.is_null())
        out += fmt::format("    * **{}**: {}\n", markdown_escape(key), markdown_code(value_text(item)));
  }
  if (!r.benchmarked().empty()) out += "\nBenchmarked parameters:\n\n";
  for (const Parameter* p : r.benchmarked()) {
    std::string values;
    for (const Json& v : p->values) values += (values.empty() ? "" : ", ") + markdown_code(value_text(v));
    out += fmt::format("* **{}**: {}\n", markdown_escape(p->name), values);
  }
  out += "\n";
}

// The columns that say which cell a row is.
std::vector<std::string> parameter_head(const Record& r) {
  std::vector<std::string> names;
  for (const Parameter* p : r.benchmarked()) names.push_back(markdown_escape(p->name));
  if (names.empty()) names.emplace_back("run");
  return names;
}

std::vector<std::string> parameter_cells(const Record& r, const Cell& cell) {
  std::vector<std::string> cells;
  for (const Json& v : cell.values) cells.push_back(markdown_code(value_text(v), true));
  if (r.benchmarked().empty()) cells.push_back(markdown_code(cell.id, true));
  return cells;
}

void append(std::vector<std::string>& to, std::initializer_list<std::string> items) { to.insert(to.end(), items); }

void non_time_table(std::string& out, const Record& r) {
  const auto metrics = metric_columns(r);
  out += "# Evaluation\n\n## Non-time metrics\n\n";
  if (metrics.empty()) {
    out += "No metric was measured.\n\n";
    return;
  }
  auto names = parameter_head(r);
  for (const std::string& m : metrics)
    append(names, {"", markdown_escape(m) + " (original)", markdown_escape(m) + " (optimized)"});
  MarkdownTable table(names);
  for (const size_t i : report_order(r)) {
    const Cell& cell = r.cells[i];
    auto cells = parameter_cells(r, cell);
    for (const std::string& m : metrics)
      append(cells, {kDivider, metric_text(cell.baseline.metric(m)), metric_text(cell.optimized.metric(m))});
    table.row(cells);
  }
  out += table.text() + "\n";
}

template <typename Value>
std::string of(const std::optional<Timing>& timing, Value Timing::*member) {
  return time_text(timing ? std::optional<double>((*timing).*member) : std::nullopt);
}

void time_tables(std::string& out, const Record& r) {
  out += "## Time metrics\n\n";
  const auto grid = time_grid(r);
  if (grid.empty()) {
    out += "Nothing was timed.\n\n";
    return;
  }
  if (const std::string seconds = duration_text(r); !seconds.empty())
    out += fmt::format("Time benchmarks were run for {} seconds per config.\n\n", seconds);
  for (const auto& [batch, length] : grid) {
    out += fmt::format("Below, time metrics for batch size = {}, input length = {}.\n\n", batch, length);
    auto names = parameter_head(r);
    append(names, {"", "latency_mean (original, ms)", "latency_mean (optimized, ms)", "", "throughput (original, /s)",
                   "throughput (optimized, /s)"});
    MarkdownTable table(names);
    for (const size_t i : report_order(r)) {
      const TimePoint* t = find_time(r.cells[i], batch, length);
      const TimePoint none;
      if (t == nullptr) t = &none;
      auto cells = parameter_cells(r, r.cells[i]);
      append(cells, {kDivider, of(t->baseline, &Timing::latency_mean), of(t->optimized, &Timing::latency_mean),
                     kDivider, of(t->baseline, &Timing::throughput), of(t->optimized, &Timing::throughput)});
      table.row(cells);
    }
    out += table.text() + "\n";
  }
}

void costs_and_gains(std::string& out, const Record& r) {
  const auto metrics = metric_columns(r);
  out += "# Details\n\n## Cost and gain\n\n";
  for (const Highlight& h : highlights(r)) {
    out += fmt::format("* {}: {}", h.label, markdown_code(cell_label(r, *h.cell)));
    if (!metrics.empty())
      out += fmt::format(", {} {}", markdown_escape(metrics.front()),
                         difference_text(metric_change(*h.cell, metrics.front())));
    if (const auto s = speed_up(*h.cell)) out += fmt::format(", {} as fast", ratio_text(s, 1.0));
    out += "\n";
  }
  out +=
      "\nSpeed-up is the geometric mean over all batch sizes and input lengths of original / optimized mean "
      "latency.\n\n";
  auto names = parameter_head(r);
  names.emplace_back("status");
  for (const std::string& m : metrics) names.push_back(markdown_escape(m) + " change");
  append(names, {"speed-up", "file (original)", "file (optimized)", "load (original, ms)", "load (optimized, ms)",
                 "peak memory (original)", "peak memory (optimized)"});
  MarkdownTable table(names);
  for (const size_t i : report_order(r)) {
    const Cell& c = r.cells[i];
    auto cells = parameter_cells(r, c);
    cells.emplace_back(to_string(c.status));
    for (const std::string& m : metrics) cells.push_back(difference_text(metric_change(c, m)));
    append(cells, {ratio_text(speed_up(c), 1.0), bytes_text(c.baseline.model_bytes),
                   bytes_text(c.optimized.model_bytes), time_text(c.baseline.load_ms), time_text(c.optimized.load_ms),
                   bytes_text(c.baseline.peak_memory_bytes), bytes_text(c.optimized.peak_memory_bytes)});
    table.row(cells);
  }
  out += table.text() + "\n";
  for (const size_t i : report_order(r)) {
    const Cell& c = r.cells[i];
    if (c.status != CellStatus::kOk)
      out +=
          fmt::format("* {} {}: {}\n", markdown_code(cell_label(r, c)), to_string(c.status), markdown_escape(c.reason));
  }
  for (const NoteGroup& note : note_groups(r)) {
    out += "* " + markdown_escape(note.text);
    for (size_t i = 0; i < note.cells.size(); ++i)
      out += (i == 0 ? " (" : "; ") + markdown_code(cell_label(r, *note.cells[i]));
    out += note.cells.empty() ? "\n" : ")\n";
  }
  out += "\n";
}

void percentile_tables(std::string& out, const Record& r) {
  const auto grid = time_grid(r);
  if (grid.empty()) return;
  out += "## Samples a second and percentiles\n\n";
  out += "throughput counts forward passes a second, samples/s counts samples. Latencies are in ms. ";
  out += "n<N stands where fewer than the N forward passes that would support the percentile were timed.\n\n";
  for (const auto& [batch, length] : grid) {
    out += fmt::format("Batch size {}, input length {}:\n\n", batch, length);
    auto names = parameter_head(r);
    append(names, {"model", "forward passes", "samples/s", "std"});
    for (const PercentileName& p : percentile_names()) names.emplace_back(p.label);
    MarkdownTable table(names);
    for (const size_t i : report_order(r)) {
      const TimePoint* t = find_time(r.cells[i], batch, length);
      if (t == nullptr) continue;
      for (const bool original : {true, false}) {
        const auto& timing = original ? t->baseline : t->optimized;
        if (!timing) continue;
        auto cells = parameter_cells(r, r.cells[i]);
        append(cells, {original ? "original" : "optimized", std::to_string(timing->nb_forwards),
                       time_text(timing->samples_per_s), time_text(timing->latency_std)});
        for (const PercentileName& p : percentile_names()) cells.push_back(percentile_text((*timing).*p.member));
        table.row(cells);
      }
    }
    out += table.text() + "\n";
  }
}

void node_tables(std::string& out, const Record& r) {
  bool any = false;
  for (const Cell& c : r.cells) any = any || !c.nodes.empty();
  if (!any) return;
  out += "## What was quantized, and why\n\n";
  for (const size_t i : report_order(r)) {
    const Cell& c = r.cells[i];
    if (c.nodes.empty()) continue;
    out += fmt::format("### {}\n\n", markdown_code(cell_label(r, c)));
    if (const auto worst = worst_nodes(c, 10); !worst.empty()) {
      out += "The quantized nodes that did most damage:\n\n";
      MarkdownTable table({"node", "op", "SQNR (dB)", "metric drop alone"});
      for (const NodeDecision* n : worst)
        table.row({markdown_code(n->node, true), markdown_code(n->op, true), db_text(n->sqnr_db),
                   metric_text(n->metric_drop)});
      out += table.text() + "\n";
    }
    MarkdownTable by_op({"op", "quantized", "of", "weights quantized", "of weights"});
    for (const OpCoverage& o : coverage(c))
      by_op.row({markdown_code(o.op, true), std::to_string(o.quantized), std::to_string(o.total),
                 bytes_text(o.quantized_weight_bytes), bytes_text(o.weight_bytes)});
    out += by_op.text() + "\n";
    MarkdownTable groups({"op", "outcome", "reason", "count", "nodes"});
    for (const NodeGroup& g : node_groups(c)) {
      std::string names;
      for (const NodeDecision* n : g.nodes) names += (names.empty() ? "" : ", ") + markdown_code(n->node, true);
      groups.row({markdown_code(g.op, true), g.quantized ? markdown_escape(g.scheme) : "not quantized",
                  markdown_escape(g.reason), std::to_string(g.nodes.size()), names});
    }
    out += groups.text() + "\n";
  }
}

void machine(std::string& out, const Record& r) {
  out += "## Machine\n\n";
  for (const auto& [label, text] : machine_facts(r)) out += fmt::format("* {}: {}\n", label, markdown_escape(text));
  out += "\n## Versions\n\n";
  for (const auto& [name, version] : r.versions)
    out += fmt::format("* {}: {}\n", markdown_escape(name), markdown_escape(version));
  if (!r.started_at.empty())
    out += fmt::format("\nRun of {}, {} s", markdown_escape(r.started_at), time_text(r.wall_s));
  if (!r.started_at.empty() && !r.command.empty()) out += fmt::format(": {}", markdown_code(r.command));
  if (!r.started_at.empty()) out += "\n";
}

}  // namespace

MarkdownTable::MarkdownTable(const std::vector<std::string>& head) {
  row(head);
  text_ += "|";
  for (size_t i = 0; i < head.size(); ++i) text_ += " :---: |";
  text_ += "\n";
}

void MarkdownTable::row(const std::vector<std::string>& cells) {
  text_ += "|";
  for (const std::string& cell : cells) text_ += " " + cell + (cell.empty() ? "|" : " |");
  text_ += "\n";
}

std::string to_markdown(const Record& record) {
  record.validate();
  std::string out;
  head(out, record);
  parameters(out, record);
  non_time_table(out, record);
  time_tables(out, record);
  costs_and_gains(out, record);
  percentile_tables(out, record);
  node_tables(out, record);
  machine(out, record);
  return out;
}

}  // namespace assay::report
