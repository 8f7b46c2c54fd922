#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/file.h"
#include "engine/session.h"
#include "formats/onnx_read.h"
#include "formats/onnx_write.h"
#include "graph/passes/inline_functions.h"
#include "graph/patterns.h"
#include "kernels/isa.h"
#include "quant/calibrator.h"
#include "quant/numbers.h"
#include "quant/quantizer.h"
#include "session_run.h"

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
  const auto files = exports();
  if (files.empty()) GTEST_SKIP() << "tests/data/exports is absent";
  for (const auto& path : files) {
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

std::vector<Tensor> inputs_of(const Model& m, const std::filesystem::path& path) {
  const auto data = nlohmann::json::parse(read_text(std::filesystem::path(path).replace_extension(".json")));
  std::vector<Tensor> out;
  for (ValueId v : m.graph.inputs) {
    std::string name = m.graph.value(v).name.substr(0, m.graph.value(v).name.find(':'));
    if (name == "input_mask") name = "attention_mask";
    if (name == "segment_ids") name = "token_type_ids";
    const auto rows = data.at(name).get<std::vector<std::vector<int64_t>>>();
    const Shape shape{static_cast<int64_t>(rows.size()), static_cast<int64_t>(rows[0].size())};
    Tensor t(m.graph.value(v).type.dtype, shape);
    int64_t i = 0;
    for (const auto& row : rows)
      for (int64_t x : row) {
        if (t.dtype() == DType::kInt64) t.mutable_view().as<int64_t>()[i] = x;
        if (t.dtype() == DType::kInt32) t.mutable_view().as<int32_t>()[i] = static_cast<int32_t>(x);
        if (t.dtype() == DType::kFloat32) t.mutable_view().as<float>()[i] = static_cast<float>(x);
        ++i;
      }
    out.push_back(std::move(t));
  }
  return out;
}

// Signal to noise of all outputs at tokens that are not padding.
double agreement(const std::vector<Tensor>& exact, const std::vector<Tensor>& got, const Tensor& mask) {
  double signal = 0, noise = 0;
  for (size_t o = 0; o < exact.size(); ++o) {
    const auto x = exact[o].values<float>(), y = got[o].values<float>();
    const bool tokens = exact[o].shape().rank() >= 2 && exact[o].shape()[1] == mask.shape()[1];
    const Tensor m = to_float32(mask);
    const size_t width = tokens ? x.size() / static_cast<size_t>(mask.elements()) : 1;
    for (size_t i = 0; i < x.size(); ++i) {
      if (tokens && m.values<float>()[i / width] == 0.0f) continue;
      const double a = static_cast<double>(x[i]), d = a - static_cast<double>(y[i]);
      signal += a * a;
      noise += d * d;
    }
  }
  return quant::sqnr_db(signal, noise);
}

std::vector<Tensor> run(const Model& m, const std::vector<Tensor>& inputs) {
  SessionOptions options;
  options.isa = kernels::best_isa();
  options.pack_tokens = false;
  return session_run(m, inputs, options);
}

TEST(Exports, QuantizedFilesAnswerLikeTheFloatModelOnOurEngine) {
  const auto files = exports();
  if (files.empty()) GTEST_SKIP() << "tests/data/exports is absent";
  for (const auto& path : files) {
    SCOPED_TRACE(path.filename().string());
    const Model model = read_onnx(path);
    const auto inputs = inputs_of(model, path);
    Tensor mask;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (model.graph.value(model.graph.inputs[i]).name.find("mask") != std::string::npos) mask = inputs[i];
    const auto exact = run(model, inputs);
    for (const bool dynamic : {true, false}) {
      quant::QuantScheme scheme;
      scheme.approach = dynamic ? quant::Approach::kDynamic : quant::Approach::kStatic;
      scheme.per_channel = true;
      scheme.operators = {"MatMul", "Gemm", "Gather"};
      quant::Quantizer quantizer(model, scheme);
      quant::Calibration ranges;
      if (!dynamic) {
        bool given = false;
        Progress silent;
        ranges = quant::calibrate(
            quantizer.float_model(), quantizer.tensors_to_observe(),
            [&](quant::Sample& s) {
              s = inputs;
              return !std::exchange(given, true);
            },
            {}, silent);
      }
      // Through a file and back, as everybody else sees it.
      const std::string bytes = onnx_bytes(quantizer.quantize(dynamic ? nullptr : &ranges));
      const Model back = read_onnx(std::as_bytes(std::span(bytes.data(), bytes.size())), {});
      EXPECT_GT(agreement(exact, run(back, inputs), mask), 14.0) << (dynamic ? "dynamic" : "static");
    }
  }
}

}  // namespace
}  // namespace assay
