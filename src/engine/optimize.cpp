#include "engine/optimize.h"

#include <algorithm>

#include "engine/take_witness.h"
#include "graph/passes/eliminate.h"
#include "graph/passes/fold_constants.h"
#include "graph/passes/fuse_attention.h"
#include "graph/passes/fuse_layernorm.h"
#include "graph/passes/fuse_linear.h"
#include "graph/passes/inline_functions.h"
#include "graph/passes/pack_tokens.h"

namespace assay {
namespace {

bool rows_on_their_own(const Model& model) {
  const auto it = model.metadata.find("assay.activation_scale");
  return it != model.metadata.end() && it->second == "row";
}

bool has_products(const Graph& graph) {
  const auto order = graph.topological_order();
  return std::any_of(order.begin(), order.end(), [&](NodeId id) {
    const Node& n = graph.node(id);
    return n.is("MatMul") || n.is("Gemm") || n.is("MatMulInteger");
  });
}

}  // namespace

std::vector<FusionNote> optimize(Model& model, const SessionOptions& options) {
  std::vector<FusionNote> notes;
  inline_functions(model);
  if (!options.fuse) return notes;
  Graph& graph = model.graph;
  const ProgramEvaluator evaluator(options.isa);

  eliminate_identities(graph);  // so that constants are seen behind Identity
  fold_constants(graph, evaluator,
                 {.dequantize = false});  // weights behind Cast or Transpose become constants; int8 stays int8
  std::string why;
  Witness witness;
  if (has_products(graph)) {
    witness = take_witness(graph, options.isa, why);  // proof for all that follows
    if (witness.runs.empty())
      notes.push_back({"witness", "graph", false, "fusions need a trial run, and it failed: " + why});
  }
  if (!witness.runs.empty()) {
    fuse_layernorm(graph, witness, notes);  // before linear: a norm's Mul and Add look like scale and bias
    fuse_gelu(graph, witness, notes);       // before linear: an activation is one node to absorb
    fuse_linear(graph, witness, rows_on_their_own(model), notes);  // before attention: it merges the layers it finds
    fuse_attention(graph, witness, notes);
    if (options.pack_tokens) pack_tokens(graph, witness, notes);  // last: it changes shapes
  }
  fold_constants(graph, evaluator);  // what integer weights nobody fused are worth in float
  return notes;
}

}  // namespace assay
