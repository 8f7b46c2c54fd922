// Cutting padding: a batch [batch, seq, ...] with a 0/1 mask becomes [tokens, ...] with row splits, and back.
#include <cstring>
#include <limits>

#include "ops/op.h"

namespace assay {
namespace {

template <typename T>
bool nonzero(const void* data, int64_t i) {
  return static_cast<const T*>(data)[i] != T{0};
}

bool is_set(const TensorView& mask, int64_t i) {
  switch (mask.dtype) {
    case DType::kInt64:
      return nonzero<int64_t>(mask.data, i);
    case DType::kInt32:
      return nonzero<int32_t>(mask.data, i);
    case DType::kBool:
      return nonzero<bool>(mask.data, i);
    case DType::kFloat32:
      return nonzero<float>(mask.data, i);
    default:
      fail(ErrorCode::kUnsupported, "a mask of type {}", to_string(mask.dtype));
  }
}

/// assay.PackPlan: mask [batch, seq] -> rows int64 [tokens] (flat index of each kept position), row_splits int64
/// [batch+1].
void pack_plan(const Node&, OpContext& ctx) {
  const TensorView& mask = ctx.input(0);
  require(mask.shape.rank() == 2, ErrorCode::kInvalidArgument, "an attention mask is [batch, seq], not {}",
          mask.shape.str());
  const int64_t batch = mask.shape[0];
  const int64_t seq = mask.shape[1];
  int64_t tokens = 0;
  for (int64_t i = 0; i < batch * seq; ++i) tokens += is_set(mask, i) ? 1 : 0;
  int64_t* rows = ctx.output(0, DType::kInt64, {tokens}).as<int64_t>();
  int64_t* splits = ctx.output(1, DType::kInt64, {batch + 1}).as<int64_t>();
  int64_t at = 0;
  splits[0] = 0;
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t s = 0; s < seq; ++s)
      if (is_set(mask, b * seq + s)) rows[at++] = b * seq + s;
    splits[b + 1] = at;
  }
}

/// assay.PackRows: x [batch, seq, ...], rows -> [tokens, ...].
void pack_rows(const Node&, OpContext& ctx) {
  const TensorView& x = ctx.input(0);
  const auto rows = ctx.input(1).values<int64_t>();
  Shape shape{static_cast<int64_t>(rows.size())};
  for (int i = 2; i < x.shape.rank(); ++i) shape.push_back(x.shape[i]);
  const auto row_bytes = static_cast<size_t>(bytes_of(x.dtype, x.shape.elements(2, x.shape.rank())));
  const auto* src = static_cast<const std::byte*>(x.data);
  auto* dst = static_cast<std::byte*>(ctx.output(0, x.dtype, shape).data);
  for (size_t t = 0; t < rows.size(); ++t)
    std::memcpy(dst + t * row_bytes, src + static_cast<size_t>(rows[t]) * row_bytes, row_bytes);
}

/// assay.UnpackRows: y [tokens, ...], rows, mask [batch, seq] -> [batch, seq, ...], zeros where the mask is 0.
void unpack_rows(const Node&, OpContext& ctx) {
  const TensorView& y = ctx.input(0);
  const auto rows = ctx.input(1).values<int64_t>();
  const TensorView& mask = ctx.input(2);
  Shape shape{mask.shape[0], mask.shape[1]};
  for (int i = 1; i < y.shape.rank(); ++i) shape.push_back(y.shape[i]);
  const auto row_bytes = static_cast<size_t>(bytes_of(y.dtype, y.shape.elements(1, y.shape.rank())));
  const MutableTensorView out = ctx.output(0, y.dtype, shape);
  const auto* src = static_cast<const std::byte*>(y.data);
  auto* dst = static_cast<std::byte*>(out.data);
  if (static_cast<int64_t>(rows.size()) < mask.elements()) std::memset(dst, 0, static_cast<size_t>(out.bytes()));
  for (size_t t = 0; t < rows.size(); ++t)
    std::memcpy(dst + static_cast<size_t>(rows[t]) * row_bytes, src + t * row_bytes, row_bytes);
}

/// assay.KeyBias: mask [batch, seq] -> float32 [batch, 1, 1, seq], 0 where set and -infinity elsewhere.
void key_bias(const Node&, OpContext& ctx) {
  const TensorView& mask = ctx.input(0);
  require(mask.shape.rank() == 2, ErrorCode::kInvalidArgument, "an attention mask is [batch, seq], not {}",
          mask.shape.str());
  float* out = ctx.output(0, DType::kFloat32, {mask.shape[0], 1, 1, mask.shape[1]}).as<float>();
  for (int64_t i = 0; i < mask.elements(); ++i)
    out[i] = is_set(mask, i) ? 0.0f : -std::numeric_limits<float>::infinity();
}

const OpRegistration kKeyBias("assay", "KeyBias", 1, make_simple_op<key_bias>);
const OpRegistration kPackPlan("assay", "PackPlan", 1, make_simple_op<pack_plan>);
const OpRegistration kPackRows("assay", "PackRows", 1, make_simple_op<pack_rows>);
const OpRegistration kUnpackRows("assay", "UnpackRows", 1, make_simple_op<unpack_rows>);

}  // namespace
}  // namespace assay
