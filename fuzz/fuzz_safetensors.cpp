#include <cstddef>
#include <cstdint>
#include <span>

#include "formats/safetensors.h"

/// Any bytes as a safetensors file: refused with an Error, or every tensor can be read to its last byte.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay;
  try {
    const Safetensors file = Safetensors::parse(std::as_bytes(std::span(data, size)), nullptr);
    unsigned sum = 0;
    for (const auto& [name, tensor] : file.tensors())
      for (const std::byte b : tensor.raw()) sum += static_cast<unsigned>(b);
    volatile unsigned sink = sum;
    (void)sink;
  } catch (const Error& e) {
    if (e.code() == ErrorCode::kInternal) __builtin_trap();
  }
  return 0;
}
