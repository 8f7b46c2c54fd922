// quantize_file MODEL OUT SCHEME.json [RANGES.json]: quantizes a file by a scheme and prints the plan as JSON. With a
// static scheme and no ranges it writes the float model to OUT and prints the names of the tensors to observe. The
// referee scripts drive it.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "base/file.h"
#include "formats/onnx_read.h"
#include "formats/onnx_write.h"
#include "quant/quantizer.h"

int main(int argc, char** argv) {
  using namespace assay;
  try {
    require(argc == 4 || argc == 5, ErrorCode::kInvalidArgument, "quantize_file MODEL OUT SCHEME.json [RANGES.json]");
    const auto scheme = quant::scheme_from_json(nlohmann::json::parse(read_text(argv[3])));
    quant::Quantizer quantizer(read_onnx(argv[1]), scheme);
    if (scheme.approach == quant::Approach::kStatic && argc == 4) {
      write_onnx(quantizer.float_model(), argv[2]);
      fmt::print("{}\n", nlohmann::json(quantizer.tensors_to_observe()).dump());
      return 0;
    }
    quant::Calibration ranges;
    if (argc == 5) ranges = quant::calibration_from_json(nlohmann::json::parse(read_text(argv[4])));
    write_onnx(quantizer.quantize(argc == 5 ? &ranges : nullptr, 2), argv[2]);
    fmt::print("{}\n", quant::to_json(quantizer.plan()).dump());
  } catch (const Error& e) {
    fmt::print(stderr, "{}\n", e.what());
    return exit_status(e.code());
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}
