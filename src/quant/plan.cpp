#include "quant/plan.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "quant/decide.h"

namespace assay::quant {

std::string_view to_string(Action action) {
  switch (action) {
    case Action::kFloat:
      return "float";
    case Action::kIntegerMatMul:
      return "integer matmul";
    case Action::kIntegerConv:
      return "integer conv";
    case Action::kCodeGather:
      return "gather of codes";
    case Action::kQdq:
      return "quantized";
    case Action::kQdqMove:
      return "moves codes";
    case Action::kQdqClip:
      return "clips before quantization";
  }
  return "";
}

std::map<std::string, Coverage> QuantPlan::coverage_by_op() const {
  std::map<std::string, Coverage> out;
  for (const NodePlan& n : nodes) {
    Coverage& c = out[n.op_type];
    ++c.nodes;
    c.quantized += n.quantized();
    c.weight_bytes += n.weight_bytes;
    if (n.quantized()) c.quantized_weight_bytes += n.weight_bytes;
  }
  return out;
}

Coverage QuantPlan::coverage() const {
  Coverage total;
  for (const auto& [op, c] : coverage_by_op()) {
    if (op != "MatMul" && op != "Gemm" && op != "Conv" && op != "ConvTranspose" && op != "Gather") continue;
    total.nodes += c.nodes;
    total.quantized += c.quantized;
    total.weight_bytes += c.weight_bytes;
    total.quantized_weight_bytes += c.quantized_weight_bytes;
  }
  return total;
}

std::vector<const NodePlan*> QuantPlan::skipped() const {
  const auto wanted = scheme.effective_operators();
  std::vector<const NodePlan*> out;
  for (const NodePlan& n : nodes)
    if (!n.quantized() && std::find(wanted.begin(), wanted.end(), n.op_type) != wanted.end()) out.push_back(&n);
  return out;
}

QuantPlan plan_quantization(const Model& model, const QuantScheme& scheme) {
  scheme.check();
  Prepared prepared(model, scheme);
  return decide(prepared, scheme).plan;
}

nlohmann::json to_json(const QuantPlan& plan) {
  nlohmann::json nodes = nlohmann::json::array();
  for (const NodePlan& n : plan.nodes) {
    nlohmann::json line = {{"node", n.node}, {"op", n.op_type}, {"action", to_string(n.action)}};
    if (!n.scope.empty()) line["scope"] = n.scope;
    if (!n.form.empty()) line["form"] = n.form;
    if (!n.reason.empty()) line["reason"] = n.reason;
    if (!n.weight.empty()) {
      line["weight"] = n.weight;
      line["weight_bytes"] = n.weight_bytes;
    }
    if (!n.tags.empty()) line["tags"] = n.tags;
    if (n.weight_sqnr_db) line["weight_sqnr_db"] = *n.weight_sqnr_db;
    nodes.push_back(std::move(line));
  }
  nlohmann::json by_op = nlohmann::json::object();
  for (const auto& [op, c] : plan.coverage_by_op())
    by_op[op] = {{"nodes", c.nodes},
                 {"quantized", c.quantized},
                 {"weight_bytes", c.weight_bytes},
                 {"quantized_weight_bytes", c.quantized_weight_bytes}};
  return {{"scheme", to_json(plan.scheme)},
          {"nodes", std::move(nodes)},
          {"notes", plan.notes},
          {"coverage", std::move(by_op)},
          {"constant_bytes", plan.constant_bytes}};
}

std::string to_text(const QuantPlan& plan) {
  std::string out =
      fmt::format("{:<24} {:>9} {:>9} {:>14} {:>9}\n", "operator", "nodes", "quantized", "weight bytes", "quantized");
  for (const auto& [op, c] : plan.coverage_by_op()) {
    const std::string share = c.weight_bytes == 0
                                  ? ""
                                  : fmt::format("{:.0f} %", 100.0 * static_cast<double>(c.quantized_weight_bytes) /
                                                                static_cast<double>(c.weight_bytes));
    out += fmt::format("{:<24} {:>9} {:>9} {:>14} {:>9}\n", op, c.nodes, c.quantized,
                       c.weight_bytes == 0 ? "" : std::to_string(c.weight_bytes), share);
  }
  std::map<std::string, std::vector<std::string>> reasons;
  const auto wanted = plan.scheme.effective_operators();
  for (const NodePlan* n : plan.skipped()) reasons[n->op_type + ": " + n->reason].push_back(n->node);
  if (!reasons.empty()) out += "\nasked for, but not quantized:\n";
  for (const auto& [reason, names] : reasons) {
    out += fmt::format("  {} ({} node{})", reason, names.size(), names.size() == 1 ? "" : "s");
    for (size_t i = 0; i < names.size() && i < 3; ++i) out += (i == 0 ? ": " : ", ") + names[i];
    out += names.size() > 3 ? ", ...\n" : "\n";
  }
  for (const auto& note : plan.notes) out += "note: " + note + "\n";
  return out;
}

}  // namespace assay::quant
