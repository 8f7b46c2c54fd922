#include "report/results_json.h"

#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "report/format.h"

namespace assay::report {
namespace {

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json metrics_json(const Side& side) {
  Json out = Json::object();
  for (const auto& [name, value] : side.metrics) out[name] = value;
  return out;
}

Json side_json(const Side& side) {
  return {{"engine", side.engine},
          {"eval_samples_per_s", or_null(side.eval_samples_per_s)},
          {"load_ms", or_null(side.load_ms)},
          {"peak_memory_bytes", or_null(side.peak_memory_bytes)},
          {"model_bytes", or_null(side.model_bytes)}};
}

Json node_json(const NodeDecision& n) {
  Json out = {{"node", n.node}, {"op", n.op}, {"quantized", n.quantized}, {"scheme", n.scheme}, {"reason", n.reason}};
  if (n.weight_bytes > 0) out["weight_bytes"] = n.weight_bytes;
  if (n.sqnr_db) out["sqnr_db"] = *n.sqnr_db;
  if (n.metric_drop) out["metric_drop"] = *n.metric_drop;
  return out;
}

// The keys of Optimum's output body that do not depend on the cell.
Json shared_body(const Record& record) {
  Json out = {{"task", record.task}, {"task_args", record.task_args}, {"model_type", record.model_type}};
  for (const Parameter& p : record.parameters)
    if (!p.benchmarked()) out[p.name] = p.values.front();
  out["max_eval_samples"] = or_null(record.max_eval_samples);
  out["time_benchmark_args"] = record.time_benchmark_args;
  out["versions"] = record.versions;
  out["hardware"] = record.hardware;
  return out;
}

Json cell_json(const Record& record, const Cell& cell) {
  Json out = {{"id", cell.id}, {"status", to_string(cell.status)}, {"reason", cell.reason}};
  const auto swept = record.benchmarked();
  Json parameters = Json::object();
  for (size_t i = 0; i < swept.size(); ++i) parameters[swept[i]->name] = cell.values[i];
  out["parameters"] = parameters;
  out.update(shared_body(record));
  out.update(parameters);
  Json time = Json::array();
  for (const TimePoint& t : cell.time)
    time.push_back({{"batch_size", t.batch_size},
                    {"input_length", t.input_length},
                    {"baseline", t.baseline ? to_json(*t.baseline) : Json(nullptr)},
                    {"optimized", t.optimized ? to_json(*t.optimized) : Json(nullptr)}});
  out["evaluation"] = {
      {"time", std::move(time)},
      {"others", {{"baseline", metrics_json(cell.baseline)}, {"optimized", metrics_json(cell.optimized)}}}};
  out["baseline"] = side_json(cell.baseline);
  out["optimized"] = side_json(cell.optimized);
  out["nodes"] = Json::array();
  for (const NodeDecision& n : cell.nodes) out["nodes"].push_back(node_json(n));
  out["notes"] = cell.notes;
  return out;
}

/// A JSON object with the path that leads to it, so that an error can name the field.
class Fields {
 public:
  Fields(const Json& json, std::string path) : json_(json), path_(std::move(path)) {
    if (!json.is_object()) wrong(path_.empty() ? "the document" : path_, "an object");
  }

  const Json* find(const char* key) const {
    const auto it = json_.find(key);
    return it == json_.end() || it->is_null() ? nullptr : &*it;
  }
  const Json& at(const char* key) const {
    const Json* found = find(key);
    if (found == nullptr) fail(ErrorCode::kBadFile, "results: field '{}' is absent", path(key));
    return *found;
  }
  std::string path(std::string_view key) const {
    return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
  }

  std::string text(const char* key) const {
    const Json* v = find(key);
    if (v == nullptr) return {};
    if (!v->is_string()) wrong(path(key), "a string");
    return v->get<std::string>();
  }
  bool boolean(const char* key) const {
    const Json& v = at(key);
    if (!v.is_boolean()) wrong(path(key), "true or false");
    return v.get<bool>();
  }
  std::optional<double> number(const char* key) const {
    const Json* v = find(key);
    if (v == nullptr) return std::nullopt;
    if (!v->is_number()) wrong(path(key), "a number");
    return v->get<double>();
  }
  std::optional<int64_t> integer(const char* key) const {
    const Json* v = find(key);
    if (v == nullptr) return std::nullopt;
    const bool fits =
        v->is_number_integer() && (!v->is_number_unsigned() || v->get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX));
    if (!fits) wrong(path(key), "an integer");
    return v->get<int64_t>();
  }
  int64_t required_integer(const char* key) const {
    at(key);
    return *integer(key);
  }
  std::vector<std::string> texts(const char* key) const {
    std::vector<std::string> out;
    for (const Json& item : list(key)) {
      if (!item.is_string()) wrong(path(key), "a list of strings");
      out.push_back(item.get<std::string>());
    }
    return out;
  }
  /// The items of a list; none when the key is absent.
  const Json& list(const char* key) const {
    static const Json empty = Json::array();
    const Json* v = find(key);
    if (v == nullptr) return empty;
    if (!v->is_array()) wrong(path(key), "a list");
    return *v;
  }
  Json any(const char* key) const {
    const Json* v = find(key);
    return v == nullptr ? Json(nullptr) : *v;
  }
  Fields object(const char* key) const { return {at(key), path(key)}; }
  const Json& json() const { return json_; }

