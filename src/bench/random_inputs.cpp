#include "bench/random_inputs.h"

#include <algorithm>

#include "base/rng.h"
#include "graph/index_bound.h"

namespace assay {
namespace {

Shape shape_of(const Value& v, int64_t batch, int64_t length) {
  if (!v.type.dims)
    throw Error(ErrorCode::kUnsupported, "its rank is unknown, so no input can be made for it").at("input", v.name);
  Shape shape;
  for (size_t d = 0; d < v.type.dims->size(); ++d) {
    const Dim& dim = (*v.type.dims)[d];
    const int64_t wanted = d == 0 ? batch : length;
    const bool spatial = v.type.dims->size() == 4 && d > 0;  // pixels: sizes are the model's own
    const bool own = spatial || (d > 0 && length == 0);
    if (dim.known() && !own && dim.size != wanted)
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("has a fixed size of {} in dimension {}, not {}", dim.size, d, wanted))
          .at("input", v.name);
    shape.push_back(dim.known() ? dim.size : spatial ? (d == 1 ? 3 : 224) : std::max<int64_t>(wanted, 1));
  }
  return shape;
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

std::vector<Tensor> random_inputs(const Graph& graph, int64_t batch, int64_t length, uint64_t seed) {
  Rng rng(seed);
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs) {
    const Value& v = graph.value(id);
    if (v.constant) {  // an input with a default
      inputs.push_back(v.constant);
      continue;
    }
    Tensor t(v.type.dtype, shape_of(v, batch, length));
    const int64_t rows = index_bound(graph, id);
    const bool mask = contains(v.name, "mask");
    const bool types = contains(v.name, "token_type") || contains(v.name, "segment");
    const auto draw = [&]() -> int64_t {
      if (mask) return 1;
      if (types) return rows == 1 ? 0 : 1;
      return static_cast<int64_t>(rng.below(static_cast<uint64_t>(rows > 0 ? std::min<int64_t>(rows, 1000) : 2)));
    };
    switch (v.type.dtype) {
      case DType::kInt64:
        std::ranges::generate(t.mutable_view().values<int64_t>(), draw);
        break;
      case DType::kInt32:
        std::ranges::generate(t.mutable_view().values<int32_t>(), [&] { return static_cast<int32_t>(draw()); });
        break;
      case DType::kBool:
        std::ranges::fill(t.mutable_view().values<bool>(), true);
        break;
      case DType::kFloat32:
        std::ranges::generate(t.mutable_view().values<float>(),
                              [&] { return mask ? 1.0f : static_cast<float>(rng.uniform()); });
        break;
      default:
        throw Error(ErrorCode::kUnsupported, fmt::format("no input of type {} can be made up", to_string(v.type.dtype)))
            .at("input", v.name);
    }
    inputs.push_back(std::move(t));
  }
  return inputs;
}

bool has_free_length(const Graph& graph) {
  return std::any_of(graph.inputs.begin(), graph.inputs.end(), [&](ValueId id) {
    const auto& dims = graph.value(id).type.dims;
    return dims && dims->size() == 2 && !(*dims)[1].known();
  });
}

void require_lengths_fit(const Graph& graph, int64_t positions, std::span<const int64_t> lengths) {
  if (positions <= 0 || !has_free_length(graph)) return;
  for (const int64_t length : lengths)
    require(length <= positions, ErrorCode::kInvalidArgument,
            "the model has {} positions, an input of length {} does not fit", positions, length);
}

}  // namespace assay
