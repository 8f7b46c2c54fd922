#include "ops/support.h"

#include <cstring>

namespace assay {

SmallInts strides_of(const Shape& shape) {
  SmallInts s;
  s.n = shape.rank();
  int64_t stride = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    s[i] = stride;
    stride *= shape[i];
  }
  return s;
}

int64_t read_int(const TensorView& t, int64_t i, std::string_view what) {
  switch (t.dtype) {
    case DType::kInt64:
      return static_cast<const int64_t*>(t.data)[i];
    case DType::kInt32:
      return static_cast<const int32_t*>(t.data)[i];
    default:
      fail(ErrorCode::kInvalidArgument, "{} must be int64 or int32, not {}", what, to_string(t.dtype));
  }
}

int64_t read_scalar_int(const TensorView& t, std::string_view what) {
  require(t.elements() == 1, ErrorCode::kInvalidArgument, "{} must hold one element, not shape {}", what, t.shape);
  return read_int(t, 0, what);
}

bool read_scalar_bool(const TensorView& t, std::string_view what) {
  require(t.elements() == 1, ErrorCode::kInvalidArgument, "{} must hold one element, not shape {}", what, t.shape);
  return *t.as<bool>();
}

std::vector<int64_t> read_ints(const TensorView& t, std::string_view what) {
  std::vector<int64_t> v(static_cast<size_t>(t.elements()));
  for (size_t i = 0; i < v.size(); ++i) v[i] = read_int(t, static_cast<int64_t>(i), what);
  return v;
}

SmallInts read_small_ints(const TensorView& t, std::string_view what) {
  require(t.shape.rank() <= 1, ErrorCode::kInvalidArgument, "{} must be a vector, not of shape {}", what, t.shape);
  require(t.elements() <= kMaxRank, ErrorCode::kUnsupported, "{} names {} dimensions, at most {} are supported", what,
          t.elements(), kMaxRank);
  SmallInts v;
  v.n = static_cast<int>(t.elements());
  for (int i = 0; i < v.n; ++i) v[i] = read_int(t, i, what);
  return v;
}

SmallInts small_ints(const std::vector<int64_t>& values, std::string_view what) {
  require(values.size() <= kMaxRank, ErrorCode::kUnsupported, "{} names {} dimensions, at most {} are supported", what,
          values.size(), kMaxRank);
  SmallInts v;
  for (int64_t x : values) v[v.n++] = x;
  return v;
}

double read_number(const TensorView& t, std::string_view what) {
  require(t.elements() >= 1, ErrorCode::kInvalidArgument, "{} is an empty tensor", what);
  double value = 0;
  dispatch(NumberTypes{}, t.dtype, what,
           [&]<typename T>() { value = static_cast<double>(static_cast<Compute<T>>(*static_cast<const T*>(t.data))); });
  return value;
}

void copy_tensor(const TensorView& src, const MutableTensorView& dst) {
  if (src.dtype == DType::kString) {
    copy_elements(static_cast<const std::string*>(src.data), src.elements(), static_cast<std::string*>(dst.data));
  } else if (const int64_t bytes = src.bytes(); bytes > 0) {
    std::memcpy(dst.data, src.data, static_cast<size_t>(bytes));
  }
}

const TensorView& need_input(const OpContext& ctx, size_t i, std::string_view what) {
  require(ctx.has_input(i), ErrorCode::kInvalidArgument, "input {} ({}) is missing", i, what);
  return ctx.input(i);
}

void same_dtype(const TensorView& a, const TensorView& b) {
  require(a.dtype == b.dtype, ErrorCode::kInvalidArgument, "inputs of types {} {} and {} {} must have one type",
          to_string(a.dtype), a.shape, to_string(b.dtype), b.shape);
}

AxesArgument::AxesArgument(const Node& node, size_t slot, std::string_view name)
    : slot_(slot), from_attribute_(node.has(name)), values_(small_ints(node.get_ints(name), name)) {}

SmallInts AxesArgument::read(const OpContext& ctx) const {
  if (from_attribute_ || !ctx.has_input(slot_)) return values_;
  return read_small_ints(ctx.input(slot_), "axes");
}

}  // namespace assay
