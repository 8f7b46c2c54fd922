#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "engine/engine.h"
#include "formats/registry.h"
#include "workloads/data/read.h"
#include "workloads/evaluate.h"

namespace assay::workloads {
namespace {

namespace fs = std::filesystem;
const fs::path kSource = ASSAY_SOURCE_DIR;
const fs::path kShared = kSource / ".." / "shared";

EvalResult run(const fs::path& model, std::string_view task, const fs::path& data, EvalOptions options = {},
               bool max_context = false) {
  LoadedModel loaded = load_model(model);
  TaskSetup setup;
  setup.info = loaded.info;
  setup.question_answering.max_context = max_context;
  NativeEngine engine(std::move(loaded.model), {.threads = 2, .isa = kernels::best_isa()});
  Progress progress;
  options.threads = 2;
  return evaluate(*make_task(task, setup), read_dataset(data), engine, options, SteadyClock(), progress);
}

nlohmann::json reference(const fs::path& model) {
  return nlohmann::json::parse(read_text(model / "reference.json"))["metrics"];
}

TEST(RealModels, MinilmSquadMeetsTheReferenceOnXquad) {
  const fs::path data = kShared / "data/squad/xquad-en.json";
  if (!fs::exists(data)) GTEST_SKIP() << "../shared/data/squad is absent";
  const fs::path model = kSource / "models/minilm-l6-squad";
  const EvalResult r = run(model, "question-answering", data);
  EXPECT_EQ(r.samples, 612);
  EXPECT_NEAR(r.metric("exact_match"), reference(model)["exact_match"].get<double>(), 0.05);
  EXPECT_NEAR(r.metric("f1"), reference(model)["f1"].get<double>(), 0.05);
}

/// The figures that tests/oracle/qa_eval.py gives under BERT's own rule.
TEST(RealModels, MinilmSquadMeetsTheRefereeWithMaxContextStarts) {
  const fs::path data = kShared / "data/squad/xquad-en.json";
  if (!fs::exists(data)) GTEST_SKIP() << "../shared/data/squad is absent";
  const EvalResult r = run(kSource / "models/minilm-l6-squad", "question-answering", data, {}, true);
  EXPECT_NEAR(r.metric("exact_match"), 54.085, 0.05);
  EXPECT_NEAR(r.metric("f1"), 65.649, 0.05);
}

TEST(RealModels, BatchingChangesNothing) {
  const fs::path data = kShared / "data/squad/xquad-en.json";
  if (!fs::exists(data)) GTEST_SKIP() << "../shared/data/squad is absent";
  const fs::path model = kSource / "models/minilm-l6-squad";
  const EvalResult one = run(model, "question-answering", data, {40, 1, 1, 1});
  const EvalResult many = run(model, "question-answering", data, {40, 8192, 64, 1});
  for (size_t i = 0; i < 40; ++i) {
    EXPECT_EQ(one.predictions[i].text, many.predictions[i].text);
    EXPECT_EQ(one.predictions[i].score, many.predictions[i].score);
  }
}

TEST(RealModels, MinilmSst2MeetsTheReference) {
  const fs::path model = kShared / "models/minilm-l4-sst2";
  if (!fs::exists(model)) GTEST_SKIP() << "../shared/models/minilm-l4-sst2 is absent";
  for (const char* file : {"dev.tsv", "test.tsv"}) {
    const EvalResult r = run(model, "text-classification", kShared / "data/sst-2" / file);
    EXPECT_NEAR(r.metric("accuracy"), reference(model)[file]["accuracy"].get<double>(), 0.002) << file;
    EXPECT_EQ(r.samples, reference(model)[file]["samples"].get<int64_t>());
  }
}

TEST(RealModels, MinilmWnutMeetsTheReference) {
  const fs::path model = kShared / "models/minilm-l4-wnut17";
  if (!fs::exists(model)) GTEST_SKIP() << "../shared/models/minilm-l4-wnut17 is absent";
  const EvalResult r = run(model, "token-classification", kShared / "data/wnut-17/emerging.dev.conll");
  for (const char* name : {"precision", "recall", "f1"})
    EXPECT_NEAR(r.metric(name), reference(model)["emerging.dev.conll"][name].get<double>(), 0.002) << name;
  EXPECT_EQ(r.samples, 1009);
}

TEST(RealModels, EfficientnetMeetsTheReference) {
  const fs::path model = kShared / "models/efficientnet-lite0";
  if (!fs::exists(model)) GTEST_SKIP() << "../shared/models/efficientnet-lite0 is absent";
  // Best five classes and best logit of the first pictures from Pillow, NumPy and ONNX Runtime.
  const std::vector<std::vector<int64_t>> classes{{3, 2, 4, 394, 5}, {14, 17, 95, 136, 12}, {20, 141, 15, 13, 136}};
  const std::vector<double> logits{10.174957, 9.957577, 10.096473};
  const fs::path data = kShared / "data/imagenet-100";
  const EvalResult few = run(model, "image-classification", data, {.max_samples = 3});
  for (size_t i = 0; i < classes.size(); ++i) {
    EXPECT_EQ(few.predictions[i].classes, classes[i]);
    EXPECT_NEAR(few.predictions[i].score, logits[i], 1e-3);
  }
  const double whole_s = few.engine_seconds / 3 * 100;
  if (whole_s > 120) GTEST_SKIP() << "all 100 pictures would take this engine " << whole_s << " s";
  const EvalResult r = run(model, "image-classification", data);
  EXPECT_NEAR(r.metric("top_1"), 0.85, 0.01);
  EXPECT_NEAR(r.metric("top_5"), 0.98, 0.01);
}

}  // namespace
}  // namespace assay::workloads
