#include "report/record.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "report/format.h"

namespace assay::report {

const std::vector<PercentileName>& percentile_names() {
  static const std::vector<PercentileName> names = {{"latency_50", "p50", &Timing::latency_50},
                                                    {"latency_90", "p90", &Timing::latency_90},
                                                    {"latency_95", "p95", &Timing::latency_95},
                                                    {"latency_99", "p99", &Timing::latency_99},
                                                    {"latency_999", "p99.9", &Timing::latency_999}};
  return names;
}

std::optional<double> Side::metric(std::string_view name) const {
  for (const auto& [key, value] : metrics)
    if (key == name) return value;
  return std::nullopt;
}

std::string_view to_string(CellStatus status) {
  switch (status) {
    case CellStatus::kOk:
      return "ok";
    case CellStatus::kFailed:
      return "failed";
    case CellStatus::kSkipped:
      return "skipped";
  }
  return "failed";
}

std::vector<const Parameter*> Record::benchmarked() const {
  std::vector<const Parameter*> found;
  for (const Parameter& p : parameters)
    if (p.benchmarked()) found.push_back(&p);
  return found;
}

Json Record::fixed(std::string_view name) const {
  for (const Parameter& p : parameters)
    if (p.name == name && p.values.size() == 1) return p.values.front();
  return nullptr;
}

std::string Record::display_name() const {
  if (!title.empty()) return title;
  const Json model = fixed("model_name_or_path");
  return model.is_string() ? model.get<std::string>() : "run";
}

void Record::validate() const {
  // Parameters stand beside these keys in results.json.
  static constexpr const char* kReserved[] = {"schema_version",
                                              "id",
                                              "status",
                                              "reason",
                                              "parameters",
                                              "parameter_order",
                                              "fixed_parameters",
                                              "evaluation",
                                              "runs",
                                              "nodes",
                                              "notes",
                                              "machine",
                                              "baseline",
                                              "benchmarked_parameters",
                                              "optimized",
                                              "title",
                                              "backend",
                                              "versions",
                                              "hardware",
                                              "command",
                                              "started_at",
                                              "wall_s",
                                              "datasets",
                                              "metrics",
                                              "evaluated_samples"};
  std::set<std::string> names, ids;
  for (const Parameter& p : parameters) {
    require(!p.values.empty(), ErrorCode::kInvalidArgument, "parameter '{}' has no value", p.name);
    for (const char* reserved : kReserved)
      require(p.name != reserved, ErrorCode::kInvalidArgument, "'{}' cannot be the name of a parameter", p.name);
    require(names.insert(p.name).second, ErrorCode::kInvalidArgument, "parameter '{}' is given twice", p.name);
  }
  const auto swept = benchmarked();
  for (const Cell& cell : cells) {
    require(ids.insert(cell.id).second, ErrorCode::kInvalidArgument, "cell id '{}' appears twice", cell.id);
    require(cell.values.size() == swept.size(), ErrorCode::kInvalidArgument,
            "cell '{}' has {} values for {} benchmarked parameters", cell.id, cell.values.size(), swept.size());
    for (size_t i = 0; i < swept.size(); ++i)
      require(std::find(swept[i]->values.begin(), swept[i]->values.end(), cell.values[i]) != swept[i]->values.end(),
              ErrorCode::kInvalidArgument, "cell '{}': {} is no alternative of parameter '{}'", cell.id,
              python_repr(cell.values[i]), swept[i]->name);
    std::set<std::pair<int64_t, int64_t>> points;
    for (const TimePoint& t : cell.time)
      require(points.emplace(t.batch_size, t.input_length).second, ErrorCode::kInvalidArgument,
              "cell '{}' has two time points for batch size {} and input length {}", cell.id, t.batch_size,
              t.input_length);
  }
}

std::vector<size_t> report_order(const Record& record) {
  std::vector<std::pair<std::vector<std::string>, size_t>> keys;
  for (size_t i = 0; i < record.cells.size(); ++i) {
    std::vector<std::string> texts;
    for (const Json& v : record.cells[i].values) texts.push_back(value_text(v));
    keys.emplace_back(std::move(texts), i);
  }
  std::sort(keys.begin(), keys.end());
  std::vector<size_t> order;
  for (const auto& key : keys) order.push_back(key.second);
  return order;
}

std::vector<std::pair<int64_t, int64_t>> time_grid(const Record& record) {
  std::set<std::pair<int64_t, int64_t>> grid;
  for (const Cell& cell : record.cells)
    for (const TimePoint& t : cell.time) grid.emplace(t.batch_size, t.input_length);
  return {grid.begin(), grid.end()};
}

const TimePoint* find_time(const Cell& cell, int64_t batch_size, int64_t input_length) {
  for (const TimePoint& t : cell.time)
    if (t.batch_size == batch_size && t.input_length == input_length) return &t;
  return nullptr;
}

std::vector<std::string> metric_columns(const Record& record) {
  std::vector<std::string> seen;
  for (const Cell& cell : record.cells)
    for (const Side* side : {&cell.baseline, &cell.optimized})
      for (const auto& metric : side->metrics)
        if (std::find(seen.begin(), seen.end(), metric.first) == seen.end()) seen.push_back(metric.first);
  std::vector<std::string> columns;
  for (const std::string& name : record.metrics)
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) columns.push_back(name);
  for (const std::string& name : seen)
    if (std::find(columns.begin(), columns.end(), name) == columns.end()) columns.push_back(name);
  return columns;
}

}  // namespace assay::report
