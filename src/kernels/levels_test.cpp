#include <gtest/gtest.h>

#include <cstdio>

#include "kernels/isa.h"
#include "kernels/isa/kernel_list.h"
#include "kernels/test_levels.h"

namespace assay::kernels {

extern const FloatLeaves kFloatAvx512_emulated;
extern const F32Leaves kGemmF32Avx512_emulated;
extern const Int8Leaves kGemmU8S8S32Avx2Vnni_emulated;
extern const Int8Leaves kGemmU8S8S32Avx512Vnni_emulated;

const std::vector<TestLevel>& emulated_levels() {
  static const Leaves kAvx2Vnni = {kGemmU8S8S32Avx2Vnni_emulated, kGemmF32Scalar, kFloatScalar, Isa::kAvx2Vnni};
  static const Leaves kAvx512 = {kGemmU8S8S32Avx512Vnni_emulated, kGemmF32Avx512_emulated, kFloatAvx512_emulated,
                                 Isa::kAvx512Vnni};
  static const std::vector<TestLevel> kLevels = {{"avx2_vnni (emulated)", &kAvx2Vnni},
                                                 {"avx512_vnni (emulated)", &kAvx512}};
  return kLevels;
}

const std::vector<TestLevel>& test_levels() {
  static const std::vector<TestLevel> kLevels = [] {
    std::vector<TestLevel> list;
    for (Isa isa : supported_isas()) list.push_back({std::string(to_string(isa)), &leaves(isa)});
    list.insert(list.end(), emulated_levels().begin(), emulated_levels().end());
    return list;
  }();
  return kLevels;
}

TEST(Isa, NamesRoundTrip) {
  for (int i = 0; i < kIsaCount; ++i) {
    const auto isa = static_cast<Isa>(i);
    EXPECT_EQ(isa_from_string(to_string(isa)), isa);
  }
  EXPECT_FALSE(isa_from_string("avx1024").has_value());
  EXPECT_FALSE(isa_from_string("").has_value());
}

TEST(Isa, SupportedLevelsAreOrderedAndStartWithScalar) {
  const auto list = supported_isas();
  ASSERT_FALSE(list.empty());
  EXPECT_EQ(list.front(), Isa::kScalar);
  EXPECT_EQ(list.back(), best_isa());
  for (size_t i = 1; i < list.size(); ++i) EXPECT_LT(list[i - 1], list[i]);
  EXPECT_TRUE(!isa_supported(Isa::kAvx512Bf16) || isa_supported(Isa::kAvx512Vnni));
}

TEST(Isa, DetectionAgreesWithTheCompilers) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  EXPECT_EQ(isa_supported(Isa::kAvx2), __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0);
  EXPECT_EQ(isa_supported(Isa::kAvx512Vnni),
            __builtin_cpu_supports("avx512vnni") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
                __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0);
#endif
}

// Levels this CPU lacks are compiled and their tables complete; the output names them.
TEST(Isa, EveryTableIsComplete) {
  for (int i = 0; i < kIsaCount; ++i) {
    const auto isa = static_cast<Isa>(i);
    const Leaves& t = leaves(isa);
    EXPECT_EQ(t.isa, isa);
    // The struct holds pointers from gemm_int8_tile on, and none may be null.
    EXPECT_TRUE(t.dense.tile && t.dense.tile_panels && t.dense.row && t.gemm_f32_tile && t.f32_tile_panels &&
                t.transpose_panel && t.epilogue_f32 && t.correct_i32 && t.epilogue_i32 && t.unary && t.min_max &&
                t.quantize && t.quantize_each && t.dequantize && t.dequantize_i32 && t.norm_row && t.softmax_row &&
                t.attention_row && t.scale_row);
    EXPECT_LE(t.dense.mr, kMaxMr);
    EXPECT_LE(t.dense.nr, kMaxNr);
    EXPECT_LE(t.f32_mr, kMaxMr);
    EXPECT_LE(t.f32_nr, kMaxNr);
    for (int rows = 1; rows <= t.dense.mr; ++rows)
      EXPECT_LE(t.dense.tile_panels(rows) * rows * t.dense.nr, kMaxMr * kMaxNr) << to_string(isa) << " rows " << rows;
    if (!isa_supported(isa))
      std::printf(
          "[  NOT RUN ] level %s: compiled, but this CPU lacks it natively (tested under emulation where listed)\n",
          std::string(to_string(isa)).c_str());
  }
  for (const TestLevel& level : test_levels()) std::printf("[   TESTED ] level %s\n", level.name.c_str());
}

}  // namespace assay::kernels
