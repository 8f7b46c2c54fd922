#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "quant/scheme.h"

namespace assay::quant {

/// What becomes of a node.
enum class Action {
  kFloat,          ///< stays as it is; `reason` says why
  kIntegerMatMul,  ///< dynamic: MatMulInteger (also what a Gemm becomes)
  kIntegerConv,    ///< dynamic: ConvInteger
  kCodeGather,     ///< gathers integer codes, dequantizes what it gathered
  kQdq,            ///< static: reads quantized activations, weights as codes
  kQdqMove,        ///< static: only moves codes, result has the scale of its input
  kQdqClip         ///< static: Relu or Clip right before the quantization of its result
};
std::string_view to_string(Action action);

/// One node's line in the plan.
struct NodePlan {
  std::string node;     ///< name, or the label when it has none
  std::string op_type;  ///< with its domain when that is not ONNX's
  std::string scope;    ///< "" in the main graph, else the body it stands in
  std::string output;   ///< name of its first output, the same before and after
  Action action = Action::kFloat;
  std::string form;    ///< "uint8 activations, int8 weights per channel (axis 1): MatMulInteger"; empty when float
  std::string reason;  ///< why it stays float, or what is special about how it is quantized
  std::string weight;  ///< name of its weight; empty when it has none
  int64_t weight_bytes = 0;       ///< of the float weight
  std::vector<std::string> tags;  ///< structures it is part of: "layernorm", ...
  std::optional<double> weight_sqnr_db;

  bool quantized() const { return action != Action::kFloat; }
};

/// How much of an operator type is quantized.
struct Coverage {
  int nodes = 0;
  int quantized = 0;
  int64_t weight_bytes = 0;
  int64_t quantized_weight_bytes = 0;
  /// Quantized share of nodes.
  double share() const { return nodes == 0 ? 0.0 : static_cast<double>(quantized) / nodes; }
};

/// What a scheme would make of a model: every node with its decision or the reason against, and what should be said
/// aloud.
struct QuantPlan {
  QuantScheme scheme;
  std::vector<NodePlan> nodes;     ///< every node, in running order, bodies after what holds them
  std::vector<std::string> notes;  ///< changes to the whole model and warnings
  int64_t constant_bytes = 0;      ///< all float constants of the model, before

  std::map<std::string, Coverage> coverage_by_op() const;
  /// Over nodes that have a weight or do multiplications: MatMul, Gemm, Conv, ConvTranspose, Gather.
  Coverage coverage() const;
  /// Nodes that an operator list asks for and that stay float.
  std::vector<const NodePlan*> skipped() const;
};

/// The plan alone, the model left as it is: what `inspect` prints.
QuantPlan plan_quantization(const Model& model, const QuantScheme& scheme);

nlohmann::json to_json(const QuantPlan& plan);
/// A table for people: coverage by operator, then every reason with its count and nodes.
std::string to_text(const QuantPlan& plan);

}  // namespace assay::quant