  [[noreturn]] static void wrong(std::string_view where, std::string_view wanted) {
    fail(ErrorCode::kBadFile, "results: field '{}' is not {}", where, wanted);
  }

 private:
  const Json& json_;
  std::string path_;
};

std::string item_path(const Fields& parent, const char* key, size_t i) {
  return parent.path(key) + "[" + std::to_string(i) + "]";
}

Timing read_timing(const Fields& f) {
  Timing t;
  t.nb_forwards = f.required_integer("nb_forwards");
  t.duration_s = f.number("duration_s").value_or(0);
  t.throughput = f.number("throughput").value_or(-1);
  t.samples_per_s = f.number("samples_per_s").value_or(-1);
  t.latency_mean = f.number("latency_mean").value_or(-1);
  t.latency_std = f.number("latency_std");
  for (const PercentileName& name : percentile_names()) {
    Percentile& p = t.*name.member;
    p.ms = f.number(name.key);
    if (f.find("percentiles_needed") != nullptr)
      p.needed = f.object("percentiles_needed").integer(name.key).value_or(0);
  }
  return t;
}

std::vector<std::pair<std::string, double>> read_metrics(const Fields& others, const char* key) {
  std::vector<std::pair<std::string, double>> out;
  if (others.find(key) == nullptr) return out;
  const Fields side = others.object(key);
  for (const auto& [name, value] : side.json().items()) {
    if (value.is_null()) continue;  // not finite when it was written
    if (!value.is_number()) Fields::wrong(side.path(name), "a number");
    out.emplace_back(name, value.get<double>());
  }
  return out;
}

Side read_side(const Fields& cell, const char* key) {
  Side side;
  if (cell.find(key) != nullptr) {
    const Fields f = cell.object(key);
    side.engine = f.text("engine");
    side.eval_samples_per_s = f.number("eval_samples_per_s");
    side.load_ms = f.number("load_ms");
    side.peak_memory_bytes = f.integer("peak_memory_bytes");
    side.model_bytes = f.integer("model_bytes");
  }
  return side;
}

NodeDecision read_node(const Fields& f) {
  NodeDecision n;
  n.node = f.text("node");
  n.op = f.text("op");
  n.quantized = f.boolean("quantized");
  n.scheme = f.text("scheme");
  n.reason = f.text("reason");
  n.weight_bytes = f.integer("weight_bytes").value_or(0);
  n.sqnr_db = f.number("sqnr_db");
  n.metric_drop = f.number("metric_drop");
  return n;
}

CellStatus read_status(const Fields& f) {
  const std::string text = f.text("status");
  for (const CellStatus s : {CellStatus::kOk, CellStatus::kFailed, CellStatus::kSkipped})
    if (text == to_string(s)) return s;
  Fields::wrong(f.path("status"), "ok, failed or skipped");
}

Cell read_cell(const Fields& f, const Record& record) {
  Cell cell;
  cell.id = f.text("id");
  cell.status = read_status(f);
  cell.reason = f.text("reason");
  const Fields parameters = f.object("parameters");
  for (const Parameter* p : record.benchmarked()) {
    const auto value = parameters.json().find(p->name);
    if (value == parameters.json().end())
      fail(ErrorCode::kBadFile, "results: field '{}' is absent", parameters.path(p->name));
    cell.values.push_back(*value);
  }
  const Fields evaluation = f.object("evaluation");
  const Json& time = evaluation.list("time");
  for (size_t i = 0; i < time.size(); ++i) {
    const Fields t(time[i], item_path(evaluation, "time", i));
    TimePoint point;
    point.batch_size = t.required_integer("batch_size");
    point.input_length = t.required_integer("input_length");
    if (t.find("baseline") != nullptr) point.baseline = read_timing(t.object("baseline"));
    if (t.find("optimized") != nullptr) point.optimized = read_timing(t.object("optimized"));
    cell.time.push_back(point);
  }
  cell.baseline = read_side(f, "baseline");
  cell.optimized = read_side(f, "optimized");
  if (evaluation.find("others") != nullptr) {
    cell.baseline.metrics = read_metrics(evaluation.object("others"), "baseline");
    cell.optimized.metrics = read_metrics(evaluation.object("others"), "optimized");
  }
  const Json& nodes = f.list("nodes");
  for (size_t i = 0; i < nodes.size(); ++i) cell.nodes.push_back(read_node({nodes[i], item_path(f, "nodes", i)}));
  cell.notes = f.texts("notes");
  return cell;
}

}  // namespace

