#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "formats/onnx_read.h"
#include "formats/onnx_write.h"
#include "graph/passes/inline_functions.h"
#include "graph/patterns.h"
#include "quant/quantizer.h"

namespace assay {
namespace {

std::vector<std::filesystem::path> exports() {
  std::vector<std::filesystem::path> out;
  const std::filesystem::path folder = std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/data/exports";
  if (!std::filesystem::exists(folder)) return out;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".onnx") out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

size_t count(const Graph& g, Pattern p) { return find_pattern(g, p).size(); }

// Two layers of any exporter: five normalisations (four and the embeddings'), two GELUs, two softmaxes, and two
// residual sums a layer.
TEST(Exports, StructuresAreFoundInEverySpelling) {
  const auto files = exports();
  if (files.empty()) GTEST_SKIP() << "tests/data/exports is absent";
  for (const auto& path : files) {
    SCOPED_TRACE(path.filename().string());
    Model m = read_onnx(path);
    inline_functions(m);
    const Graph& g = m.graph;
    const auto order = g.topological_order();
    const bool fused_attention =
        std::any_of(order.begin(), order.end(), [&](NodeId id) { return g.node(id).op_type == "Attention"; });
    EXPECT_EQ(count(g, Pattern::kLayerNorm), 5u);
    EXPECT_EQ(count(g, Pattern::kGelu), 2u);
    EXPECT_GE(count(g, Pattern::kResidual), 4u);
    EXPECT_GE(count(g, Pattern::kGather), 1u);
    EXPECT_EQ(count(g, Pattern::kSoftmax), fused_attention ? 0u : 2u);
  }
}

TEST(Exports, EveryNodeHasADecisionOrAReason) {
  for (const auto& path : exports()) {
    SCOPED_TRACE(path.filename().string());
    for (const auto approach : {quant::Approach::kDynamic, quant::Approach::kStatic}) {
      quant::QuantScheme scheme;
      scheme.approach = approach;
      scheme.per_channel = true;
      scheme.operators = {"MatMul", "Gemm", "Add"};
      scheme.add_exclusion("layernorm");
      scheme.add_exclusion("softmax");
      const auto plan = quant::plan_quantization(read_onnx(path), scheme);
      for (const auto& n : plan.nodes) {
        EXPECT_TRUE(n.quantized() ? !n.form.empty() : !n.reason.empty()) << n.node << " " << n.op_type;
        EXPECT_FALSE(n.quantized() && std::count(n.tags.begin(), n.tags.end(), "layernorm") > 0) << n.node;
      }
      EXPECT_GE(plan.coverage().quantized, 5) << quant::to_text(plan);
    }
  }
}

}  // namespace
}  // namespace assay
