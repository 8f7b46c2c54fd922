#include "encoder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "quant/quantizer.h"

namespace assay {
namespace {

Model dynamic_model() {
  quant::QuantScheme scheme;
  scheme.per_channel = true;
  return quant::quantize_dynamic(squad_model(), scheme, nullptr, 2);
}

/// The largest difference over real tokens.
float largest_difference(const std::vector<Tensor>& a, const std::vector<Tensor>& b,
                         const std::vector<int64_t>& lengths) {
  float worst = 0;
  for (size_t o = 0; o < a.size(); ++o) {
    const int64_t seq = a[o].shape()[1];
    for (size_t r = 0; r < lengths.size(); ++r)
      for (int64_t s = 0; s < lengths[r]; ++s) {
        const auto at = static_cast<size_t>(static_cast<int64_t>(r) * seq + s);
        worst = std::max(worst, std::fabs(a[o].values<float>()[at] - b[o].values<float>()[at]));
      }
  }
  return worst;
}

TEST(Encoder, FusedAndPackedGivesTheLogitsOfTheGraphAsWritten) {
  const std::vector<int64_t> lengths = {40, 7, 23, 1};
  const auto inputs = encoder_batch(lengths);
  const Session as_written(squad_model(), {.threads = 2, .isa = kernels::best_isa(), .fuse = false});
  const Session fused(squad_model(), {.threads = 2, .isa = kernels::best_isa(), .pack_tokens = false});
  const Session packed(squad_model(), {.threads = 2, .isa = kernels::best_isa()});
  const auto want = run_once(as_written, inputs);
  EXPECT_LT(largest_difference(run_once(fused, inputs), want, lengths), 1e-4f);
  EXPECT_LT(largest_difference(run_once(packed, inputs), want, lengths), 1e-4f);
  for (const FusionNote& n : packed.fusions())
    std::printf("%s %s %s: %s\n", n.matched ? "made" : "missed", n.pass.c_str(), n.node.c_str(), n.reason.c_str());
  EXPECT_LT(packed.program().steps().size(), 60u);
}

TEST(Encoder, PaddedPositionsAreZero) {
  const Session packed(squad_model(), {.threads = 1, .isa = kernels::best_isa()});
  const auto out = run_once(packed, encoder_batch({9, 4}));
  for (int64_t s = 4; s < 9; ++s) EXPECT_EQ(out[0].values<float>()[static_cast<size_t>(9 + s)], 0.0f);
}

class BitEquality : public testing::TestWithParam<bool> {
 protected:
  static Model model() { return GetParam() ? dynamic_model() : squad_model(); }
};

TEST_P(BitEquality, OneAndTwoThreads) {
  const auto inputs = encoder_batch({33, 64, 5});
  const auto one = run_once(Session(model(), {.threads = 1, .isa = kernels::best_isa()}), inputs);
  const auto two = run_once(Session(model(), {.threads = 2, .isa = kernels::best_isa()}), inputs);
  for (size_t o = 0; o < one.size(); ++o)
    EXPECT_EQ(0, std::memcmp(one[o].data(), two[o].data(), static_cast<size_t>(one[o].bytes())));
}

TEST_P(BitEquality, ARowAloneOrBesideOthers) {
  const Session session(model(), {.threads = 2, .isa = kernels::best_isa()});
  const auto alone = run_once(session, encoder_batch({17}));
  const auto beside = run_once(session, encoder_batch({50, 17, 3}));
  for (size_t o = 0; o < alone.size(); ++o)
    EXPECT_EQ(0,
              std::memcmp(alone[o].values<float>().data(), beside[o].values<float>().data() + 50, 17 * sizeof(float)));
}

TEST_P(BitEquality, EveryLevelOfThisCpu) {
  const auto inputs = encoder_batch({12, 31});
  const auto truth = run_once(Session(model(), {.threads = 2, .isa = Isa::kScalar}), inputs);
  for (const Isa isa : kernels::supported_isas()) {
    const auto out = run_once(Session(model(), {.threads = 2, .isa = isa}), inputs);
    for (size_t o = 0; o < out.size(); ++o)
      EXPECT_EQ(0, std::memcmp(truth[o].data(), out[o].data(), static_cast<size_t>(out[o].bytes())))
          << kernels::to_string(isa);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, BitEquality, testing::Bool(),
                         [](const auto& model_info) { return model_info.param ? "dynamic_int8" : "fp32"; });

TEST(Encoder, DynamicInt8IsFusedAndNearTheOriginal) {
  const std::vector<int64_t> lengths = {40, 7};
  const auto inputs = encoder_batch(lengths);
  const Session int8(dynamic_model(), {.threads = 2, .isa = kernels::best_isa()});
  int fused = 0;
  for (const auto& step : int8.program().steps())
    fused += int8.program().graph().node(step.node).is("LinearInt8", "assay") ? 1 : 0;
  EXPECT_EQ(fused, 6 * 4 + 1);
  const auto want = run_once(Session(squad_model(), {.threads = 2, .isa = kernels::best_isa()}), inputs);
  EXPECT_LT(largest_difference(run_once(int8, inputs), want, lengths), 1.5f);
}

TEST(Encoder, WrongInputsAreNamed) {
  const Session session(squad_model(), {.threads = 1, .isa = kernels::best_isa()});
  auto inputs = encoder_batch({4});
  inputs[1] = Tensor(DType::kFloat32, {1, 4});
  try {
    run_once(session, inputs);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("attention_mask"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace assay
