#include "formats/onnx_tensor.h"

#include <onnx/onnx-data.pb.h>
#include <onnx/onnx-ml.pb.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>

#include "base/checked.h"

namespace assay {
namespace {

// A sparse tensor may claim any size in a few bytes; beyond this, and beyond what is stored, it is refused.
constexpr int64_t kDenseLimitBytes = int64_t{1} << 28;

DType dtype_of(const onnx::TensorProto& proto) {
  const auto dtype = dtype_from_onnx(proto.data_type());
  if (dtype) return *dtype;
  if (onnx::TensorProto::DataType_IsValid(proto.data_type()) && proto.data_type() != 0)
    fail(ErrorCode::kUnsupported, "element type {} is not supported",
         onnx::TensorProto::DataType_Name(static_cast<onnx::TensorProto::DataType>(proto.data_type())));
  fail(ErrorCode::kBadFile, "{} is not an element type", proto.data_type());
}

template <typename Dims>
Shape shape_of(const Dims& dims) {
  require(dims.size() <= kMaxRank, ErrorCode::kUnsupported, "rank {} is beyond the {} supported", dims.size(),
          kMaxRank);
  Shape shape;
  for (int64_t d : dims) {
    require(d >= 0, ErrorCode::kBadFile, "the shape holds the negative size {}", d);
    shape.push_back(d);
  }
  return shape;
}

size_t alignment_of(DType dtype) {
  const int bits = bits_of(dtype);
  if (dtype == DType::kComplex64) return 4;
  return bits <= 8 ? 1 : std::min<size_t>(static_cast<size_t>(bits) / 8, 8);
}

/// A window on `bytes`, or a copy where the window would not do: misaligned, or booleans that are neither 0 nor 1.
Tensor window(DType dtype, const Shape& shape, std::span<const std::byte> bytes, std::shared_ptr<const void> keeper) {
  const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % alignment_of(dtype) == 0;
  const bool clean = dtype != DType::kBool || std::all_of(bytes.begin(), bytes.end(), [](std::byte b) {
                       return b == std::byte{0} || b == std::byte{1};
                     });
  if (keeper != nullptr && aligned && clean && !bytes.empty()) return {dtype, shape, bytes.data(), std::move(keeper)};
  Tensor copy(dtype, shape);
  auto* out = static_cast<std::byte*>(copy.mutable_view().data);
  if (!bytes.empty()) std::memcpy(out, bytes.data(), bytes.size());
  if (!clean) std::transform(out, out + bytes.size(), out, [](std::byte b) { return std::byte{b != std::byte{0}}; });
  return copy;
}

void require_count(int64_t found, int64_t wanted, std::string_view field) {
  require(found == wanted, ErrorCode::kBadFile, "{} holds {} values, the shape wants {}", field, found, wanted);
}

/// Values of a typed field stored as `To`; anything that does not fit is a fault of the file.
template <typename To, typename Field>
Tensor narrow(DType dtype, const Shape& shape, const Field& field, int64_t wanted, std::string_view name,
              int64_t lowest = std::numeric_limits<To>::lowest()) {
  require_count(field.size(), wanted, name);
  Tensor t(dtype, shape);
  auto* out = static_cast<std::byte*>(t.mutable_view().data);
  for (const auto v : field) {
    const bool fits = std::in_range<To>(v) || (lowest < 0 && std::cmp_less(v, 0) && std::cmp_greater_equal(v, lowest));
    require(fits, ErrorCode::kBadFile, "{} holds {}, which {} cannot", name, v, to_string(dtype));
    const auto narrowed = static_cast<To>(v);
    std::memcpy(out, &narrowed, sizeof(To));
    out += sizeof(To);
  }
  return t;
}

template <typename Field>
Tensor copy_field(DType dtype, const Shape& shape, const Field& field, int64_t wanted, std::string_view name) {
  require_count(field.size(), wanted, name);
  Tensor t(dtype, shape);
  if (wanted > 0) std::memcpy(t.mutable_view().data, field.data(), static_cast<size_t>(wanted) * sizeof(*field.data()));
  return t;
}

Tensor typed_fields(onnx::TensorProto& p, DType dtype, const Shape& shape) {
  const int64_t n = shape.elements();
  switch (dtype) {
    case DType::kFloat32:
      return copy_field(dtype, shape, p.float_data(), n, "float_data");
    case DType::kComplex64:
      return copy_field(dtype, shape, p.float_data(), checked_mul<int64_t>(n, 2), "float_data");
    case DType::kFloat64:
      return copy_field(dtype, shape, p.double_data(), n, "double_data");
    case DType::kComplex128:
      return copy_field(dtype, shape, p.double_data(), checked_mul<int64_t>(n, 2), "double_data");
    case DType::kInt64:
      return copy_field(dtype, shape, p.int64_data(), n, "int64_data");
    case DType::kUint64:
      return copy_field(dtype, shape, p.uint64_data(), n, "uint64_data");
    case DType::kUint32:
      return narrow<uint32_t>(dtype, shape, p.uint64_data(), n, "uint64_data");
    case DType::kInt32:
      return copy_field(dtype, shape, p.int32_data(), n, "int32_data");
    case DType::kInt16:
      return narrow<int16_t>(dtype, shape, p.int32_data(), n, "int32_data");
    case DType::kUint16:
    case DType::kFloat16:
    case DType::kBfloat16:
      return narrow<uint16_t>(dtype, shape, p.int32_data(), n, "int32_data");
    case DType::kInt8:
      return narrow<int8_t>(dtype, shape, p.int32_data(), n, "int32_data");
    case DType::kUint8:
      return narrow<uint8_t>(dtype, shape, p.int32_data(), n, "int32_data");
    case DType::kBool: {
      require_count(p.int32_data_size(), n, "int32_data");
      Tensor t(dtype, shape);
      bool* out = t.mutable_view().as<bool>();
      for (int i = 0; i < p.int32_data_size(); ++i) out[i] = p.int32_data(i) != 0;
      return t;
    }
    default:  // 8-bit floats and packed types: one byte an entry, which some writers sign-extend
      return narrow<uint8_t>(dtype, shape, p.int32_data(), bytes_of(dtype, n), "int32_data", -128);
  }
}

int64_t parse_size(const std::string& text, std::string_view key) {
  int64_t v = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  require(error == std::errc{} && end == text.data() + text.size() && v >= 0, ErrorCode::kBadFile,
          "external data: {} '{}' is not a size in bytes", key, text);
  return v;
}

Tensor external(const onnx::TensorProto& p, DType dtype, const Shape& shape, ExternalFiles* files) {
  require(files != nullptr, ErrorCode::kUnsupported, "external data is not allowed here");
  require(dtype != DType::kString, ErrorCode::kBadFile, "a string tensor cannot be external");
  std::string location;
  int64_t offset = 0;
  const int64_t bytes = bytes_of(dtype, shape.elements());
  int64_t length = bytes;
  for (const auto& entry : p.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = parse_size(entry.value(), "offset");
    if (entry.key() == "length") length = parse_size(entry.value(), "length");
  }
  require(!location.empty(), ErrorCode::kBadFile, "external data without a location");
  require(length == bytes, ErrorCode::kBadFile, "external data of {} bytes, where {}{} takes {}", length,
          to_string(dtype), shape.str(), bytes);
  const auto file = files->open(location);
  const auto all = file->bytes();
  const int64_t end = checked_add(offset, bytes);
  require(end <= static_cast<int64_t>(all.size()), ErrorCode::kBadFile,
          "external file '{}' is {} bytes short: the tensor takes bytes {} to {}, the file has {}", location,
          end - static_cast<int64_t>(all.size()), offset, end, all.size());
  return window(dtype, shape, all.subspan(static_cast<size_t>(offset), static_cast<size_t>(bytes)), file);
}

Tensor convert(onnx::TensorProto& p, ExternalFiles* files, const RawData& beside) {
  require(!p.has_segment(), ErrorCode::kUnsupported, "a tensor stored in segments is not supported");
  const DType dtype = dtype_of(p);
  const Shape shape = shape_of(p.dims());
  const int64_t n = shape.elements();
  if (p.data_location() == onnx::TensorProto::EXTERNAL) return external(p, dtype, shape, files);
  if (dtype == DType::kString) {
    require(!p.has_raw_data() && beside.bytes.empty(), ErrorCode::kBadFile, "a string tensor cannot have raw_data");
    require_count(p.string_data_size(), n, "string_data");
    return Tensor::strings(shape, {p.string_data().begin(), p.string_data().end()});
  }
  // Some writers leave an empty raw_data beside a filled typed field.
  const bool typed =
      p.float_data_size() + p.int32_data_size() + p.int64_data_size() + p.double_data_size() + p.uint64_data_size() > 0;
  const bool inside = beside.bytes.empty();
  if (inside && (!p.has_raw_data() || (p.raw_data().empty() && typed))) return typed_fields(p, dtype, shape);
  const int64_t bytes = bytes_of(dtype, n);
  const size_t found = inside ? p.raw_data().size() : beside.bytes.size();
  require(static_cast<int64_t>(found) == bytes, ErrorCode::kBadFile, "raw_data has {} bytes, where {}{} takes {}",
          found, to_string(dtype), shape.str(), bytes);
  if (!inside) {
    Tensor t = window(dtype, shape, beside.bytes, beside.keeper);
    if (beside.keeper != nullptr && t.data() != beside.bytes.data()) beside.keeper->drop(beside.bytes);
    return t;
  }
  auto keeper = std::make_shared<const std::string>(std::move(*p.mutable_raw_data()));
  return window(dtype, shape, std::as_bytes(std::span(*keeper)), keeper);
}

template <typename Proto>
Proto parse(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  Proto proto;
  if (file->bytes().size() > std::numeric_limits<int>::max() ||
      !proto.ParseFromArray(file->bytes().data(), static_cast<int>(file->bytes().size())))
    throw Error(ErrorCode::kBadFile, "is not the protobuf message expected here").at("file", path.string());
  return proto;
}

template <typename Fn>
auto with_file(const std::filesystem::path& path, const Fn& fn) {
  try {
    return fn();
  } catch (Error& e) {
    throw e.at("file", path.string());
  }
}

std::vector<Tensor> sequence(onnx::SequenceProto& s) {
  require(
      s.sparse_tensor_values_size() + s.sequence_values_size() + s.map_values_size() + s.optional_values_size() == 0,
      ErrorCode::kUnsupported, "only sequences of tensors are supported");
  std::vector<Tensor> out;
  for (auto& t : *s.mutable_tensor_values()) out.push_back(tensor_from_proto(t, nullptr));
  return out;
}

}  // namespace

std::vector<std::filesystem::path> ExternalFiles::paths() const {
  std::vector<std::filesystem::path> out;
  for (const auto& [location, file] : files_) out.push_back(file->path());
  return out;
}

std::shared_ptr<const MappedFile> ExternalFiles::open(const std::string& location) {
  const auto known = files_.find(location);
  if (known != files_.end()) return known->second;
  namespace fs = std::filesystem;
  const fs::path relative(location);
  std::error_code ec;
  const fs::path base = fs::weakly_canonical(base_dir_.empty() ? fs::path(".") : base_dir_, ec);
  const fs::path resolved = ec ? fs::path() : fs::weakly_canonical(base / relative, ec);
  const auto below = [&](const fs::path& folder) {
    return !folder.empty() &&
           std::mismatch(folder.begin(), folder.end(), resolved.begin(), resolved.end()).first == folder.end();
  };
  const bool climbs = std::find(relative.begin(), relative.end(), fs::path("..")) != relative.end();
  require(!ec && !relative.is_absolute() && !climbs && location.find('\0') == std::string::npos &&
              (below(base) || below(real_dir_)),
          ErrorCode::kBadFile, "external file '{}' is outside the model's folder", location);
  return files_.emplace(location, MappedFile::open(resolved)).first->second;
}

Tensor tensor_from_proto(onnx::TensorProto& proto, ExternalFiles* files, const RawData& beside) {
  try {
    return convert(proto, files, beside);
  } catch (Error& e) {
    throw e.at("tensor", proto.name());
  }
}

Tensor tensor_from_proto(onnx::SparseTensorProto& proto, ExternalFiles* files) {
  const Tensor values = tensor_from_proto(*proto.mutable_values(), files);
  const Tensor indices = tensor_from_proto(*proto.mutable_indices(), files);
  try {
    const Shape shape = shape_of(proto.dims());
    require(values.dtype() != DType::kString && bits_of(values.dtype()) >= 8, ErrorCode::kUnsupported,
            "a sparse tensor of {} is not supported", to_string(values.dtype()));
    require(values.shape().rank() == 1 && indices.dtype() == DType::kInt64, ErrorCode::kBadFile,
            "a sparse tensor needs a list of values and int64 indices, not {} and {}", values.shape().str(),
            to_string(indices.dtype()));
    const int64_t n = values.elements();
    const bool linear = indices.shape() == Shape{n};
    require(linear || indices.shape() == Shape{n, shape.rank()}, ErrorCode::kBadFile,
            "sparse indices of shape {} do not fit {} values in {}", indices.shape().str(), n, shape.str());
    const int64_t total = shape.elements();
    const int64_t bytes = bytes_of(values.dtype(), total);
    require(bytes <= kDenseLimitBytes, ErrorCode::kResourceExhausted,
            "a sparse tensor of {} bytes when dense is beyond the limit of {}", bytes, kDenseLimitBytes);
    Tensor dense(values.dtype(), shape);
    auto* out = static_cast<std::byte*>(dense.mutable_view().data);
    const auto size = static_cast<size_t>(bits_of(values.dtype()) / 8);
    const auto ids = indices.values<int64_t>();
    for (int64_t i = 0; i < n; ++i) {
      int64_t flat = 0;
      if (linear) {
        flat = ids[static_cast<size_t>(i)];
      } else {
        for (int d = 0; d < shape.rank(); ++d) {
          const int64_t x = ids[static_cast<size_t>(i * shape.rank() + d)];
          require(x >= 0 && x < shape[d], ErrorCode::kBadFile, "sparse index {} is outside axis {} of {}", x, d,
                  shape.str());
          flat = flat * shape[d] + x;
        }
      }
      require(flat >= 0 && flat < total, ErrorCode::kBadFile, "sparse index {} is outside {}", flat, shape.str());
      std::memcpy(out + static_cast<size_t>(flat) * size, values.raw().data() + static_cast<size_t>(i) * size, size);
    }
    return dense;
  } catch (Error& e) {
    throw e.at("tensor", proto.values().name());
  }
}

void type_and_shape_to_proto(const Tensor& tensor, onnx::TensorProto& proto) {
  proto.set_data_type(static_cast<int32_t>(tensor.dtype()));
  for (int64_t d : tensor.shape()) proto.add_dims(d);
}

void tensor_to_proto(const Tensor& tensor, onnx::TensorProto& proto) {
  type_and_shape_to_proto(tensor, proto);
  if (tensor.dtype() == DType::kString) {
    for (int64_t i = 0; i < tensor.elements(); ++i) proto.add_string_data(tensor.string_at(i));
    return;
  }
  proto.set_raw_data(tensor.data(), static_cast<size_t>(tensor.bytes()));
}

Tensor read_tensor_proto(const std::filesystem::path& path) {
  return with_file(path, [&] {
    auto proto = parse<onnx::TensorProto>(path);
    return tensor_from_proto(proto, nullptr);
  });
}

std::vector<Tensor> read_sequence_proto(const std::filesystem::path& path) {
  return with_file(path, [&] {
    auto proto = parse<onnx::SequenceProto>(path);
    return sequence(proto);
  });
}

OptionalContent read_optional_proto(const std::filesystem::path& path) {
  return with_file(path, [&] {
    auto proto = parse<onnx::OptionalProto>(path);
    OptionalContent out;
    if (proto.has_tensor_value()) {
      out.present = true;
      out.tensors.push_back(tensor_from_proto(*proto.mutable_tensor_value(), nullptr));
    } else if (proto.has_sequence_value()) {
      out.present = out.sequence = true;
      out.tensors = sequence(*proto.mutable_sequence_value());
    } else {
      require(!proto.has_sparse_tensor_value() && !proto.has_map_value() && !proto.has_optional_value(),
              ErrorCode::kUnsupported, "only optional tensors and sequences are supported");
    }
    return out;
  });
}

}  // namespace assay
