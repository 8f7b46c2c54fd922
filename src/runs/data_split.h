#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "workloads/data/dataset.h"
#include "workloads/data/read.h"

namespace assay::runs {

/// A file with the rows wanted of it, as in "train.json[:100]": Python's slice without a step, negative ends counting
/// from the back.
struct DataSplit {
  std::string file;
  std::optional<int64_t> begin, end;
};

/// InvalidArgument naming the text when the brackets hold no slice.
DataSplit parse_split(const std::string& text);

/// Reads the split `text` of a data set at `path` (a folder that holds the file, or the file itself when `text` is
/// absent or only a slice) and keeps its rows.
workloads::Dataset read_split(const std::filesystem::path& path, const std::optional<std::string>& text,
                              const workloads::ReadOptions& options = {});

}  // namespace assay::runs
