#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/patterns.h"
#include "tensor/dtype.h"

namespace assay::quant {

enum class Approach { kDynamic, kStatic };
/// Who shares one activation scale in dynamic quantization: a whole tensor (what the ONNX operators say) or each row
/// (token) on its own. The file is the same; a metadata entry tells our engine which.
enum class ActivationScale { kRow, kTensor };

std::string_view to_string(Approach approach);
std::string_view to_string(ActivationScale scale);

/// Metadata entry that holds the ActivationScale of a dynamic file: "row" or "tensor".
constexpr std::string_view kActivationScaleKey = "assay.activation_scale";

/// What is quantized and how: policy as data. The defaults are the dynamic scheme.
struct QuantScheme {
  Approach approach = Approach::kDynamic;
  DType weight_type = DType::kInt8;        ///< int8 or uint8
  std::optional<bool> weight_symmetric;    ///< absent: symmetric when int8
  bool per_channel = false;                ///< one weight scale per output channel
  DType activation_type = DType::kUint8;   ///< static only: int8 or uint8 (dynamic is uint8, as ONNX defines it)
  bool activation_symmetric = false;       ///< static only
  bool reduce_range = false;               ///< weights on 7 bits
  std::vector<std::string> operators;      ///< operator types; empty: default_operators(approach)
  std::vector<std::string> exclude_nodes;  ///< exact node names or globs (* ? [abc])
  std::vector<Pattern> exclude_patterns;   ///< whole structures, in any exporter's spelling
  ActivationScale activation_scale = ActivationScale::kRow;  ///< dynamic only
  std::optional<bool> matmul_const_b_only;                   ///< absent: true when dynamic, false when static
  /// Static: also quantize outputs that no quantized node reads (as ONNX Runtime does). Costs accuracy.
  bool quantize_all_outputs = false;
  /// Other readers of a quantized weight read its codes too, so that a tied weight is stored once.
  bool keep_tied = true;

  bool symmetric_weights() const { return weight_symmetric.value_or(weight_type == DType::kInt8); }
  bool const_b_only() const { return matmul_const_b_only.value_or(approach == Approach::kDynamic); }
  std::vector<std::string> effective_operators() const;
  /// Adds "layernorm", "gelu", "residual", "gather", "softmax" as a structure, anything else as a name or glob.
  void add_exclusion(std::string_view text);
  /// InvalidArgument naming the field and what would fix it.
  void check() const;
};

/// MatMul and Gemm when dynamic; when static also Conv, ConvTranspose and the operators that only move or clip what
/// they produce.
std::vector<std::string> default_operators(Approach approach);
/// Every operator type an approach has a rule for, sorted.
std::vector<std::string> known_operators(Approach approach);

/// Whether `text` fits a glob of *, ? and [set] (also [!set], ranges).
bool glob_match(std::string_view glob, std::string_view text);

nlohmann::json to_json(const QuantScheme& scheme);
/// The inverse. InvalidArgument naming an unknown key or a wrong value.
QuantScheme scheme_from_json(const nlohmann::json& json);

/// InvalidArgument naming the nearest for a name that no operator has: misspelt, it would quantize nothing. One that
/// exists and has no rule is said in the plan instead.
void check_operators(const std::vector<std::string>& names);

}  // namespace assay::quant
