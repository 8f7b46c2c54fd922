#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "quant/decide.h"

namespace assay::quant {

/// Integer codes as values of a graph.
struct CodeValues {
  ValueId codes = kNoValue;
  ValueId scale = kNoValue;       ///< scalar, or one per channel
  ValueId zero_point = kNoValue;  ///< of the codes' type and the scale's shape
  int axis = -1;                  ///< channel axis of `codes` as given (after a transpose)
};

/// Adds a node with one output of element type `type`, named `base` made unique.
ValueId emit(Prepared& prepared, Scope& scope, const std::string& op_type, std::vector<ValueId> inputs,
             const std::string& node_name, const std::string& output_name, DType type,
             std::map<std::string, Attribute, std::less<>> attributes = {});
/// `now` takes the name, type and users of `old`, whose producer goes.
void take_over(Prepared& prepared, Scope& scope, ValueId old, ValueId now);

/// Quantizes each weight once and gives its codes to whoever reads them: uses of the same memory share codes, in every
/// scope and in either orientation.
class CodeStore {
 public:
  CodeStore(Prepared& prepared, const Decisions& decisions, int threads);

  /// Codes of a weight as seen in `scope`, transposed when the use is. `min_scales`: see quantize_tensor. What
  /// quantize_tensor throws gains the tensor's name.
  CodeValues codes(const WeightUse& use, const WeightSpec& spec, Scope& scope,
                   const std::vector<float>& min_scales = {});
  /// The codes and parameters, in the orientation of the stored weight.
  const QuantizedTensor& quantized(const WeightUse& use, const WeightSpec& spec,
                                   const std::vector<float>& min_scales = {});
  /// A constant of the scales times `factor` in another shape, seen in `scope`.
  ValueId scales_as(const WeightUse& use, const WeightSpec& spec, Scope& scope, float factor, const Shape& shape);
  /// How many operands of quantized nodes read this memory.
  int uses(const WeightUse& use) const;

 private:
  struct Entry {
    QuantizedTensor q;
    Scope* home = nullptr;
    std::string name;
    ValueId direct = kNoValue, turned = kNoValue, scale = kNoValue, zero_point = kNoValue;
    std::map<std::pair<float, std::vector<int64_t>>, ValueId> shaped;
  };
  using Key = std::tuple<const Scope*, const void*, WeightSpec, std::vector<float>>;

  Entry& entry(const WeightUse& use, const WeightSpec& spec, const std::vector<float>& min_scales);

  Prepared& prepared_;
  int threads_;
  std::map<Key, Entry> entries_;
  std::map<const void*, int> uses_;
  std::set<const void*> read_directly_;  ///< memory that some use reads untransposed
};

}  // namespace assay::quant
