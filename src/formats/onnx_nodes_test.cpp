#include <fstream>

#include "formats/formats_test_util.h"
#include "formats/onnx_read.h"
#include "formats/onnx_write.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

class OnnxNodeTests : public FolderTest {};

/// The models of ONNX's own backend tests: those written by their generator, and the files in the wheel.
std::vector<fs::path> models_of_the_wheel(const fs::path& generated) {
  std::vector<fs::path> out;
  std::vector<fs::path> roots = {generated};
  for (const auto& python : fs::directory_iterator(kSourceDir / "build/venv/lib")) {
    const auto data = python.path() / "site-packages/onnx/backend/test/data";
    if (fs::exists(data)) roots.push_back(data);
  }
  for (const auto& root : roots)
    for (const auto& entry : fs::recursive_directory_iterator(root))
      if (entry.path().extension() == ".onnx") out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

TEST_F(OnnxNodeTests, EveryModelIsWrittenBackAsItWas) {
  if (!fs::exists(kPython)) GTEST_SKIP() << "build/venv is absent: tools/setup.sh makes it";
  const auto generated = kSourceDir / "build/test_data/formats_node_tests";
  ASSERT_TRUE(python("tests/onnx_node/generate.py", {generated.string()}, folder_ / "log"));
  const auto models = models_of_the_wheel(generated);
  ASSERT_GT(models.size(), 1500u);
  std::ofstream list(folder_ / "list");
  int refused = 0;
  for (size_t i = 0; i < models.size(); ++i) {
    try {
      const Model model = read_onnx(models[i]);
      model.graph.verify();
      const std::string bytes = onnx_bytes(model);
      const Model again = read_onnx(std::as_bytes(std::span(bytes)), {});
      EXPECT_EQ(onnx_bytes(again), bytes) << models[i];
      const auto rewritten = folder_ / fmt::format("{}.onnx", i);
      write_onnx(model, rewritten);
      list << models[i].string() << '\t' << rewritten.string() << '\n';
    } catch (const Error& e) {
      // Only what the IR has no place for may be refused, and by that name.
      EXPECT_EQ(e.code(), ErrorCode::kUnsupported) << e.what();
      RecordProperty(fmt::format("refused_{}", refused++), e.what());
    }
  }
  list.close();
  EXPECT_LE(refused, 20);
  std::cout << models.size() << " models, " << refused << " refused as unsupported\n";
  EXPECT_TRUE(python("tests/formats/compare_onnx.py", {(folder_ / "list").string()}, folder_ / "log"));
}

}  // namespace
}  // namespace assay
