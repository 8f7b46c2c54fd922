#include "report/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "report/format.h"

namespace assay::report {
namespace {

std::optional<double> number(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number() ? std::optional(it->get<double>()) : std::nullopt;
}

std::string text(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it == object.end() || it->is_null() ? std::string() : short_text(*it);
}

std::string plain_number(double v) { return fmt::format("{:.6g}", v); }

}  // namespace

std::optional<double> mean_latency(const std::optional<Timing>& timing) {
  if (!timing || timing->nb_forwards <= 0 || !(timing->latency_mean > 0)) return std::nullopt;
  return timing->latency_mean;
}

std::optional<double> speed_up(const Cell& cell) {
  double sum = 0;
  int count = 0;
  for (const TimePoint& t : cell.time) {
    const auto a = mean_latency(t.baseline), b = mean_latency(t.optimized);
    if (!a || !b) continue;
    sum += std::log(*a / *b);
    ++count;
  }
  return count == 0 ? std::nullopt : std::optional(std::exp(sum / count));
}

std::optional<double> metric_change(const Cell& cell, std::string_view metric) {
  const auto a = cell.baseline.metric(metric), b = cell.optimized.metric(metric);
  return a && b ? std::optional(*b - *a) : std::nullopt;
}

std::vector<OpCoverage> coverage(const Cell& cell) {
  std::map<std::string, OpCoverage> by_op;
  for (const NodeDecision& n : cell.nodes) {
    OpCoverage& c = by_op[n.op];
    c.op = n.op;
    ++c.total;
    c.weight_bytes += n.weight_bytes;
    if (n.quantized) {
      ++c.quantized;
      c.quantized_weight_bytes += n.weight_bytes;
    }
  }
  std::vector<OpCoverage> out;
  for (auto& entry : by_op) out.push_back(std::move(entry.second));
  std::stable_sort(out.begin(), out.end(), [](const OpCoverage& a, const OpCoverage& b) {
    return std::tie(a.weight_bytes, a.total) > std::tie(b.weight_bytes, b.total);
  });
  return out;
}

std::vector<NodeGroup> node_groups(const Cell& cell) {
  std::vector<NodeGroup> groups;
  std::map<std::tuple<bool, std::string, std::string, std::string>, size_t> index;
  for (const NodeDecision& n : cell.nodes) {
    const auto [it, fresh] = index.emplace(std::make_tuple(n.quantized, n.op, n.scheme, n.reason), groups.size());
    if (fresh) groups.push_back({n.op, n.scheme, n.reason, n.quantized, {}});
    groups[it->second].nodes.push_back(&n);
  }
  std::stable_sort(groups.begin(), groups.end(), [](const NodeGroup& a, const NodeGroup& b) {
    return a.quantized != b.quantized ? a.quantized : a.nodes.size() > b.nodes.size();
  });
  return groups;
}

std::vector<const NodeDecision*> worst_nodes(const Cell& cell, size_t most) {
  std::vector<const NodeDecision*> known;
  bool drops = false;
  for (const NodeDecision& n : cell.nodes) drops = drops || (n.quantized && n.metric_drop.has_value());
  for (const NodeDecision& n : cell.nodes)
    if (n.quantized && (drops ? n.metric_drop.has_value() : n.sqnr_db.has_value())) known.push_back(&n);
  std::stable_sort(known.begin(), known.end(), [&](const NodeDecision* a, const NodeDecision* b) {
    return drops ? *a->metric_drop > *b->metric_drop : *a->sqnr_db < *b->sqnr_db;
  });
  if (known.size() > most) known.resize(most);
  return known;
}

std::vector<NoteGroup> note_groups(const Record& record) {
  std::vector<NoteGroup> out;
  for (const std::string& note : record.notes) out.push_back({note, {}});
  const size_t of_run = out.size();
  std::map<std::string, size_t> index;
  for (const size_t i : report_order(record))
    for (const std::string& note : record.cells[i].notes) {
      const auto [it, fresh] = index.emplace(note, out.size());
      if (fresh) out.push_back({note, {}});
      out[it->second].cells.push_back(&record.cells[i]);
    }
  // What concerns most cells first.
  std::stable_sort(out.begin() + static_cast<std::ptrdiff_t>(of_run), out.end(),
                   [](const NoteGroup& a, const NoteGroup& b) { return a.cells.size() > b.cells.size(); });
  return out;
}

std::vector<Highlight> highlights(const Record& record) {
  const auto columns = metric_columns(record);
  Highlight closest{"Most accurate", nullptr}, fastest{"Fastest", nullptr}, trade{"Fastest within 1 %", nullptr};
  const auto better = [](const std::optional<double>& a, const std::optional<double>& b) {
    return a && (!b || *a > *b);
  };
  std::optional<double> best_change, best_speed, best_trade;
  for (const size_t i : report_order(record)) {
    const Cell& cell = record.cells[i];
    const bool quantized = cell.nodes.empty() || std::any_of(cell.nodes.begin(), cell.nodes.end(),
                                                             [](const NodeDecision& n) { return n.quantized; });
    if (cell.status != CellStatus::kOk || !quantized) continue;
    const auto speed = speed_up(cell);
    if (better(speed, best_speed)) best_speed = speed, fastest.cell = &cell;
    if (columns.empty()) continue;
    const auto change = metric_change(cell, columns.front());
    const bool tie = change && best_change && *change == *best_change && better(speed, speed_up(*closest.cell));
    if (better(change, best_change) || tie) best_change = change, closest.cell = &cell;
    if (change && *change >= -0.01 * std::abs(*cell.baseline.metric(columns.front())) && better(speed, best_trade))
      best_trade = speed, trade.cell = &cell;
  }
  std::vector<Highlight> out;
  for (const Highlight& h : {closest, fastest, trade}) {
    if (h.cell == nullptr) continue;
    const auto same = std::find_if(out.begin(), out.end(), [&](const Highlight& o) { return o.cell == h.cell; });
    if (same == out.end())
      out.push_back(h);
    else
      same->label += " · " + h.label;
  }
  return out;
}

Json backend_args(const Record& record) {
  Json out = Json::object();
  for (const char* key : {"instance_type", "supported_instructions", "used_instructions", "threads"})
    if (const auto it = record.machine.find(key); it != record.machine.end()) out[key] = *it;
  return out;
}

std::vector<std::pair<std::string, std::string>> machine_facts(const Record& record) {
  const Json& m = record.machine;
  std::vector<std::pair<std::string, std::string>> out;
  const auto put = [&](const char* label, std::string value) {
    if (!value.empty()) out.emplace_back(label, std::move(value));
  };
  const auto bytes = [&](const char* key) {
    const auto v = number(m, key);
    return v ? bytes_text(static_cast<int64_t>(*v)) : std::string();
  };
  put("CPU", text(m, "cpu"));
  std::string cpus = text(m, "processors");
  if (!cpus.empty()) {
    if (!text(m, "cores").empty()) cpus += fmt::format(" logical, {} cores", text(m, "cores"));
    if (!text(m, "sockets").empty())
      cpus += fmt::format(", {} socket{}", text(m, "sockets"), text(m, "sockets") == "1" ? "" : "s");
    const std::string usable = text(m, "usable_processors");
    if (!usable.empty() && usable != text(m, "processors")) cpus += fmt::format(", {} usable", usable);
  }
  put("CPUs", cpus);
  put("Threads used", text(m, "threads"));
  put("Instruction sets supported", text(m, "supported_instructions"));
  put("Instruction set used", text(m, "used_instructions"));
  if (const auto it = m.find("caches"); it != m.end() && it->is_object()) {
    std::string caches;
    for (const auto& [level, size] : it->items())
      caches += (caches.empty() ? "" : ", ") + level + " " + value_text(size);
    put("Caches", caches);
  }
  put("Memory", bytes("memory_bytes"));
  put("Frequency governor", text(m, "governor"));
  put("Instance type", text(m, "instance_type"));
  put("Hypervisor", text(m, "hypervisor"));
  put("Vendor", text(m, "vendor"));
  put("Product", text(m, "product"));
  put("Kernel", text(m, "kernel"));
  put("Operating system", text(m, "os"));
  for (const auto& [key, label] :
       {std::pair("noise", "Noise probe"), std::pair("noise_at_end", "Noise probe at the end")}) {
    const auto it = m.find(key);
    if (it == m.end() || !it->is_object()) continue;
    std::string line;
    const auto add = [&](const char* field, const char* before, const char* after) {
      if (const auto v = number(*it, field))
        line +=
            fmt::format("{}{}{}{}", line.empty() ? "" : ", ", before, plain_number(std::round(*v * 100) / 100), after);
    };
    add("probes", "", " probes");
    add("p50_us", "median ", " µs");
    add("p99_over_p50", "p99 ", "× the median");
    add("max_over_p50", "longest ", "×");
    // The probe at the end is too short to tell what was stolen; the first one's figure covers the run.
    if (key == std::string_view("noise")) add("steal_percent", "", " % of CPU time stolen during the run");
    put(label, line);
  }
  return out;
}

std::string evaluation_samples_text(const Record& record) {
  if (record.max_eval_samples)
    return std::to_string(record.evaluated_samples > 0 ? record.evaluated_samples : *record.max_eval_samples);
  return record.evaluated_samples > 0 ? fmt::format("All dataset ({})", record.evaluated_samples) : "All dataset";
}

std::string duration_text(const Record& record) {
  if (!record.time_benchmark_args.is_object()) return {};
  const auto seconds = number(record.time_benchmark_args, "duration");
  return seconds ? plain_number(*seconds) : std::string();
}

}  // namespace assay::report
