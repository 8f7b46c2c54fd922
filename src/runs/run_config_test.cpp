#include "runs/run_config.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace assay::runs {
namespace {

constexpr std::string_view kGood = R"(title: a run
model_name_or_path: models/m
task: question-answering
metrics: [exact_match, f1]
dataset:
  path: data
  eval_split: dev.json
  calibration_split: train.json[:100]
  data_keys: {question: question, context: context}
  ref_keys: [answers]
calibration: {method: minmax, num_calibration_samples: 10}
batch_sizes: [1, 4]
sweep:
  quantization_approach: [dynamic, static]
  operators_to_quantize: [[Add], [Add, MatMul]]
  node_exclusion: [[], [layernorm, '*/pooler/*']]
)";

std::string replaced(std::string_view from, std::string_view to) {
  std::string text(kGood);
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string error_of(const std::string& text) {
  try {
    parse_run_file(text, "run.yaml");
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(RunFile, SweepsTheProductWithTheLastFieldFastest) {
  const RunFile run = parse_run_file(kGood, "run.yaml");
  EXPECT_EQ(run.title, "a run");
  ASSERT_EQ(run.cells(), 8u);
  EXPECT_EQ(run.values(1)[2], Json({"layernorm", "*/pooler/*"}));
  EXPECT_EQ(run.values(4)[0], "static");
  const RunConfig c = run.config(7);
  EXPECT_EQ(c.scheme.approach, quant::Approach::kStatic);
  EXPECT_EQ(c.scheme.operators, (std::vector<std::string>{"Add", "MatMul"}));
  EXPECT_EQ(c.scheme.exclude_patterns, (std::vector<Pattern>{Pattern::kLayerNorm}));
  EXPECT_EQ(c.scheme.exclude_nodes, (std::vector<std::string>{"*/pooler/*"}));
  EXPECT_EQ(c.calibration->num_calibration_samples, 10);
  EXPECT_EQ(c.batch_sizes, (std::vector<int64_t>{1, 4}));
  EXPECT_TRUE(run.config(0).scheme.exclude_patterns.empty());
}

TEST(RunFile, DefaultsAreOptimums) {
  std::string text = replaced("  node_exclusion: [[], [layernorm, '*/pooler/*']]\n", "");
  const RunConfig c = parse_run_file(text, "run.yaml").config(0);
  EXPECT_EQ(c.scheme.exclude_patterns.size(), 5u);
  EXPECT_EQ(c.duration_s, 30);
  EXPECT_EQ(c.warmup_runs, 10);
  EXPECT_EQ(c.input_lengths, (std::vector<int64_t>{128}));
}

TEST(RunFile, WrongKeyTypeOrValueIsNamedWithItsLineAndTheNearestName) {
  EXPECT_EQ(error_of(replaced("batch_sizes", "batch_size")),
            "file 'run.yaml', line '12', field 'batch_size': is no field of a run file; did you mean 'batch_sizes'?");
  EXPECT_EQ(
      error_of(replaced("eval_split", "evalsplit")),
      "file 'run.yaml', line '7', field 'dataset.evalsplit': is no field of a run file; did you mean 'eval_split'?");
  EXPECT_EQ(error_of(replaced("task: question-answering", "task: question_answering")),
            "file 'run.yaml', line '3', field 'task': 'question_answering' is not a value it takes; did you mean "
            "'question-answering'?");
  EXPECT_EQ(error_of(replaced("[1, 4]", "[1, four]")),
            "file 'run.yaml', line '12', field 'batch_sizes': takes an integer, not text");
  EXPECT_EQ(error_of(replaced("[dynamic, static]", "[dynamic, statc]")),
            "file 'run.yaml', line '14', field 'quantization_approach': 'statc' is not a value it takes; did you mean "
            "'static'?");
  EXPECT_EQ(
      error_of(replaced("[Add, MatMul]", "[Add, Matmul]")),
      "file 'run.yaml', line '15', field 'operators_to_quantize': 'Matmul' is no operator; did you mean 'MatMul'?");
  EXPECT_EQ(error_of(replaced("num_calibration_samples: 10", "num_calibration_samples: 0")),
            "file 'run.yaml', line '11', field 'calibration.num_calibration_samples': is 0, outside 1 to 1000000");
  EXPECT_EQ(error_of(replaced("model_name_or_path: models/m\n", "")),
            "file 'run.yaml', field 'model_name_or_path': is missing: model file or folder");
}

TEST(RunFile, StaticNeedsCalibration) {
  EXPECT_NE(error_of(replaced("calibration: {method: minmax, num_calibration_samples: 10}\n", ""))
                .find("'calibration': is missing"),
            std::string::npos);
}

TEST(RunFile, MalformedYamlNamesTheLine) {
  EXPECT_NE(error_of("a: [1\nb: 2\n").find("line"), std::string::npos);
  EXPECT_NE(error_of("task: x\ntask: y\n").find("given twice"), std::string::npos);
  EXPECT_NE(error_of("a: &x 1\nb: *x\n").find("anchors"), std::string::npos);
  EXPECT_NE(error_of("a: 1\n---\nb: 2\n").find("more than one document"), std::string::npos);
  for (const char* stray : {",{", ",'", ",", "a: {", "{,"}) EXPECT_FALSE(error_of(stray).empty()) << stray;
  EXPECT_NE(error_of("- 1\n").find("a map of fields"), std::string::npos);
  EXPECT_NE(error_of("").find("a map of fields"), std::string::npos);
}

TEST(Yaml, ScalarsAreTypedByTheCoreSchema) {
  const Json v = parse_yaml("[1, -2, 1.5, true, null, '1', text, 1e3]", "f").value;
  EXPECT_TRUE(v[0].is_number_integer());
  EXPECT_EQ(v[1], -2);
  EXPECT_TRUE(v[2].is_number_float());
  EXPECT_EQ(v[3], true);
  EXPECT_TRUE(v[4].is_null());
  EXPECT_EQ(v[5], "1");
  EXPECT_EQ(v[7], 1000.0);
}

}  // namespace
}  // namespace assay::runs
