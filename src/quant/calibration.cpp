#include "quant/calibration.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/hash.h"

namespace assay::quant {
namespace {

void describe_graph(const Graph& g, std::string& text) {
  const auto constant = [&](ValueId v) {
    const Tensor* t = g.constant(v);
    if (t == nullptr || t->dtype() == DType::kString) return;
    text += fmt::format("={}{}:{}", to_string(t->dtype()), t->shape().str(), hash_bytes(t->raw()).hex());
  };
  for (NodeId id : g.topological_order()) {
    const Node& n = g.node(id);
    text += fmt::format("{}.{}@{}(", n.domain, n.op_type, n.version);
    for (ValueId v : n.inputs) {
      text += v == kNoValue ? std::string("-") : g.value(v).name;
      if (v != kNoValue) constant(v);
      text += ',';
    }
    text += ")->";
    for (ValueId v : n.outputs) text += (v == kNoValue ? std::string("-") : g.value(v).name) + ",";
    for (const auto& [key, attribute] : n.attributes) {
      text += ";" + key;
      if (const auto* i = std::get_if<int64_t>(&attribute)) text += fmt::format("={}", *i);
      if (const auto* f = std::get_if<float>(&attribute)) text += fmt::format("={}", *f);
      if (const auto* s = std::get_if<std::string>(&attribute)) text += "=" + *s;
      if (const auto* is = std::get_if<std::vector<int64_t>>(&attribute))
        for (int64_t i : *is) text += fmt::format("={}", i);
    }
    text += '\n';
    for (const Graph* body : subgraphs(n)) describe_graph(*body, text);
  }
}

}  // namespace

std::string fingerprint(const Model& model) {
  std::string text;
  describe_graph(model.graph, text);
  return hash_text(text).hex();
}

nlohmann::json to_json(const Calibration& c) {
  nlohmann::json ranges = nlohmann::json::object();
  for (const auto& [name, r] : c.ranges)
    ranges[name] = {{"lo", r.lo}, {"hi", r.hi}, {"values", r.values}, {"not_finite", r.not_finite}};
  return {{"format", "assay-calibration"},
          {"version", 1},
          {"method", c.method},
          {"model", c.model},
          {"data", c.data},
          {"samples", c.samples},
          {"ranges", std::move(ranges)}};
}

Calibration calibration_from_json(const nlohmann::json& json) {
  Calibration c;
  std::string field = "format";
  try {
    require(json.at("format").get<std::string>() == "assay-calibration", ErrorCode::kBadFile, "no calibration file");
    field = "version";
    require(json.at("version").get<int>() == 1, ErrorCode::kUnsupported, "calibration version {} is not 1",
            json.at("version").get<int>());
    field = "method";
    c.method = json.at(field).get<std::string>();
    field = "model";
    c.model = json.at(field).get<std::string>();
    field = "data";
    c.data = json.value(field, "");
    field = "samples";
    c.samples = json.at(field).get<int64_t>();
    field = "ranges";
    for (const auto& [name, r] : json.at(field).items()) {
      field = "ranges." + name;
      TensorRange range{r.at("lo").get<float>(), r.at("hi").get<float>(), r.at("values").get<int64_t>(),
                        r.at("not_finite").get<int64_t>()};
      require(std::isfinite(range.lo) && std::isfinite(range.hi) && range.lo <= range.hi, ErrorCode::kBadFile,
              "field '{}': [{}, {}] is no range", field, range.lo, range.hi);
      c.ranges[name] = range;
    }
  } catch (const nlohmann::json::exception&) {
    fail(ErrorCode::kBadFile, "field '{}' is missing or has the wrong type", field);
  }
  return c;
}

void save_calibration(const Calibration& c, const std::filesystem::path& path) {
  write_text(path, to_json(c).dump(1) + "\n");
}

Calibration load_calibration(const std::filesystem::path& path, const std::string& model, const std::string& method) {
  try {
    const auto json = nlohmann::json::parse(read_text(path), nullptr, false);
    require(!json.is_discarded(), ErrorCode::kBadFile, "not JSON");
    Calibration c = calibration_from_json(json);
    require(model.empty() || c.model == model, ErrorCode::kInvalidArgument,
            "these ranges were observed on another model ({} against {}): calibrate again", c.model, model);
    require(method.empty() || c.method == method, ErrorCode::kInvalidArgument,
            "these ranges were observed by {}, not {}: calibrate again", c.method, method);
    return c;
  } catch (Error& e) {
    throw e.at("file", path.string());
  }
}

}  // namespace assay::quant
