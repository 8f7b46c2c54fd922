#include "tensor/tensor.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace assay {
namespace {

constexpr std::align_val_t kAlignment{64};
constexpr size_t kHugePage = size_t{2} << 20;

/// Zeroed memory straight from the system, on huge pages where it has them: weights and arenas are read from one end to
/// the other on every run, and with small pages the prefetcher stops and the TLB misses every 4 KiB.
std::shared_ptr<void> map_huge(size_t bytes) {
  const size_t mapped = (bytes + kHugePage - 1) / kHugePage * kHugePage + kHugePage;
  void* base = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return nullptr;
  const size_t skip = (kHugePage - reinterpret_cast<uintptr_t>(base) % kHugePage) % kHugePage;
  void* p = static_cast<std::byte*>(base) + skip;
  madvise(p, mapped - kHugePage, MADV_HUGEPAGE);  // advice: small pages serve as well
  return {p, [base, mapped](void*) { munmap(base, mapped); }};
}

/// Under AddressSanitizer every tensor comes from the heap, whose ends it watches.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kMapsLarge = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kMapsLarge = false;
#else
constexpr bool kMapsLarge = true;
#endif
#else
constexpr bool kMapsLarge = true;
#endif

std::shared_ptr<void> allocate(int64_t bytes) {
  if (kMapsLarge && bytes >= static_cast<int64_t>(2 * kHugePage)) {
    auto memory = map_huge(static_cast<size_t>(bytes));
    require(memory != nullptr, ErrorCode::kResourceExhausted, "no memory for a tensor of {} bytes", bytes);
    return memory;
  }
  void* p = ::operator new(static_cast<size_t>(std::max<int64_t>(bytes, 1)), kAlignment, std::nothrow);
  require(p != nullptr, ErrorCode::kResourceExhausted, "no memory for a tensor of {} bytes", bytes);
  std::memset(p, 0, static_cast<size_t>(bytes));
  return {p, [](void* q) { ::operator delete(q, kAlignment); }};
}

template <typename T>
void convert(const TensorView& t, float* out) {
  const auto in = t.values<T>();
  std::transform(in.begin(), in.end(), out, [](T v) { return static_cast<float>(v); });
}

}  // namespace

Tensor::Tensor(DType dtype, const Shape& shape) : dtype_(dtype), owned_(true), shape_(shape) {
  if (dtype == DType::kString) {
    auto values = std::make_shared<std::vector<std::string>>(static_cast<size_t>(shape.elements()));
    data_ = values->data();
    keeper_ = values;
    return;
  }
  auto memory = allocate(bytes_of(dtype, shape.elements()));
  data_ = memory.get();
  keeper_ = std::move(memory);
}

Tensor::Tensor(DType dtype, const Shape& shape, const void* data, std::shared_ptr<const void> keeper)
    : dtype_(dtype), shape_(shape), data_(data), keeper_(std::move(keeper)) {}

Tensor Tensor::strings(const Shape& shape, std::vector<std::string> values) {
  Tensor t(DType::kString, shape);
  require(static_cast<int64_t>(values.size()) == shape.elements(), ErrorCode::kInvalidArgument,
          "{} values do not fill shape {}", values.size(), shape);
  std::move(values.begin(), values.end(), static_cast<std::string*>(const_cast<void*>(t.data_)));
  return t;
}

MutableTensorView Tensor::mutable_view() {
  require(owned_, ErrorCode::kInternal, "a borrowed tensor is not writable");
  return {dtype_, shape_, const_cast<void*>(data_)};
}

Tensor Tensor::reshaped(const Shape& shape) const {
  require(shape.elements() == elements(), ErrorCode::kInvalidArgument, "shape {} cannot be viewed as {}", shape_,
          shape);
  Tensor t = *this;
  t.shape_ = shape;
  return t;
}

Tensor to_float32(const TensorView& t) {
  Tensor out(DType::kFloat32, t.shape);
  float* p = out.mutable_view().as<float>();
  switch (t.dtype) {
    case DType::kFloat32:
      convert<float>(t, p);
      break;
    case DType::kFloat64:
      convert<double>(t, p);
      break;
    case DType::kFloat16:
      convert<Float16>(t, p);
      break;
    case DType::kBfloat16:
      convert<Bfloat16>(t, p);
      break;
    case DType::kInt8:
      convert<int8_t>(t, p);
      break;
    case DType::kUint8:
      convert<uint8_t>(t, p);
      break;
    case DType::kInt16:
      convert<int16_t>(t, p);
      break;
    case DType::kUint16:
      convert<uint16_t>(t, p);
      break;
    case DType::kInt32:
      convert<int32_t>(t, p);
      break;
    case DType::kUint32:
      convert<uint32_t>(t, p);
      break;
    case DType::kInt64:
      convert<int64_t>(t, p);
      break;
    case DType::kUint64:
      convert<uint64_t>(t, p);
      break;
    case DType::kBool:
      convert<bool>(t, p);
      break;
    default:
      fail(ErrorCode::kUnsupported, "{} cannot be read as float32", to_string(t.dtype));
  }
  return out;
}

}  // namespace assay
