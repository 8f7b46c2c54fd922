#include "formats/onnx_type.h"

#include <onnx/onnx-ml.pb.h>

namespace assay {

TensorType type_from_proto(const onnx::TypeProto& proto) {
  TensorType type;
  if (proto.value_case() == onnx::TypeProto::VALUE_NOT_SET) return type;
  if (!proto.has_tensor_type()) {
    type.other = proto.SerializeAsString();
    return type;
  }
  const auto& tensor = proto.tensor_type();
  if (tensor.elem_type() != 0) {
    const auto dtype = dtype_from_onnx(tensor.elem_type());
    const bool named = onnx::TensorProto::DataType_IsValid(tensor.elem_type());
    require(dtype.has_value(), named ? ErrorCode::kUnsupported : ErrorCode::kBadFile, "element type {} {}",
            tensor.elem_type(), named ? "is not supported" : "does not exist");
    type.dtype = *dtype;
  }
  if (!tensor.has_shape()) return type;
  type.dims.emplace();
  for (const auto& d : tensor.shape().dim()) {
    Dim dim;
    if (d.has_dim_value()) {
      require(d.dim_value() >= -1, ErrorCode::kBadFile, "the shape holds the negative size {}", d.dim_value());
      dim.size = d.dim_value();
    } else {
      dim.symbol = d.dim_param();
    }
    type.dims->push_back(std::move(dim));
  }
  return type;
}

bool type_to_proto(const TensorType& type, onnx::TypeProto& proto) {
  if (!type.other.empty()) {
    require(proto.ParseFromString(type.other), ErrorCode::kInternal, "a kept type is not a TypeProto");
    return true;
  }
  if (type.dtype == DType::kUndefined && !type.dims) return false;
  auto& tensor = *proto.mutable_tensor_type();
  if (type.dtype != DType::kUndefined) tensor.set_elem_type(static_cast<int32_t>(type.dtype));
  if (!type.dims) return true;
  auto& shape = *tensor.mutable_shape();
  for (const Dim& d : *type.dims) {
    auto& dim = *shape.add_dim();
    if (d.known()) {
      dim.set_dim_value(d.size);
    } else if (!d.symbol.empty()) {
      dim.set_dim_param(d.symbol);
    }
  }
  return true;
}

}  // namespace assay
