#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "base/checked.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/nearest.h"
#include "base/parallel.h"
#include "base/rng.h"

namespace assay {
namespace {

TEST(Error, NamesWhereOutermostFirst) {
  Error e(ErrorCode::kBadFile, "scale is 0");
  e.at("node", "q").at("file", "m.onnx");
  EXPECT_STREQ(e.what(), "file 'm.onnx', node 'q': scale is 0");
  EXPECT_EQ(to_string(e.code()), "BadFile");
  EXPECT_EQ(exit_status(e.code()), 3);
}

TEST(Checked, OverflowIsAnErrorNotAWrap) {
  EXPECT_EQ(checked_mul<int64_t>(3, 4), 12);
  EXPECT_THROW(checked_mul<int64_t>(INT64_MAX, 2), Error);
  EXPECT_THROW(checked_add<uint32_t>(UINT32_MAX, 1), Error);
  EXPECT_THROW(checked_cast<uint8_t>(256), Error);
}

TEST(File, AtomicWriteLeavesOldFileWhenFillFails) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "assay_file_test";
  std::filesystem::remove_all(folder);
  write_text(folder / "a", "old");
  EXPECT_THROW(write_atomically(folder / "a",
                                [](std::ostream& out) {
                                  out << "new";
                                  fail(ErrorCode::kInternal, "half way");
                                }),
               Error);
  EXPECT_EQ(read_text(folder / "a"), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

TEST(File, ALinkIsFollowedAPipeIsWrittenToAndAFolderIsRefused) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "assay_targets";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  write_text(folder / "real", "old");
  std::filesystem::create_symlink(folder / "real", folder / "link");
  write_text(folder / "link", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(read_text(folder / "real"), "new");

  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  const int reader = ::open((folder / "pipe").c_str(), O_RDONLY | O_NONBLOCK);
  write_text(folder / "pipe", "through");
  char got[16] = {};
  EXPECT_EQ(::read(reader, got, sizeof(got)), 7);
  ::close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(folder / "pipe"));
  EXPECT_THROW(MappedFile::open(folder / "pipe"), Error) << "and reading one does not wait for a writer";

  EXPECT_THROW(write_text(folder, "x"), Error);
  EXPECT_THROW(require_file_target(folder / ""), Error);
}

TEST(File, MissingFileIsNotFoundAndNamed) {
  try {
    MappedFile::open("/nonexistent/x");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kNotFound);
    EXPECT_NE(std::string(e.what()).find("/nonexistent/x"), std::string::npos);
  }
}

TEST(Hash, DependsOnContentOnly) {
  EXPECT_EQ(hash_text("abc"), hash_text(std::string("abc")));
  EXPECT_NE(hash_text("abc").hex(), hash_text("abd").hex());
}

TEST(ParallelFor, CoversEveryItemOnce) {
  for (int threads : {1, 2, 3}) {
    for (int64_t n : {0, 1, 7, 64, 65}) {
      std::vector<int> seen(static_cast<size_t>(n), 0);
      parallel_for(threads, n, 8, [&](int64_t b, int64_t e) {
        for (int64_t i = b; i < e; ++i) seen[static_cast<size_t>(i)]++;
      });
      for (int s : seen) EXPECT_EQ(s, 1);
    }
  }
}

}  // namespace
}  // namespace assay

namespace assay {
namespace {

TEST(Nearest, SuggestsOnlyWhatIsClose) {
  const std::vector<std::string> names = {"quantization_approach", "operators_to_quantize", "task"};
  EXPECT_EQ(nearest_name("operator_to_quantise", names), "operators_to_quantize");
  EXPECT_EQ(nearest_name("tsak", names), "task");
  EXPECT_EQ(nearest_name("completely different", names), "");
  EXPECT_EQ(nearest_hint("tsk", names), "; did you mean 'task'?");
  EXPECT_EQ(nearest_hint("zzzzzzzz", names), "; known: quantization_approach, operators_to_quantize, task");
  EXPECT_TRUE(nearest_hint("zzzzzzzz", std::vector<std::string>(100, "q")).ends_with(" and 60 more"));
}

}  // namespace
}  // namespace assay
