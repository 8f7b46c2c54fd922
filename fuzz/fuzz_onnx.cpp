#include <cstddef>
#include <cstdint>
#include <span>

#include "formats/onnx_read.h"
#include "formats/onnx_write.h"
#include "graph/passes/inline_functions.h"

/// Any bytes as an ONNX model: refused with an Error, or read, consistent, writable and the same when read again.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay;
  try {
    Model model = read_onnx(std::as_bytes(std::span(data, size)), "/nonexistent");
    model.graph.verify();
    std::string bytes;
    try {
      bytes = onnx_bytes(model);
    } catch (const Error& e) {
      if (e.code() == ErrorCode::kInternal) throw;
      return 0;
    }
    const Model again = read_onnx(std::as_bytes(std::span(bytes)), "/nonexistent");
    if (onnx_bytes(again) != bytes) __builtin_trap();
    inline_functions(model);
    model.graph.verify();
  } catch (const Error& e) {
    if (e.code() == ErrorCode::kInternal) __builtin_trap();
  }
  return 0;
}
