#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "vision/image.h"
#include "vision/preprocess.h"
#include "vision/resize.h"

namespace assay::vision {
namespace {

namespace fs = std::filesystem;
const fs::path kSource = ASSAY_SOURCE_DIR;
const fs::path kShared = kSource / ".." / "shared";

uint32_t crc32(const std::vector<uint8_t>& bytes) {
  uint32_t crc = 0xffffffffu;
  for (uint8_t b : bytes) {
    crc ^= b;
    for (int i = 0; i < 8; ++i) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

/// The picture of tests/workloads/pillow_golden.py.
Image pattern(int64_t width, int64_t height) {
  Image image(width, height);
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x)
      for (int64_t c = 0; c < 3; ++c)
        image.row(y)[x * 3 + c] = static_cast<uint8_t>(x * 7 + y * 13 + c * 29 + (x * y) % 31 * 8);
  return image;
}

nlohmann::json golden() { return nlohmann::json::parse(read_text(kSource / "tests/workloads/pillow_golden.json")); }

std::span<const std::byte> bytes(const std::string& text) { return std::as_bytes(std::span(text.data(), text.size())); }

ErrorCode code_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorCode::kInternal;
}

TEST(Resize, EveryFilterEqualsPillowToTheByte) {
  const auto cases = golden()["pattern"];
  ASSERT_GE(cases.size(), 50u);
  for (const auto& c : cases) {
    const auto n = c.get<std::vector<int64_t>>();
    const auto rule = static_cast<Resample>(n[4]);
    const Image out = resize(pattern(n[0], n[1]), n[2], n[3], rule);
    EXPECT_EQ(crc32(out.pixels), n[5]) << c.dump() << " " << to_string(rule);
  }
}

TEST(Resize, AreaOfAnExactHalfIsTheRoundedMean) {
  Image image(2, 2);
  image.pixels = {10, 0, 255, 20, 0, 255, 30, 0, 255, 40, 0, 255};
  EXPECT_THAT(resize(image, 1, 1, Resample::kArea).pixels, testing::ElementsAre(25, 0, 255));
}

TEST(Resize, RefusesEmptyAndHugeTargets) {
  EXPECT_EQ(code_of([] { resize(pattern(4, 4), 0, 4, Resample::kBilinear); }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of([] { resize(pattern(4, 4), 1 << 20, 1 << 20, Resample::kNearest); }),
            ErrorCode::kResourceExhausted);
}

TEST(Crop, OutsideIsBlack) {
  Image image(1, 1);
  image.pixels = {9, 8, 7};
  EXPECT_THAT(crop(image, -1, 0, 3, 1).pixels, testing::ElementsAre(0, 0, 0, 9, 8, 7, 0, 0, 0));
  EXPECT_THAT(crop(image, 5, 5, 1, 1).pixels, testing::ElementsAre(0, 0, 0));
}

TEST(Photos, DecodeAndFitEqualPillowToTheByte) {
  const fs::path folder = kShared / "data/imagenet-100";
  if (!fs::exists(folder)) GTEST_SKIP() << "../shared/data/imagenet-100 is absent";
  const auto config = ImagePreprocessing::load(kShared / "models/efficientnet-lite0");
  const auto all = golden();
  size_t n = 0;
  for (const auto& [name, crc] : all["photos"].items()) {
    const Image image = load_image(folder / name);
    EXPECT_EQ(crc32(image.pixels), all["decoded"][name].get<uint32_t>()) << name << " as decoded";
    EXPECT_EQ(crc32(fit(image, config).pixels), crc.get<uint32_t>()) << name << " after crop and resize";
    ++n;
  }
  EXPECT_EQ(n, 100u);
}

TEST(Decode, SaysWhatIsWrongWithAFile) {
  EXPECT_EQ(code_of([] { decode_image(bytes("GIF89a....")); }), ErrorCode::kUnsupported);
  EXPECT_EQ(code_of([] { decode_image({}); }), ErrorCode::kUnsupported);
  EXPECT_EQ(code_of([] { decode_image(bytes("\xff\xd8\xff\xe0")); }), ErrorCode::kBadFile);
  EXPECT_EQ(code_of([] { load_image("/no/such/file.png"); }), ErrorCode::kNotFound);
}

TEST(Decode, APictureOfImpossibleSizeIsRefusedBeforeDecoding) {
  std::string png("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\x7f\xff\xff\xff\x7f\xff\xff\xff\x08\x02\0\0\0", 29);
  const ImageHeader h = read_image_header(bytes(png));
  EXPECT_EQ(h.width, 0x7fffffff);
  EXPECT_EQ(code_of([&] { decode_image(bytes(png)); }), ErrorCode::kResourceExhausted);
}

TEST(Decode, ACutPhotoNamesTheFileOrGivesAPicture) {
  const fs::path file = kShared / "data/imagenet-100/n01491361_tiger_shark.JPEG";
  if (!fs::exists(file)) GTEST_SKIP() << "../shared/data/imagenet-100 is absent";
  const std::string whole = read_text(file);
  for (size_t n : {size_t{2}, size_t{20}, size_t{200}, size_t{1000}, whole.size() / 2}) {
    try {
      const Image image = decode_image(bytes(whole.substr(0, n)));
      EXPECT_EQ(image.pixels.size(), static_cast<size_t>(image.width * image.height * 3));
    } catch (const Error& e) {
      EXPECT_NE(e.code(), ErrorCode::kInternal);
    }
  }
}

TEST(Config, ReadsTheThreeShapesOfSize) {
  EXPECT_EQ(ImagePreprocessing::parse(R"({"size": 32})").width, 32);
  const auto both = ImagePreprocessing::parse(R"({"size": {"height": 3, "width": 5}})");
  EXPECT_EQ(both.height, 3);
  EXPECT_EQ(both.width, 5);
  const auto shorter = ImagePreprocessing::parse(R"({"size": {"shortest_edge": 256}, "do_center_crop": true,
                                                     "crop_size": {"height": 224, "width": 224}})");
  EXPECT_EQ(shorter.shortest_edge, 256);
  const Image out = fit(pattern(300, 600), shorter);
  EXPECT_EQ(out.width, 224);
  EXPECT_EQ(out.height, 224);
}

TEST(Config, ShortestEdgeRoundsTheLongerSideDown) {
  const Image out = fit(pattern(30, 47), ImagePreprocessing::parse(R"({"size": {"shortest_edge": 20}})"));
  EXPECT_EQ(out.width, 20);
  EXPECT_EQ(out.height, 31);  // 20 * 47 / 30 = 31.3
}

TEST(Config, CropPctWithoutCropFirstEnlargesTheResize) {
  const auto c = ImagePreprocessing::parse(
      R"({"size": {"shortest_edge": 8}, "crop_pct": 0.5, "do_center_crop": true, "resample": 0})");
  const Image source = pattern(16, 16);
  // 8 / 0.5 = 16: no change of size, then the middle 8 x 8.
  EXPECT_EQ(fit(source, c).pixels, crop(source, 4, 4, 8, 8).pixels);
}

TEST(Config, NormalisesAndOrdersChannels) {
  Image image(1, 1);
  image.pixels = {255, 127, 0};
  const Tensor rgb = to_tensor(image, ImagePreprocessing::parse(R"({"do_normalize": true, "image_mean": [0.5, 0.25, 0],
      "image_std": [0.5, 0.5, 2]})"));
  EXPECT_EQ(rgb.shape(), (Shape{3, 1, 1}));
  EXPECT_FLOAT_EQ(rgb.values<float>()[0], 1.0f);
  EXPECT_FLOAT_EQ(rgb.values<float>()[1], (127.0f / 255.0f - 0.25f) / 0.5f);
  EXPECT_FLOAT_EQ(rgb.values<float>()[2], 0.0f);
  const Tensor bgr = to_tensor(image, ImagePreprocessing::parse(R"({"do_rescale": false, "channel_order": "bgr"})"));
  EXPECT_THAT(bgr.values<float>(), testing::ElementsAre(0.0f, 127.0f, 255.0f));
}

TEST(Config, NamesTheKeyThatIsOff) {
  for (const auto& [text, key] : std::vector<std::pair<std::string, std::string>>{
           {R"({"size": "big"})", "size"},
           {R"({"size": 0})", "size"},
           {R"({"size": 1e30})", "size"},
           {R"({"size": {"height": 3}})", "size"},
           {R"({"do_resize": 1, "size": 3})", "do_resize"},
           {R"({"resample": 9})", "resample"},
           {R"({"resample": "cubish"})", "resample"},
           {R"({"crop_pct": 0})", "crop_pct"},
           {R"({"do_normalize": true})", "image_mean"},
           {R"({"image_mean": [0, 0, 0], "image_std": [1, 0, 1]})", "image_std"},
           {R"({"image_mean": [0, 0], "image_std": 1})", "image_mean"},
           {R"({"channel_order": "brg"})", "channel_order"},
           {R"({"crop_before_resize": true, "size": 3})", "crop_pct"}}) {
    try {
      ImagePreprocessing::parse(text);
      ADD_FAILURE() << text;
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), testing::HasSubstr(key)) << text;
    }
  }
  EXPECT_EQ(code_of([] { ImagePreprocessing::parse("{"); }), ErrorCode::kBadFile);
  EXPECT_EQ(code_of([] { ImagePreprocessing::parse(std::string(100000, '[')); }), ErrorCode::kBadFile);
}

}  // namespace
}  // namespace assay::vision
