// Run files: whatever the text, an Error or a checked sweep.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "runs/run_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto run = assay::runs::parse_run_file({reinterpret_cast<const char*>(data), size}, "fuzz.yaml");
    if (run.cells() > 0) run.config(run.cells() - 1);
  } catch (const assay::Error&) {
  }
  return 0;
}
