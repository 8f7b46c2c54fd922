#include "report/html/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "report/format.h"
#include "report/view.h"

namespace assay::report {
namespace {

std::string th(const std::string& name, bool first = false) {
  return fmt::format("<th class=\"num{}\">{}</th>", first ? " first" : "", name);
}

std::string td(const std::string& figure, bool first = false) {
  return fmt::format("<td class=\"num{}\">{}</td>", first ? " first" : "", html_escape(figure));
}

std::string code(const std::string& text) { return "<code>" + html_escape(text) + "</code>"; }

// The mark of a point in the plots: colour by the first benchmarked parameter, shape by the second, filling by the
// third. The shapes and fillings follow the lists in report.js.
std::string mark(size_t color, size_t shape, size_t filling, bool grey = false) {
  static constexpr const char* kShapes[] = {
      R"(<circle cx="7" cy="7" r="4.6"/>)",         R"(<rect x="2.8" y="2.8" width="8.4" height="8.4"/>)",
      R"(<path d="M7 1.4 12.6 7 7 12.6 1.4 7z"/>)", R"(<path d="M7 2 12.6 11.6H1.4z"/>)",
      R"(<path d="M5 2h4v3h3v4H9v3H5V9H2V5h3z"/>)", R"(<path d="M7 1.8 12.3 5.7 10.3 12H3.7L1.7 5.7z"/>)"};
  const std::string ink = grey ? "var(--muted)" : fmt::format("var(--c{})", color % 8);
  const bool open = filling % 4 == 1 || filling % 4 == 2, dot = filling % 4 >= 2;
  return fmt::format(
      R"(<svg class="mark" viewBox="0 0 14 14" aria-hidden="true" style="stroke:{0};stroke-width:1.8;fill:{1}">{2}{3}</svg>)",
      ink, open ? "none" : ink, kShapes[shape % 6],
      dot ? fmt::format(R"(<circle cx="7" cy="7" r="1" style="fill:{}"/>)", open ? ink : "var(--surface)") : "");
}

size_t value_index(const Parameter& p, const Json& value) {
  return static_cast<size_t>(std::find(p.values.begin(), p.values.end(), value) - p.values.begin());
}

std::string cell_mark(const Record& r, const Cell& cell) {
  const auto swept = r.benchmarked();
  const auto at = [&](size_t k) { return k < swept.size() ? value_index(*swept[k], cell.values[k]) : 0; };
  return mark(at(0), at(1), at(2));
}

std::string parameter_head(const Record& r) {
  std::string out = "<th class=\"mark\"></th>";
  for (const Parameter* p : r.benchmarked()) out += "<th>" + html_escape(p->name) + "</th>";
  return r.benchmarked().empty() ? out + "<th>run</th>" : out;
}

std::string parameter_cells(const Record& r, const Cell& cell) {
  std::string out = "<td class=\"mark\">" + cell_mark(r, cell) + "</td>";
  for (const Json& v : cell.values)
    out +=
        fmt::format("<td class=\"parameter{}\">{}</td>", value_text(v).size() > 30 ? " long" : "", code(value_text(v)));
  return cell.values.empty() ? out + "<td>" + code(cell.id) + "</td>" : out;
}

std::string table(const std::string& head, const std::string& body, const char* kind = "") {
  return fmt::format(
      "<div class=\"scroll\"><table class=\"{}\">\n<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody></table></div>\n",
      kind, head, body);
}

std::string option(const std::string& value, const std::string& label) {
  return fmt::format("<option value=\"{}\">{}</option>", html_escape(value), html_escape(label));
}

std::string select(const char* id, const char* name, const std::string& options) {
  return fmt::format("<label class=\"control\"><span class=\"name\">{}</span><select id=\"{}\">{}</select></label>\n",
                     name, id, options);
}

std::string tile(const std::string& label, const std::string& figures, const std::string& under) {
  return fmt::format(
      "<div class=\"tile\"><div class=\"label\">{}</div><div class=\"figures\">{}</div><div "
      "class=\"small\">{}</div></div>\n",
      label, figures, under);
}

std::string big(const std::string& figure, const std::string& unit) {
  return fmt::format("<span><span class=\"big\">{}</span> <span class=\"small\">{}</span></span>", html_escape(figure),
                     html_escape(unit));
}

std::string timing_text(const std::optional<Timing>& t, double Timing::*member) {
  return time_text(t ? std::optional<double>((*t).*member) : std::nullopt);
}

// File size, load time, memory and evaluation speed of both models, as far as known.
std::string size_table(const Record& r) {
  struct Column {
    const char* name;
    std::string (*text)(const Side&);
  };
  static constexpr Column kColumns[] = {
      {"file", [](const Side& s) { return bytes_text(s.model_bytes); }},
      {"load, ms", [](const Side& s) { return time_text(s.load_ms); }},
      {"peak memory", [](const Side& s) { return bytes_text(s.peak_memory_bytes); }},
      {"evaluation, samples/s", [](const Side& s) { return time_text(s.eval_samples_per_s); }}};
  std::vector<Column> known;
  for (const Column& column : kColumns)
    if (std::any_of(r.cells.begin(), r.cells.end(), [&](const Cell& c) {
          return column.text(c.baseline) != kNoFigure || column.text(c.optimized) != kNoFigure;
        }))
      known.push_back(column);
  if (known.empty()) return {};
  std::string head = parameter_head(r), body;
  for (const Column& column : known)
    head += th(std::string(column.name) + "<br>(original)", true) + th(std::string(column.name) + "<br>(optimized)");
  for (const size_t i : report_order(r)) {
    body += "<tr>" + parameter_cells(r, r.cells[i]);
    for (const Column& column : known)
      body += td(column.text(r.cells[i].baseline), true) + td(column.text(r.cells[i].optimized));
    body += "</tr>\n";
  }
  return "<h3>Size, load, memory</h3>\n" + table(head, body);
}

std::string percentile_rows(const Record& r, int64_t batch, int64_t length) {
  std::string body;
  for (const size_t i : report_order(r)) {
    const TimePoint* t = find_time(r.cells[i], batch, length);
    if (t == nullptr) continue;
    for (const bool original : {true, false}) {
      const auto& timing = original ? t->baseline : t->optimized;
      if (!timing) continue;
      body += "<tr>" + parameter_cells(r, r.cells[i]) +
              (original ? "<td class=\"muted\">original</td>" : "<td>optimized</td>");
      body += td(std::to_string(timing->nb_forwards), true) + td(time_text(timing->samples_per_s)) +
              td(time_text(timing->latency_std));
      for (const PercentileName& p : percentile_names()) body += td(percentile_text((*timing).*p.member));
      body += "</tr>\n";
    }
  }
  return body;
}

}  // namespace

std::string html_header(const Record& r) {
  std::vector<std::string> facts = {r.task};
  if (!r.model_type.empty()) facts.push_back(r.model_type);
  facts.push_back(fmt::format("{} evaluation samples", evaluation_samples_text(r)));
  facts.push_back(fmt::format("{} configuration{}", r.cells.size(), r.cells.size() == 1 ? "" : "s"));
  if (!r.started_at.empty()) facts.push_back(r.started_at);
  std::string line;
  for (const std::string& f : facts) line += (line.empty() ? "" : " · ") + html_escape(f);
  std::string links;
  const auto link = [&](bool there, const char* id, const char* name) {
    if (there) links += fmt::format("<a href=\"#{}\">{}</a>", id, name);
  };
  link(!metric_columns(r).empty(), "metrics", "Metrics");
  link(!time_grid(r).empty(), "speed-up", "Speed-up");
  link(!time_grid(r).empty(), "time", "Time");
  link(std::any_of(r.cells.begin(), r.cells.end(), [](const Cell& c) { return !c.nodes.empty(); }), "nodes", "Nodes");
  link(true, "machine", "Machine and versions");
  return fmt::format(
      "<header class=\"page\"><div><h1>{}</h1><p>{}</p></div><button class=\"theme\" "
      "type=\"button\">Dark</button></header>\n"
      "<nav class=\"page\" aria-label=\"Sections\">{}</nav>\n",
      html_escape(r.display_name()), line, links);
}

std::string html_summary(const Record& r) {
  const auto metrics = metric_columns(r);
  std::string tiles;
  const Cell* any = nullptr;
  for (const Cell& c : r.cells)
    if (any == nullptr && !c.baseline.metrics.empty()) any = &c;
  if (any != nullptr) {
    std::string figures, size = any->baseline.model_bytes ? bytes_text(any->baseline.model_bytes) : "";
    for (size_t i = 0; i < metrics.size() && i < 2; ++i)
      figures += big(metric_text(any->baseline.metric(metrics[i])), metrics[i]);
    std::string under = html_escape(any->baseline.engine);
    if (!size.empty()) under += (under.empty() ? "" : ", ") + size;
    tiles += tile("Original", figures, under);
  }
  for (const Highlight& h : highlights(r)) {
    std::string figures;
    for (size_t i = 0; i < metrics.size() && i < 2; ++i)
      if (const auto change = metric_change(*h.cell, metrics[i])) figures += big(difference_text(change), metrics[i]);
    if (const auto s = speed_up(*h.cell)) figures += big(ratio_text(s, 1.0), "as fast");
    tiles += tile(html_escape(h.label), figures, cell_mark(r, *h.cell) + " " + html_escape(cell_label(r, *h.cell)));
  }
  std::string out = tiles.empty() ? "" : "<div class=\"tiles\">\n" + tiles + "</div>\n";

  std::string items;
  for (const size_t i : report_order(r)) {
    const Cell& c = r.cells[i];
    if (c.status != CellStatus::kOk)
      items += fmt::format("<li><span class=\"badge bad\">{}</span> {}: {}</li>\n", to_string(c.status),
                           html_escape(cell_label(r, c)), html_escape(c.reason));
  }
  for (const NoteGroup& note : note_groups(r)) {
    items += "<li>" + html_escape(note.text);
    if (!note.cells.empty()) items += "<div class=\"about\">";
    for (const Cell* c : note.cells)
      items += "<span>" + cell_mark(r, *c) + " " + html_escape(cell_label(r, *c)) + "</span>";
    items += note.cells.empty() ? "</li>\n" : "</div></li>\n";
  }
  if (!items.empty()) out += "<div class=\"callout\"><strong>To know</strong><ul>\n" + items + "</ul></div>\n";
  return out;
}

std::string html_plots(const Record& r) {
  const auto metrics = metric_columns(r);
  const auto grid = time_grid(r);
  if (grid.empty()) return {};
  const auto swept = r.benchmarked();
  std::string pills;
  for (size_t p = 0; p < swept.size(); ++p) {
    pills += fmt::format("<div class=\"control\" role=\"group\" aria-label=\"{0}\"><span class=\"name\">{0}</span>",
                         html_escape(swept[p]->name));
    for (size_t v = 0; v < swept[p]->values.size(); ++v) {
      const std::string glyph = p == 0   ? mark(v, 0, 0)
                                : p == 1 ? mark(0, v, 0, true)
                                : p == 2 ? mark(0, 0, v, true)
                                         : "";
      pills += fmt::format(
          "<button type=\"button\" class=\"pill\" data-parameter=\"{}\" data-value=\"{}\" "
          "aria-pressed=\"true\">{}{}</button>",
          p, v, glyph, html_escape(short_text(swept[p]->values[v])));
    }
    pills += "</div>\n";
  }
  pills = "<div class=\"controls\">\n" + pills + "</div>\n";
  std::string batches, lengths, names;
  std::set<int64_t> b, l;
  for (const auto& g : grid) b.insert(g.first), l.insert(g.second);
  for (const int64_t v : b) batches += option(std::to_string(v), std::to_string(v));
  for (const int64_t v : l) lengths += option(std::to_string(v), std::to_string(v));
  for (const std::string& m : metrics) names += option(m, m);

  std::string out;
  if (!metrics.empty()) {
    out +=
        "<section id=\"plot\"><h2>Accuracy against speed</h2>\n<p class=\"lead\">Each mark is one configuration; the "
        "dotted lines are the "
        "original model. Hover for its figures.</p>\n" +
        pills + "<div class=\"controls\">\n";
    out += select("choose-metric", "metric", names);
    out += select("choose-x", "speed as",
                  option("ratio", "speed-up") + option("sps", "samples/s") + option("mean", "mean latency"));
    out += select("choose-batch", "batch size", batches) + select("choose-length", "input length", lengths);
    out +=
        "</div>\n<div class=\"plot\" id=\"scatter\"></div><p class=\"empty\" id=\"scatter-empty\" hidden>Nothing "
        "measured for this choice.</p></section>\n";
  }
  std::string kinds = option("mean", "mean");
  for (const PercentileName& p : percentile_names()) kinds += option(p.key, p.label);
  out +=
      "<section id=\"latency-section\"><h2>Latency by batch size and input length</h2>\n<p class=\"lead\">Lines are "
      "the optimized models, "
      "grey crosses the original timed beside each of them.</p>\n" +
      pills + "<div class=\"controls\">\n" + select("choose-latency", "latency", kinds) +
      "</div>\n<div class=\"plot\" id=\"latency\"></div><p class=\"empty\" id=\"latency-empty\" hidden>Nothing "
      "measured for this choice.</p></section>\n";
  return out;
}

std::string html_metrics(const Record& r) {
  const auto metrics = metric_columns(r);
  std::string head = parameter_head(r), body;
  for (const std::string& m : metrics)
    head += th(html_escape(m) + "<br>(original)", true) + th(html_escape(m) + "<br>(optimized)") + th("change");
  head += th("speed-up", true);
  for (const size_t i : report_order(r)) {
    const Cell& c = r.cells[i];
    body += "<tr>" + parameter_cells(r, c);
    for (const std::string& m : metrics) {
      const auto change = metric_change(c, m);
      const char* tone = !change || std::abs(*change) < 0.0005 ? "" : *change < 0 ? " loss" : " gain";
      body += td(metric_text(c.baseline.metric(m)), true) + td(metric_text(c.optimized.metric(m)));
      body += fmt::format("<td class=\"num change{}\">{}</td>", tone, difference_text(change));
    }
    if (c.status == CellStatus::kOk)
      body += td(ratio_text(speed_up(c), 1.0), true);
    else
      body += fmt::format("<td class=\"num first\"><span class=\"badge bad\">{}</span></td>", to_string(c.status));
    body += "</tr>\n";
  }
  return "<section id=\"metrics\"><h2>Metrics</h2>\n<p class=\"lead\">Speed-up is the geometric mean over all batch "
         "sizes and input lengths of original / optimized mean latency.</p>\n" +
         table(head, body) + size_table(r) + "</section>\n";
}

std::string html_speed_up(const Record& r) {
  const auto grid = time_grid(r);
  if (grid.empty()) return {};
  std::string head = parameter_head(r), body;
  bool first = true;
  for (const auto& [batch, length] : grid) {
    head += th(fmt::format("{} × {}", batch, length), first);
    first = false;
  }
  for (const size_t i : report_order(r)) {
    body += "<tr>" + parameter_cells(r, r.cells[i]);
    for (const auto& [batch, length] : grid) {
      const TimePoint* t = find_time(r.cells[i], batch, length);
      const auto a = t == nullptr ? std::nullopt : mean_latency(t->baseline);
      const auto b = t == nullptr ? std::nullopt : mean_latency(t->optimized);
      // Depth of colour by the logarithm of the ratio: full at 4 times.
      const double depth = a && b ? std::min(1.0, std::abs(std::log2(*a / *b)) / 2) * 0.42 : 0;
      body += fmt::format("<td class=\"num heat\" style=\"--hue:var(--{});--heat:{:.2f}\">{}</td>",
                          a && b && *a < *b ? "down" : "up", depth, ratio_text(a, b));
    }
    body += "</tr>\n";
  }
  return "<section id=\"speed-up\"><h2>Speed-up by batch size × input length</h2>\n<p class=\"lead\">Mean latency of "
         "the original, timed beside it, "
         "over that of the optimized model: above 1 is faster.</p>\n" +
         table(head, body) + "</section>\n";
}

std::string html_time(const Record& r) {
  const auto grid = time_grid(r);
  if (grid.empty()) return {};
  std::string out = "<section id=\"time\"><h2>Time metrics</h2>\n<p class=\"lead\">";
  if (const std::string seconds = duration_text(r); !seconds.empty())
    out += fmt::format("Time benchmarks were run for {} seconds per config. ", html_escape(seconds));
  out +=
      "Throughput counts forward passes a second, samples/s counts samples. A percentile reads n&lt;N where fewer than "
      "the N forward "
      "passes that would support it were timed.</p>\n";
  bool open = true;
  for (const auto& [batch, length] : grid) {
    std::string head = parameter_head(r), body;
    head += th("latency_mean<br>(original, ms)", true) + th("latency_mean<br>(optimized, ms)") +
            th("throughput<br>(original, /s)", true) + th("throughput<br>(optimized, /s)");
    for (const size_t i : report_order(r)) {
      const TimePoint* t = find_time(r.cells[i], batch, length);
      const TimePoint none;
      if (t == nullptr) t = &none;
      body += "<tr>" + parameter_cells(r, r.cells[i]);
      body += td(timing_text(t->baseline, &Timing::latency_mean), true) +
              td(timing_text(t->optimized, &Timing::latency_mean));
      body += td(timing_text(t->baseline, &Timing::throughput), true) +
              td(timing_text(t->optimized, &Timing::throughput)) + "</tr>\n";
    }
    out += fmt::format(
        "<details class=\"time\" data-batch=\"{0}\" data-length=\"{1}\"{2}><summary>Batch size {0}, input length "
        "{1}</summary><div class=\"inner\">\n",
        batch, length, open ? " open" : "");
    out += table(head, body) + "<h3>Samples a second and percentiles (ms)</h3>\n";
    std::string columns = parameter_head(r) + "<th>model</th>" + th("passes", true) + th("samples/s") + th("std");
    for (const PercentileName& p : percentile_names()) columns += th(p.label);
    out += table(columns, percentile_rows(r, batch, length)) + "</div></details>\n";
    open = false;
  }
  return out + "</section>\n";
}

std::string html_nodes(const Record& r) {
  std::string groups;
  for (const size_t i : report_order(r)) {
    const Cell& c = r.cells[i];
    if (c.nodes.empty()) continue;
    int64_t quantized = 0, bytes = 0, quantized_bytes = 0;
    for (const NodeDecision& n : c.nodes) {
      quantized += n.quantized ? 1 : 0;
      bytes += n.weight_bytes;
      quantized_bytes += n.quantized ? n.weight_bytes : 0;
    }
    std::string count = fmt::format("{} of {} nodes quantized", quantized, c.nodes.size());
    if (bytes > 0) count += fmt::format(", {} of {} of weights", bytes_text(quantized_bytes), bytes_text(bytes));
    groups += fmt::format(
        "<details class=\"nodes\"><summary>{} {}<span class=\"muted\">{}<span "
        "class=\"hits\"></span></span></summary><div class=\"inner\">\n",
        cell_mark(r, c), html_escape(cell_label(r, c)), count);
    if (const auto worst = worst_nodes(c, 8); !worst.empty()) {
      const bool drops = worst.front()->metric_drop.has_value();
      std::string body;
      for (const NodeDecision* n : worst)
        body += "<tr><td class=\"text\">" + code(n->node) + "</td><td>" + html_escape(n->op) + "</td>" +
                td(db_text(n->sqnr_db)) + (drops ? td(metric_text(n->metric_drop)) : "") + "</tr>\n";
      groups +=
          "<h3>The quantized nodes that did most damage</h3>\n" +
          table("<th>node</th><th>op</th>" + th("SQNR, dB") + (drops ? th("metric drop alone") : ""), body, "narrow");
    }
    std::string by_op;
    for (const OpCoverage& o : coverage(c)) {
      const auto weights = [&](int64_t of_op) { return td(o.weight_bytes > 0 ? bytes_text(of_op) : ""); };
      by_op += "<tr><td>" + html_escape(o.op) + "</td>" + td(std::to_string(o.quantized)) +
               td(std::to_string(o.total)) + weights(o.quantized_weight_bytes) + weights(o.weight_bytes) + "</tr>\n";
    }
    groups +=
        "<h3>By operator</h3>\n" +
        table("<th>op</th>" + th("quantized") + th("of") + th("weights quantized") + th("of weights"), by_op, "narrow");
    std::string rows;
    for (const NodeDecision& n : c.nodes)
      rows += fmt::format(
          "<tr data-quantized=\"{}\"><td class=\"text\">{}</td><td>{}</td><td><span class=\"badge "
          "{}\">{}</span></td><td class=\"text\">{}</td>{}</tr>\n",
          n.quantized ? "yes" : "no", code(n.node), html_escape(n.op), n.quantized ? "yes" : "no",
          n.quantized ? html_escape(n.scheme.empty() ? "quantized" : n.scheme) : "not quantized", html_escape(n.reason),
          td(db_text(n.sqnr_db)));
    groups += "<h3>Every node</h3>\n" +
              table("<th>node</th><th>op</th><th>outcome</th><th>reason</th>" + th("SQNR, dB"), rows) +
              "</div></details>\n";
  }
  if (groups.empty()) return {};
  return "<section id=\"nodes\"><h2>What was quantized, and why</h2>\n<div class=\"controls\">"
         "<input type=\"search\" id=\"node-search\" placeholder=\"Search node, op or reason\" aria-label=\"Search "
         "nodes\">"
         "<select id=\"node-outcome\" aria-label=\"Outcome\"><option value=\"all\">all nodes</option><option "
         "value=\"yes\">quantized</option>"
         "<option value=\"no\">not quantized</option></select></div>\n" +
         groups + "</section>\n";
}

std::string html_machine(const Record& r) {
  const auto item = [](const std::string& name, const std::string& text) {
    return "<dt>" + html_escape(name) + "</dt><dd>" + html_escape(text) + "</dd>\n";
  };
  std::string facts, parameters, versions;
  if (!r.backend.empty()) facts += item("Backend", r.backend);
  for (const auto& [label, text] : machine_facts(r)) facts += item(label, text);
  for (const Parameter& p : r.parameters)
    if (!p.benchmarked()) parameters += item(p.name, value_text(p.values.front()));
  for (const auto& [name, version] : r.versions) versions += item(name, version);
  if (r.wall_s > 0) versions += item("Run took", time_text(r.wall_s) + " s");
  std::string out = "<section id=\"machine\"><div class=\"columns\"><div><h2>Machine</h2><dl>\n" + facts +
                    "</dl></div><div><h2>Fixed parameters</h2><dl>\n" + parameters + "</dl>\n<h2>Versions</h2><dl>\n" +
                    versions + "</dl></div></div>\n";
  if (!r.hardware.empty())
    out += "<details><summary>What lscpu prints</summary><div class=\"inner\"><pre>" + html_escape(r.hardware) +
           "</pre></div></details>\n";
  return out + "</section>\n";
}

}  // namespace assay::report
