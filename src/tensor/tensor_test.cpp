#include "tensor/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace assay {
namespace {

TEST(Float16, EveryBitPatternSurvivesARoundTrip) {
  for (uint32_t b = 0; b < 65536; ++b) {
    Float16 h;
    h.bits = static_cast<uint16_t>(b);
    const auto f = static_cast<float>(h);
    if (std::isnan(f)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(Float16(f))));
    } else {
      EXPECT_EQ(Float16(f).bits, b);
    }
  }
}

TEST(Float16, RoundsToNearestTiesToEven) {
  EXPECT_EQ(static_cast<float>(Float16(65519.0f)), 65504.0f);
  EXPECT_TRUE(std::isinf(static_cast<float>(Float16(65520.0f))));
  EXPECT_EQ(Float16(1.0f + 0x1.0p-11f).bits, Float16(1.0f).bits);
  EXPECT_EQ(Float16(1.0f + 0x1.8p-10f).bits, Float16(1.0f).bits + 2);
}

TEST(Bfloat16, RoundsToNearestTiesToEvenAndKeepsNan) {
  EXPECT_EQ(Bfloat16(1.0f).bits, 0x3f80);
  EXPECT_EQ(Bfloat16(1.0f + 0x1.0p-8f).bits, 0x3f80);
  EXPECT_TRUE(std::isnan(static_cast<float>(Bfloat16(std::numeric_limits<float>::quiet_NaN()))));
}

TEST(DType, SubByteTypesPack) {
  EXPECT_EQ(bytes_of(DType::kInt4, 3), 2);
  EXPECT_EQ(bytes_of(DType::kUint2, 5), 2);
  EXPECT_EQ(bytes_of(DType::kFloat16, 3), 6);
}

TEST(Shape, SizesAreChecked) {
  EXPECT_EQ((Shape{2, 3}).elements(), 6);
  EXPECT_EQ(Shape{}.elements(), 1);
  EXPECT_THROW((Shape{int64_t{1} << 40, int64_t{1} << 40}).elements(), Error);
  EXPECT_THROW((Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}), Error);
  EXPECT_EQ(broadcast({3, 1}, {4}), (Shape{3, 4}));
  EXPECT_THROW(broadcast({3}, {4}), Error);
  EXPECT_EQ(normalize_axis(-1, 3), 2);
  EXPECT_THROW(normalize_axis(3, 3), Error);
}

TEST(Tensor, OwnsSharesAndConverts) {
  Tensor t = Tensor::from<float>({2, 2}, {1, 2, 3, 4});
  Tensor u = t.reshaped({4});
  EXPECT_EQ(u.data(), t.data());
  EXPECT_THROW(t.reshaped({5}), Error);
  EXPECT_THROW(t.view().as<int64_t>(), Error);
  const Tensor half = Tensor::from<Float16>({1}, {Float16(0.5f)});
  EXPECT_EQ(to_float32(half).values<float>()[0], 0.5f);
  EXPECT_EQ(Tensor::strings({1}, {"abc"}).string_at(0), "abc");
  float x = 1;
  Tensor window(DType::kFloat32, {1}, &x, nullptr);
  EXPECT_THROW(window.mutable_view(), Error);
}

}  // namespace
}  // namespace assay
