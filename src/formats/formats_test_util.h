#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace assay {

inline const std::filesystem::path kSourceDir = ASSAY_SOURCE_DIR;
inline const std::filesystem::path kPython = kSourceDir / "build/venv/bin/python";

/// A test with a folder of its own, gone afterwards.
class FolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    std::string name = fmt::format("assay_{}_{}_{}", info->test_suite_name(), info->name(), ::getpid());
    std::replace(name.begin(), name.end(), '/', '_');
    folder_ = std::filesystem::temp_directory_path() / name;
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
};

/// Runs a Python script of the project; what it prints is the message of a failure.
inline ::testing::AssertionResult python(const std::filesystem::path& script, const std::vector<std::string>& arguments,
                                         const std::filesystem::path& log) {
  std::string command = fmt::format("'{}' -W ignore '{}'", kPython.string(), (kSourceDir / script).string());
  for (const auto& a : arguments) command += fmt::format(" '{}'", a);
  const int status = std::system(fmt::format("{} > '{}' 2>&1", command, log.string()).c_str());
  return (status == 0 ? ::testing::AssertionSuccess() : ::testing::AssertionFailure()) << read_text(log);
}

}  // namespace assay
