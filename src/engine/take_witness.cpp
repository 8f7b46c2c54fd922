#include "engine/take_witness.h"

#include <algorithm>

#include "base/rng.h"
#include "graph/index_bound.h"

namespace assay {
namespace {

Tensor make_input(const Graph& graph, ValueId id, int64_t batch, int64_t seq, Rng& rng) {
  const Value& v = graph.value(id);
  require(v.type.dims.has_value(), ErrorCode::kUnsupported, "the rank of input '{}' is unknown", v.name);
  Shape shape;
  for (size_t d = 0; d < v.type.dims->size(); ++d) {
    const Dim& dim = (*v.type.dims)[d];
    shape.push_back(dim.known() ? dim.size : d == 0 ? batch : seq);
  }
  require(shape.elements() <= (1 << 20), ErrorCode::kResourceExhausted, "input '{}' of {} is too large to try", v.name,
          shape.str());
  Tensor t(v.type.dtype, shape);
  const int64_t bound = index_bound(graph, id);
  const int64_t width = shape.rank() > 0 ? std::max<int64_t>(shape[shape.rank() - 1], 1) : 1;
  for (int64_t i = 0; i < t.elements(); ++i) {
    // A mask: all ones, but the last row loses its last two positions.
    const int64_t row = i / width;
    const bool padding = shape.rank() == 2 && width > 3 && row == shape[0] - 1 && i % width >= width - 2;
    const int64_t integer = bound > 0 ? static_cast<int64_t>(rng.below(static_cast<uint64_t>(bound))) : padding ? 0 : 1;
    const auto at = static_cast<size_t>(i);
    switch (v.type.dtype) {
      case DType::kInt64:
        t.mutable_view().values<int64_t>()[at] = integer;
        break;
      case DType::kInt32:
        t.mutable_view().values<int32_t>()[at] = static_cast<int32_t>(integer);
        break;
      case DType::kBool:
        t.mutable_view().values<bool>()[at] = integer != 0;
        break;
      case DType::kFloat32:
        t.mutable_view().values<float>()[at] = shape.rank() == 2 ? (padding ? 0.0f : 1.0f) : rng.uniform(-1.0f, 1.0f);
        break;
      default:
        fail(ErrorCode::kUnsupported, "input '{}' of type {}", v.name, to_string(v.type.dtype));
    }
  }
  return t;
}

}  // namespace

Witness take_witness(const Graph& graph, Isa isa, std::string& why) {
  constexpr int64_t kSizes[2][2] = {{2, 5}, {3, 7}};
  Witness witness;
  try {
    const Program program(graph, isa);
    for (const auto& [batch, seq] : kSizes) {
      Rng rng(static_cast<uint64_t>(batch));
      Witness::Run run;
      run.batch = batch;
      run.seq = seq;
      run.values.resize(graph.value_count());
      std::vector<Tensor> inputs;
      for (const ValueId v : graph.inputs) {
        inputs.push_back(graph.value(v).constant ? graph.value(v).constant : make_input(graph, v, batch, seq, rng));
        run.values[static_cast<size_t>(v)] = inputs.back();
      }
      std::vector<TensorView> views(inputs.begin(), inputs.end());
      Frame frame(program);
      const Tap tap = [&](NodeId, ValueId v, const TensorView& view) {
        run.values[static_cast<size_t>(v)] = copy_of(view);
      };
      frame.run(views, {}, 1, &tap);
      witness.runs.push_back(std::move(run));
    }
  } catch (const Error& e) {
    why = e.what();
    witness.runs.clear();
  }
  return witness;
}

}  // namespace assay
