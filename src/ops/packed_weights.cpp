#include "ops/packed_weights.h"

namespace assay {
namespace {

Tensor buffer(size_t bytes) { return Tensor(DType::kUint8, Shape{std::max<int64_t>(1, checked_cast<int64_t>(bytes))}); }

}  // namespace

PackedWeights::PackedWeights(const OpInit& init, size_t input, bool transposed) {
  const Tensor* w = init.constant(input);
  if (w == nullptr || w->dtype() != DType::kFloat32 || w->shape().rank() != 2 || w->elements() == 0) return;
  const int64_t rows = w->shape()[0], columns = w->shape()[1];
  const int64_t k = transposed ? columns : rows, n = transposed ? rows : columns;
  memory_ = buffer(kernels::packed_f32_bytes(init.isa, k, n));
  packed_ = kernels::pack_f32(init.isa, k, n, w->values<float>().data(), columns, transposed,
                              static_cast<float*>(memory_.mutable_view().data), 1);
}

PackedInt8Weights::PackedInt8Weights(const OpInit& init, size_t input) {
  const Tensor* w = init.constant(input);
  if (w == nullptr || (w->dtype() != DType::kInt8 && w->dtype() != DType::kUint8) || w->shape().rank() != 2 ||
      w->elements() == 0)
    return;
  const int64_t k = w->shape()[0], n = w->shape()[1];
  memory_ = buffer(kernels::packed_int8_bytes(init.isa, k, n));
  packed_ = kernels::pack_int8(init.isa, k, n, w->data(), n, w->dtype() == DType::kUint8, false,
                               memory_.mutable_view().data, 1);
}

}  // namespace assay