Json to_json(const Timing& t) {
  Json out = {{"nb_forwards", t.nb_forwards},   {"duration_s", t.duration_s},
              {"throughput", t.throughput},     {"samples_per_s", t.samples_per_s},
              {"latency_mean", t.latency_mean}, {"latency_std", or_null(t.latency_std)}};
  Json needed = Json::object();
  for (const PercentileName& name : percentile_names()) {
    const Percentile& p = t.*name.member;
    out[name.key] = or_null(p.ms);
    if (!p.ms && p.needed > 0) needed[name.key] = p.needed;
  }
  out["percentiles_needed"] = std::move(needed);
  return out;
}

Json to_json(const Record& record) {
  record.validate();
  Json out = {{"schema_version", kSchemaVersion},
              {"title", record.title},
              {"started_at", record.started_at},
              {"wall_s", record.wall_s},
              {"command", record.command}};
  out.update(shared_body(record));
  Json fixed = Json::object(), swept = Json::object();
  Json order = Json::array();
  for (const Parameter& p : record.parameters) {
    order.push_back(p.name);
    if (p.benchmarked())
      swept[p.name] = p.values;
    else
      fixed[p.name] = p.values.front();
  }
  out["parameter_order"] = std::move(order);
  out["fixed_parameters"] = std::move(fixed);
  out["benchmarked_parameters"] = std::move(swept);
  out["backend"] = record.backend;
  out["datasets"] = record.datasets;
  out["metrics"] = record.metrics;
  out["evaluated_samples"] = record.evaluated_samples;
  out["machine"] = record.machine;
  out["notes"] = record.notes;
  out["runs"] = Json::array();
  for (const Cell& cell : record.cells) out["runs"].push_back(cell_json(record, cell));
  return out;
}

Timing timing_from_json(const Json& json) { return read_timing({json, ""}); }

Record record_from_json(const Json& json) {
  const Fields f(json, "");
  const int64_t version = f.required_integer("schema_version");
  require(version >= 1 && version <= kSchemaVersion, ErrorCode::kBadFile,
          "results: schema_version is {}, this program reads 1 to {}", version, kSchemaVersion);
  Record r;
  r.title = f.text("title");
  r.task = f.text("task");
  r.model_type = f.text("model_type");
  r.backend = f.text("backend");
  r.datasets = f.texts("datasets");
  r.metrics = f.texts("metrics");
  r.task_args = f.any("task_args");
  r.time_benchmark_args = f.any("time_benchmark_args");
  r.max_eval_samples = f.integer("max_eval_samples");
  r.evaluated_samples = f.integer("evaluated_samples").value_or(0);
  r.hardware = f.text("hardware");
  if (f.find("machine") != nullptr) r.machine = f.object("machine").json();
  if (f.find("versions") != nullptr)
    for (const auto& [name, value] : f.object("versions").json().items()) r.versions[name] = value_text(value);
  r.started_at = f.text("started_at");
  r.wall_s = f.number("wall_s").value_or(0);
  r.command = f.text("command");
  r.notes = f.texts("notes");

  const Fields fixed = f.object("fixed_parameters"), swept = f.object("benchmarked_parameters");
  for (const std::string& name : f.texts("parameter_order")) {
    Parameter p;
    p.name = name;
    if (const auto it = fixed.json().find(name); it != fixed.json().end()) {
      p.values.push_back(*it);
    } else if (const Json* values = swept.find(name.c_str()); values != nullptr) {
      if (!values->is_array() || values->size() < 2) Fields::wrong(swept.path(name), "a list of two or more values");
      p.values.assign(values->begin(), values->end());
    } else {
      fail(ErrorCode::kBadFile, "results: parameter '{}' has no value in fixed_parameters or benchmarked_parameters",
           name);
    }
    r.parameters.push_back(std::move(p));
  }
  const Json& runs = f.list("runs");
  for (size_t i = 0; i < runs.size(); ++i) r.cells.push_back(read_cell({runs[i], item_path(f, "runs", i)}, r));
  try {
    r.validate();
  } catch (const Error& e) {
    fail(ErrorCode::kBadFile, "results: {}", e.what());
  }
  return r;
}

Record parse_results(std::string_view text) {
  Json json;
  try {
    // Copying and printing JSON recurse, so depth is bounded here; our own files nest 6 deep.
    json = Json::parse(text, [](int depth, Json::parse_event_t, const Json&) {
      require(depth <= 64, ErrorCode::kBadFile, "results: nested deeper than 64 levels");
      return true;
    });
  } catch (const Json::exception& e) {
    fail(ErrorCode::kBadFile, "results: not valid JSON: {}", e.what());
  }
  return record_from_json(json);
}

Record read_results(const std::filesystem::path& file_or_folder) {
  const auto file = std::filesystem::is_directory(file_or_folder) ? file_or_folder / "results.json" : file_or_folder;
  try {
    return parse_results(read_text(file));
  } catch (Error& e) {
    if (e.context().empty()) throw e.at("file", file.string());
    throw;
  }
}

}  // namespace assay::report
