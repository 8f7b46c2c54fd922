#include "formats/registry.h"

#include <gmock/gmock.h>

#include "formats/formats_test_util.h"
#include "formats/onnx_write.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

class RegistryTest : public FolderTest {
 protected:
  std::string refusal(const std::filesystem::path& path) {
    try {
      load_model(path);
    } catch (const Error& e) {
      return e.what();
    }
    return "accepted";
  }
  void write_model(const std::filesystem::path& path) {
    Model m;
    m.opsets[""] = 17;
    const ValueId x = m.graph.add_input("x", {DType::kFloat32, std::vector<Dim>{{1, ""}}, {}});
    m.graph.add_output(m.graph.node(m.graph.add_node("Neg", {x}, 1, "n", "", 17)).outputs[0]);
    write_onnx(m, path);
  }
};

TEST_F(RegistryTest, FindsOnnxByContentAndInAFolderWithItsConfig) {
  write_model(folder_ / "model.onnx");
  write_model(folder_ / "no_extension");
  write_text(folder_ / "config.json",
             R"({"model_type":"bert","architectures":["BertForTokenClassification"],"id2label":{"1":"B","0":"O"}})");
  write_text(folder_ / "tokenizer_config.json", R"({"do_lower_case":true})");
  for (const char* name : {"", "model.onnx", "no_extension"}) {
    const LoadedModel m = load_model(folder_ / name);
    EXPECT_EQ(m.format, "onnx");
    EXPECT_EQ(m.info.task, "token-classification");
    EXPECT_THAT(m.info.labels, ::testing::ElementsAre("O", "B"));
    EXPECT_EQ(m.info.do_lower_case, true);
    EXPECT_TRUE(m.info.tokenizer.empty());
  }
}

TEST_F(RegistryTest, SaysWhatItFoundAndWhatItTakes) {
  write_text(folder_ / "a.gguf", std::string("GGUF\x03\0\0\0", 8));
  write_text(folder_ / "b.bin", "PK\x03\x04zip");
  write_text(folder_ / "c.onnx", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
  write_text(folder_ / "d.html", "<!DOCTYPE html>");
  write_text(folder_ / "e", "");
  write_text(folder_ / "dir/readme.md", "x");
  EXPECT_THAT(refusal(folder_ / "a.gguf"), HasSubstr("GGUF"));
  EXPECT_THAT(refusal(folder_ / "b.bin"), HasSubstr("ZIP"));
  EXPECT_THAT(refusal(folder_ / "c.onnx"), HasSubstr("git lfs pull"));
  EXPECT_THAT(refusal(folder_ / "d.html"), HasSubstr("web page"));
  EXPECT_THAT(refusal(folder_ / "e"), HasSubstr("empty file"));
  EXPECT_THAT(refusal(folder_ / "dir"), HasSubstr("readme.md"));
  EXPECT_THAT(refusal(folder_ / "dir"), HasSubstr(".onnx file"));
  EXPECT_THAT(refusal(folder_ / "absent"), HasSubstr("absent"));
}

}  // namespace
}  // namespace assay
