#include <fmt/ranges.h>

#include <map>

#include "app/command.h"
#include "app/scheme_arguments.h"
#include "formats/registry.h"
#include "quant/plan.h"

namespace assay::app {
namespace {

constexpr size_t kLongestMetadata = 1000;

struct Arguments {
  std::string model;
  SchemeArguments scheme;
  bool fusions = true;
  EngineArguments engine;
  JsonArgument json;
};

Json port_json(const Graph& g, ValueId v) {
  Json dims = nullptr;
  if (g.value(v).type.dims) {
    dims = Json::array();
    for (const Dim& d : *g.value(v).type.dims)
      dims.push_back(d.known() ? Json(d.size) : Json(d.symbol.empty() ? "?" : d.symbol));
  }
  return {{"name", g.value(v).name}, {"dtype", to_string(g.value(v).type.dtype)}, {"shape", dims}};
}

Json summary(const LoadedModel& loaded) {
  const Model& m = loaded.model;
  Json out;
  out["format"] = loaded.format;
  out["ir_version"] = m.ir_version;
  out["opsets"] = m.opsets;
  out["producer"] = m.producer_name + (m.producer_version.empty() ? "" : " " + m.producer_version);
  for (ValueId v : m.graph.inputs) out["inputs"].push_back(port_json(m.graph, v));
  for (ValueId v : m.graph.outputs()) out["outputs"].push_back(port_json(m.graph, v));
  std::map<std::string, int> ops;
  for (const NodeId id : m.graph.topological_order()) {
    const Node& n = m.graph.node(id);
    ++ops[n.domain.empty() ? n.op_type : n.domain + "." + n.op_type];
  }
  out["operators"] = ops;
  struct Weights {
    int64_t tensors = 0, elements = 0, bytes = 0;
  };
  std::map<std::string, Weights> weights;
  std::map<const void*, bool> seen;
  int64_t shared = 0;
  for (size_t i = 0; i < m.graph.value_count(); ++i) {
    const Tensor& t = m.graph.value(static_cast<ValueId>(i)).constant;
    if (!t) continue;
    if (t.elements() > 0 && !seen.emplace(t.data(), true).second) {
      ++shared;
      continue;
    }
    Weights& w = weights[std::string(to_string(t.dtype()))];
    ++w.tensors;
    w.elements += t.elements();
    w.bytes += t.bytes();
  }
  out["weights"] = Json::object();
  for (const auto& [type, w] : weights)
    out["weights"][type] = {{"tensors", w.tensors}, {"elements", w.elements}, {"bytes", w.bytes}};
  out["shared_weights"] = shared;
  out["functions"] = m.functions.size();
  out["metadata"] = Json::object();
  for (const auto& [key, value] : m.metadata)  // a tokenizer is not for reading
    out["metadata"][key] = value.size() <= kLongestMetadata ? value : fmt::format("({} bytes)", value.size());
  out["notes"] = loaded.notes;
  return out;
}

std::string text_of(const Json& r, const quant::QuantPlan& plan) {
  std::string t = fmt::format("{} ({}), IR {}, opsets {}, made by {}\n", r["model"].get<std::string>(),
                              r["format"].get<std::string>(), r["ir_version"].dump(), r["opsets"].dump(),
                              r["producer"].get<std::string>());
  for (const char* side : {"inputs", "outputs"})
    if (r.contains(side))
      for (const Json& p : r[side])
        t += fmt::format("  {} {} {} {}\n", side, p["name"].get<std::string>(), p["dtype"].get<std::string>(),
                         p["shape"].dump());
  t += "operators\n";
  for (const auto& [op, n] : r["operators"].items()) t += fmt::format("  {:<28} {}\n", op, n.dump());
  t += "weights\n";
  for (const auto& [type, w] : r["weights"].items())
    t += fmt::format("  {:<10} {:>6} tensors {:>14} bytes\n", type, w["tensors"].dump(), w["bytes"].dump());
  if (r["shared_weights"] != 0) t += fmt::format("  {} more share the memory of another\n", r["shared_weights"].dump());
  if (r.contains("fusions")) {
    t += "fusions\n";
    for (const Json& f : r["fusions"])
      t += fmt::format("  {} {:<12} {}: {}\n", f["matched"].get<bool>() ? "made  " : "missed",
                       f["pass"].get<std::string>(), f["node"].get<std::string>(), f["reason"].get<std::string>());
    if (r.contains("engine_error")) t += "  the engine cannot run it: " + r["engine_error"].get<std::string>() + "\n";
  }
  return t + quant::to_text(plan);
}

void inspect(const Arguments& a, const Environment& env) {
  const LoadedModel loaded = load_model(a.model);
  Json result = {{"model", a.model}};
  result.update(summary(loaded));
  const quant::QuantPlan plan = quant::plan_quantization(loaded.model, a.scheme.scheme());
  if (a.fusions) {
    result["fusions"] = Json::array();
    try {
      Model copy = loaded.model;
      copy.graph = loaded.model.graph.clone();
      const Session session(std::move(copy), a.engine.options(env));
      for (const FusionNote& f : session.fusions())
        result["fusions"].push_back({{"pass", f.pass}, {"node", f.node}, {"matched", f.matched}, {"reason", f.reason}});
      result["engine_nodes"] = session.program().steps().size();
    } catch (const Error& e) {
      result["engine_error"] = e.what();
    }
  }
  result["plan"] = quant::to_json(plan);
  a.json.write(result);
  if (!a.json.to_stdout()) print(text_of(result, plan));
}

}  // namespace

void add_inspect(CLI::App& parent, const Environment& env) {
  auto a = std::make_shared<Arguments>();
  CLI::App* c = parent.add_subcommand(
      "inspect", "show a model's graph, weights, fusions, and what each node would become under a scheme");
  c->add_option("MODEL", a->model, "ONNX file or checkpoint folder")->required();
  a->scheme.declare(*c);
  c->add_flag("--fusions,!--no-fusions", a->fusions,
              "prepare the model for the engine and list fusions made and missed");
  a->engine.declare(*c);
  a->json.declare(*c);
  c->footer(
      "Examples:\n  assay inspect models/minilm-l6-squad\n  assay inspect model.onnx --approach static --operators "
      "Add,MatMul --json -");
  c->callback([a, &env] { inspect(*a, env); });
}

}  // namespace assay::app
