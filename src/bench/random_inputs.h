#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/engine.h"
#include "graph/graph.h"

namespace assay {

/// Inputs for a time benchmark, as Optimum makes them: token ids uniform in [0, 1000) (below the model's own table when
/// that is smaller), masks of ones, token types of ones (zeros when the model has one type), pixel values uniform in
/// [0, 1). `batch` and `length` fill the free dimensions, the first and the further ones; with length 0 the further
/// ones keep the sizes that the model fixes. A model whose sizes are fixed is refused with InvalidArgument when they
/// are not what is asked for.
std::vector<Tensor> random_inputs(const Graph& graph, int64_t batch, int64_t length, uint64_t seed);

/// Whether any input has a free dimension behind the batch: whether `length` means anything to this model.
bool has_free_length(const Graph& graph);

/// InvalidArgument when an input of one of the lengths would not fit the model's positions (0: not known). A model
/// without a free length takes none.
void require_lengths_fit(const Graph& graph, int64_t positions, std::span<const int64_t> lengths);

}  // namespace assay
