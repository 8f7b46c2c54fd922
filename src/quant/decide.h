#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "quant/numbers.h"
#include "quant/plan.h"
#include "quant/prepare.h"

namespace assay::quant {

/// A weight behind an operand: the constant, and whether the operand is its transpose.
struct WeightUse {
  Located base;
  bool transposed = false;
  bool found() const { return base.scope != nullptr; }
};

/// One input of a quantized node.
struct OperandPlan {
  enum class Kind {
    kAsIs,        ///< read as it stands
    kActivation,  ///< read quantized
    kWeight,      ///< codes of a constant
    kBias         ///< int32 codes, scale = activation scale * weight scale (static)
  };
  Kind kind = Kind::kAsIs;
  WeightUse weight;
  WeightSpec spec;
};

/// Everything the rewriters need to know about a node.
struct Decision {
  Scope* scope = nullptr;
  NodeId node = kNoNode;
  size_t line = 0;  ///< its NodePlan in the plan
  Action action = Action::kFloat;
  std::vector<OperandPlan> operands;
};

/// Decisions for all nodes of a prepared model.
struct Decisions {
  QuantPlan plan;
  std::vector<Decision> nodes;
  /// Static: activations of the main graph that some node reads quantized.
  std::set<ValueId> quantized_values;
  /// Static: values whose scale is that of another value (what data-moving operators give).
  std::map<ValueId, ValueId> shares_scale_of;
  /// Static: results of a quantized Softmax, in [0, 1] whatever was observed.
  std::set<ValueId> unit_range;
};

Decisions decide(Prepared& prepared, const QuantScheme& scheme);

// Shared by the two approaches' rules; `why` is filled when the answer is no.

/// The constant behind an operand, through a matrix transpose.
WeightUse weight_behind(const Prepared& prepared, Scope& scope, ValueId operand);
/// float32 and finite, or why not.
bool quantizable_weight(const Prepared& prepared, const WeightUse& use, std::string& why);
/// "int8 weights per channel (axis 1)"
std::string describe(const WeightSpec& spec);

void decide_dynamic(Prepared& prepared, const QuantScheme& scheme, Decisions& out);
void decide_static(Prepared& prepared, const QuantScheme& scheme, Decisions& out);
/// After either: a Gather from a table that a quantized MatMul or Gemm reads takes the same codes, so that a tied
/// weight is stored once. Where it cannot or may not, its line says that a float copy is kept.
void tie_gathers(const Prepared& prepared, Decisions& out);

}  // namespace assay::quant
