#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "vision/image.h"
#include "vision/preprocess.h"
#include "workloads/data/read.h"

/// The first byte chooses the reader and its options, the rest is the file: every data reader, picture headers and
/// preprocessor configs.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay;
  using workloads::DataFormat;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  constexpr DataFormat kFormats[] = {DataFormat::kSquad, DataFormat::kCsv,       DataFormat::kTsv,
                                     DataFormat::kJson,  DataFormat::kJsonLines, DataFormat::kConll};
  const unsigned choice = data[0] % 8u;
  const unsigned variant = data[0] / 8u;
  try {
    if (choice == 6) {
      vision::read_image_header(std::as_bytes(std::span(text.data(), text.size())));
    } else if (choice == 7) {
      vision::ImagePreprocessing::parse(text).describe();
    } else {
      workloads::ReadOptions options;
      options.format = kFormats[choice];
      if (variant & 1u) options.quoting = true;
      if (variant & 2u) options.header = (variant & 4u) != 0;
      if (variant & 8u) options.max_rows = 3;
      if (variant & 16u) options.label_column = 1;
      const workloads::Dataset rows = workloads::parse_dataset(text, "fuzz", options);
      for (const auto& row : rows.rows)
        if (row.size() != rows.columns.size()) __builtin_trap();
    }
  } catch (const Error& e) {
    if (e.code() == ErrorCode::kInternal) __builtin_trap();
  }
  return 0;
}
