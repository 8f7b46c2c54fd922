#include "quant/decide.h"

namespace assay::quant {
namespace {

// Gathered codes can be dequantized when there is one scale, or one a gathered row.
bool readable_rows(const Node& gather, const WeightSpec& spec) {
  return spec.axis < 0 || (spec.axis == 0 && gather.get_int("axis", 0) == 0);
}

bool is_product(const Decision& d) {
  const Node& n = d.scope->graph->node(d.node);
  return d.action == Action::kIntegerMatMul || (d.action == Action::kQdq && (n.is("MatMul") || n.is("Gemm")));
}

std::string form(const WeightSpec& spec) { return fmt::format("{}: codes gathered, then dequantized", describe(spec)); }

}  // namespace

void tie_gathers(const Prepared& prepared, Decisions& out) {
  std::map<Located, std::pair<WeightSpec, std::string>> quantized;
  for (const Decision& d : out.nodes)
    for (const OperandPlan& o : d.operands)
      if (o.kind == OperandPlan::Kind::kWeight && is_product(d))
        quantized.insert({o.weight.base, {o.spec, out.plan.nodes[d.line].node}});
  if (quantized.empty()) return;
  // Gathers that were asked for take the cut of the product; others are taken along.
  std::set<std::pair<Scope*, NodeId>> asked;
  for (Decision& d : out.nodes) {
    asked.insert({d.scope, d.node});
    if (d.action != Action::kCodeGather) continue;
    const auto it = quantized.find(d.operands[0].weight.base);
    if (it == quantized.end() || !readable_rows(d.scope->graph->node(d.node), it->second.first)) continue;
    d.operands[0].spec = it->second.first;
    NodePlan& line = out.plan.nodes[d.line];
    line.form = form(it->second.first);
    line.reason = fmt::format("shares its table with '{}'", it->second.second);
  }
  size_t at = 0;
  for (const auto& scope : prepared.scopes()) {
    const Graph& g = *scope->graph;
    for (NodeId id : g.topological_order()) {
      const size_t this_line = at++;
      NodePlan& line = out.plan.nodes[this_line];
      const Node& n = g.node(id);
      if (!n.is("Gather") || asked.count({scope.get(), id}) > 0) continue;
      const WeightUse use = weight_behind(prepared, *scope, n.input(0));
      const auto it = use.found() && !use.transposed ? quantized.find(use.base) : quantized.end();
      if (it == quantized.end()) continue;
      const auto& [spec, product] = it->second;
      if (line.reason.rfind("excluded", 0) == 0) {
        line.reason += fmt::format("; a float copy of the table that '{}' quantized is kept for it", product);
        continue;
      }
      if (!readable_rows(n, spec)) {
        line.reason = fmt::format(
            "a float copy of the table that '{}' quantized is kept for it: the scales do not run along the rows it "
            "gathers",
            product);
        continue;
      }
      Decision d{scope.get(), id, this_line, Action::kCodeGather, {}};
      d.operands.assign(n.inputs.size(), {});
      d.operands[0] = {OperandPlan::Kind::kWeight, use, spec};
      line.action = d.action;
      line.form = form(spec);
      line.reason = fmt::format("tied to the weight of '{}': stored once, as codes", product);
      out.nodes.push_back(std::move(d));
    }
  }
}

}  // namespace assay::quant
