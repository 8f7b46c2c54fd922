#pragma once

#include "graph/graph.h"

namespace onnx {
class TypeProto;
}  // namespace onnx

namespace assay {

/// The type a TypeProto states. Kinds other than tensors are kept serialized in TensorType::other. BadFile for an
/// element type that does not exist or a negative size (-1, which old exporters write for "unknown", is unknown).
TensorType type_from_proto(const onnx::TypeProto& proto);
/// The same back; false (and nothing written) when the type says nothing.
bool type_to_proto(const TensorType& type, onnx::TypeProto& proto);

}  // namespace assay
