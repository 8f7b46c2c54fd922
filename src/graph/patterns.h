#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace assay {

/// Structures that can be named as a whole, whoever exported the model. They are found by what they compute, not by the
/// names or the order of their operators; each is a superset of the Optimum pass of the same name.
///
/// - layernorm: y = (x - mean x) / sqrt(var x + eps), with or without scale and shift. Mean as ReduceMean or as a sum
///   times a constant; the square as Pow(d, 2) or Mul(d, d); var also as mean(x^2) - mean(x)^2; Sqrt and Div,
///   Reciprocal and Mul, or Pow by -1/2; the scale folded into the reciprocal (TensorFlow); casts anywhere. Also
///   RMSNorm (no mean) and the fused operators. Nodes: all of it, from the mean to the shift.
/// - gelu: 0.5 x (1 + f(x)) with f the erf form, the tanh form, or x sigmoid(1.702 x), the constants in any place and
///   order and any of them folded into another; the fused operators. Nodes: all that lies between x and the result.
/// - residual: an Add that reads the output of another Add (Optimum's rule), or that joins a value with one computed
/// from
///   it (the skip connection); fused skip normalisations.
/// - gather: an Add that reads a Gather (through casts and reshapes), and that Gather: embedding sums.
/// - softmax: a Softmax, or exp(x - max) / sum in operators of its own, and what masks its input: the Add of a mask, or
///   Where, with the casts between.
///
/// Where Optimum's passes see only the last of several Adds that share an input (residual, gather), all are found here.
enum class Pattern { kLayerNorm, kGelu, kResidual, kGather, kSoftmax };

std::string_view to_string(Pattern pattern);
std::optional<Pattern> pattern_from_name(std::string_view name);
/// "layernorm, gelu, residual, gather, softmax"
std::string pattern_names();

/// One structure found in a graph.
struct PatternMatch {
  Pattern pattern = Pattern::kLayerNorm;
  std::vector<NodeId> nodes;  ///< every node of it, ascending
  ValueId input = kNoValue;   ///< what it is applied to, where that is one value
  ValueId output = kNoValue;
  std::string spelling;  ///< "fused", "Pow/Sqrt/Div", "erf", "tanh", ...
};

/// Something that began like a structure and was none.
struct PatternMiss {
  Pattern pattern = Pattern::kLayerNorm;
  NodeId node = kNoNode;  ///< the first node that differed
  std::string reason;
};

/// All structures of one kind in `graph` (not in its subgraphs), in the order of their first node.
std::vector<PatternMatch> find_pattern(const Graph& graph, Pattern pattern, std::vector<PatternMiss>* misses = nullptr);

}  // namespace assay
