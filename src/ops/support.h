#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/parallel.h"
#include "ops/op.h"

namespace assay {

/// The factory of an operator class constructed from OpInit.
template <typename T>
std::unique_ptr<Op> make_op(const OpInit& init) {
  return std::make_unique<T>(init);
}

/// A list of element types an operator takes.
template <typename... Ts>
struct Types {};

template <typename A, typename B>
struct JoinTypes;
template <typename... As, typename... Bs>
struct JoinTypes<Types<As...>, Types<Bs...>> {
  using Type = Types<As..., Bs...>;
};
template <typename A, typename B>
using Join = typename JoinTypes<A, B>::Type;

using FloatTypes = Types<float, double, Float16, Bfloat16>;
using SignedTypes = Types<int8_t, int16_t, int32_t, int64_t>;
using UnsignedTypes = Types<uint8_t, uint16_t, uint32_t, uint64_t>;
using IntTypes = Join<SignedTypes, UnsignedTypes>;
using NumberTypes = Join<FloatTypes, IntTypes>;
/// What most float models and their shape arithmetic use.
using CommonTypes = Types<float, double, int32_t, int64_t>;

template <typename T>
constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>;
/// float16 and bfloat16 are stored types: arithmetic is done in float and rounded once at the end.
template <typename T>
using Compute = std::conditional_t<kIsHalf<T>, float, T>;

/// Calls f.operator()<T>() for the type of the list that `dtype` names; InvalidArgument naming `what` otherwise.
template <typename... Ts, typename F>
void dispatch(Types<Ts...> /*list*/, DType dtype, std::string_view what, F&& f) {
  const bool done = ((dtype == kDTypeOf<Ts> && (f.template operator()<Ts>(), true)) || ...);
  require(done, ErrorCode::kInvalidArgument, "{} does not take {} tensors", what, to_string(dtype));
}

/// 16 bytes moved as one element (complex128).
struct Bytes16 {
  uint64_t low, high;
};

/// Calls f.operator()<T>() with a type of the same size as `dtype`, for operators that only move elements (strings are
/// std::string). Unsupported for types that share a byte.
template <typename F>
void dispatch_size(DType dtype, std::string_view what, F&& f) {
  if (dtype == DType::kString) return f.template operator()<std::string>();
  switch (bits_of(dtype)) {
    case 8:
      return f.template operator()<uint8_t>();
    case 16:
      return f.template operator()<uint16_t>();
    case 32:
      return f.template operator()<uint32_t>();
    case 64:
      return f.template operator()<uint64_t>();
    case 128:
      return f.template operator()<Bytes16>();
    default:
      fail(ErrorCode::kUnsupported, "{} of {} tensors", what, to_string(dtype));
  }
}

/// Elements of a parallel_for range below which a second thread costs more than it saves.
constexpr int64_t kGrain = 16384;
/// The same, for items that each cost `per_item` simple operations.
inline int64_t grain_of(int64_t per_item) { return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, per_item)); }

/// Up to kMaxRank numbers, inline.
struct SmallInts {
  std::array<int64_t, kMaxRank> v{};
  int n = 0;
  int64_t operator[](int i) const { return v[static_cast<size_t>(i)]; }
  int64_t& operator[](int i) { return v[static_cast<size_t>(i)]; }
};

/// Row-major strides of a shape, in elements.
SmallInts strides_of(const Shape& shape);

/// A 1-D (or scalar) int32 or int64 tensor as numbers; InvalidArgument naming `what` for another type.
std::vector<int64_t> read_ints(const TensorView& t, std::string_view what);
/// The one element of an int32 or int64 (or bool) tensor; InvalidArgument naming `what` when it holds another number of
/// them.
int64_t read_scalar_int(const TensorView& t, std::string_view what);
bool read_scalar_bool(const TensorView& t, std::string_view what);
/// Element i of an int32 or int64 tensor; the caller has checked that there is one.
int64_t read_int(const TensorView& t, int64_t i, std::string_view what);
/// The first element of a numeric tensor as double.
double read_number(const TensorView& t, std::string_view what);
/// An int32 or int64 vector of at most kMaxRank elements, without allocating.
SmallInts read_small_ints(const TensorView& t, std::string_view what);
SmallInts small_ints(const std::vector<int64_t>& v, std::string_view what);

/// Copies n elements; works for strings too.
template <typename T>
void copy_elements(const T* src, int64_t n, T* dst) {
  std::copy(src, src + n, dst);
}
/// Copies a whole tensor of any type into memory of the same type and size.
void copy_tensor(const TensorView& src, const MutableTensorView& dst);

/// Input i, present; InvalidArgument "input i (what) is missing" otherwise.
const TensorView& need_input(const OpContext& ctx, size_t i, std::string_view what);
/// InvalidArgument unless both have one type.
void same_dtype(const TensorView& a, const TensorView& b);

/// Lays several pieces out in the one scratch block of a run: add them all, then take the block, then ask for each.
class ScratchPlan {
 public:
  /// Offset of a new piece, 64-byte aligned.
  int64_t add(int64_t bytes) {
    const int64_t at = total_;
    total_ = checked_add<int64_t>(at, checked_add<int64_t>(bytes, 63) / 64 * 64);
    return at;
  }
  template <typename T>
  int64_t add_array(int64_t n) {
    return add(checked_mul<int64_t>(n, sizeof(T)));
  }
  void take(OpContext& ctx) { base_ = total_ > 0 ? static_cast<std::byte*>(ctx.scratch(total_)) : nullptr; }
  template <typename T = void>
  T* at(int64_t offset) const {
    return static_cast<T*>(static_cast<void*>(base_ + offset));
  }

 private:
  int64_t total_ = 0;
  std::byte* base_ = nullptr;
};

/// Axes that an attribute gives up to some opset and an input from there on (Reduce*, Squeeze, Unsqueeze, ...).
class AxesArgument {
 public:
  /// Reads attribute `name` when the node has it; else input `slot` at run time.
  AxesArgument(const Node& node, size_t slot, std::string_view name = "axes");
  bool given(const OpContext& ctx) const { return from_attribute_ || ctx.has_input(slot_); }
  SmallInts read(const OpContext& ctx) const;

 private:
  size_t slot_;
  bool from_attribute_;
  SmallInts values_;
};

}  // namespace assay
