#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace assay::runs {

/// What a fresh process needed for one model.
struct ProcessCost {
  double load_ms = 0;
  int64_t peak_memory_bytes = 0;
};

/// Loads and runs a model once in a process of its own (`executable bench MODEL --duration 0`), so that nothing else
/// counts. Nothing, with the reason in `why`, when that process fails.
std::optional<ProcessCost> measure_in_child(const std::filesystem::path& executable, const std::filesystem::path& model,
                                            int64_t batch, int64_t length, int threads, const std::string& isa,
                                            std::string& why);

}  // namespace assay::runs
