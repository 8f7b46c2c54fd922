#include "report/results_json.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "report/seed_card_test.h"

namespace assay::report {
namespace {

const std::filesystem::path kSchema = ASSAY_SOURCE_DIR "/docs/schema/results.schema.json";

TEST(ResultsJson, ReadingGivesBackTheRecord) {
  for (const Record& r : {seed_record(), full_record()}) {
    const Json json = to_json(r);
    const Record back = parse_results(json.dump());
    EXPECT_EQ(to_json(back), json);
    ASSERT_EQ(back.cells.size(), 8u);
    EXPECT_EQ(back.cells[2].values, r.cells[2].values);
    EXPECT_EQ(back.cells[2].time[8].optimized->latency_mean, r.cells[2].time[8].optimized->latency_mean);
    EXPECT_EQ(back.cells[2].time[0].optimized->latency_999.needed, r.cells[2].time[0].optimized->latency_999.needed);
    EXPECT_EQ(back.cells[3].status, r.cells[3].status);
    EXPECT_EQ(back.cells[5].nodes.size(), r.cells[5].nodes.size());
  }
}

// The keys of an Optimum output body (optimum/runs_base.py, optimum/onnxruntime/runs/__init__.py at v1.4.0).
TEST(ResultsJson, EachRunIsAnOptimumBody) {
  const Json json = to_json(full_record());
  for (const Json& run : json["runs"]) {
    for (const char* key :
         {"model_name_or_path", "task", "task_args", "dataset", "quantization_approach", "operators_to_quantize",
          "node_exclusion", "aware_training", "per_channel", "calibration", "framework", "framework_args", "hardware",
          "versions", "evaluation", "max_eval_samples", "time_benchmark_args", "model_type"})
      EXPECT_TRUE(run.contains(key)) << key;
    EXPECT_TRUE(run["evaluation"]["others"]["baseline"].contains("f1"));
    const Json& t = run["evaluation"]["time"][0]["optimized"];
    for (const char* key : {"nb_forwards", "throughput", "latency_mean", "latency_std", "latency_50", "latency_90",
                            "latency_95", "latency_99", "latency_999"})
      EXPECT_TRUE(t.contains(key)) << key;
  }
  // Seed card: throughput counts passes, 138.40 = 2076 / 15 at batch 1; at batch 8, samples are eight times as many.
  const Json& last = json["runs"][7];  // dynamic, ['Add', 'MatMul'], with exclusion
  EXPECT_EQ(last["evaluation"]["time"][0]["optimized"]["nb_forwards"], 2076);
  EXPECT_DOUBLE_EQ(last["evaluation"]["time"][8]["optimized"]["samples_per_s"], 8 * 6.67);
}

// Follows $ref and finds the keys of `value` that the schema does not document.
void undocumented(const Json& root, const Json& schema_or_ref, const Json& value, const std::string& path,
                  std::vector<std::string>& out) {
  const Json& schema = schema_or_ref.contains("$ref")
                           ? root.at(Json::json_pointer(schema_or_ref["$ref"].get<std::string>().substr(1)))
                           : schema_or_ref;
  if (value.is_array() && schema.contains("items"))
    for (const Json& item : value) undocumented(root, schema["items"], item, path + "[]", out);
  if (!value.is_object() || !schema.contains("properties")) return;  // maps by name have no fixed keys
  for (const auto& [key, item] : value.items()) {
    if (schema["properties"].contains(key))
      undocumented(root, schema["properties"][key], item, path + "." + key, out);
    else
      out.push_back(path + "." + key);
  }
}

TEST(ResultsJson, TheSchemaDocumentsEveryField) {
  const Json schema = Json::parse(read_text(kSchema));
  std::vector<std::string> missing;
  undocumented(schema, schema, to_json(full_record()), "", missing);
  EXPECT_EQ(missing, std::vector<std::string>{});
  Json odd = to_json(full_record());
  odd["runs"][0]["nodes"][0]["surprise"] = 1;
  undocumented(schema, schema, odd, "", missing);
  EXPECT_EQ(missing, std::vector<std::string>{".runs[].nodes[].surprise"});
}

TEST(ResultsJson, IsValidByTheSchema) {
  const std::string python = ASSAY_SOURCE_DIR "/build/venv/bin/python";
  if (std::system((python + " -c 'import jsonschema' >/dev/null 2>&1").c_str()) != 0)
    GTEST_SKIP() << "no Python environment with jsonschema at build/venv";
  const auto folder = std::filesystem::path(testing::TempDir()) / "assay_schema_test";
  std::filesystem::remove_all(folder);
  const std::string script =
      "import json, sys, jsonschema\n"
      "schema, value = (json.load(open(p, encoding='utf-8')) for p in sys.argv[1:3])\n"
      "jsonschema.Draft202012Validator.check_schema(schema)\n"
      "errors = [e.json_path + ': ' + e.message[:200] for e in "
      "jsonschema.Draft202012Validator(schema).iter_errors(value)]\n"
      "print('\\n'.join(errors))\n"
      "sys.exit(1 if errors else 0)\n";
  write_text(folder / "check.py", script);
  const auto valid = [&](const Json& json) {
    write_text(folder / "results.json", json.dump());
    return std::system((python + " " + (folder / "check.py").string() + " " + kSchema.string() + " " +
                        (folder / "results.json").string())
                           .c_str()) == 0;
  };
  EXPECT_TRUE(valid(to_json(seed_record())));
  EXPECT_TRUE(valid(to_json(full_record())));
  testing::internal::CaptureStdout();
  Json wrong = to_json(full_record());
  wrong["runs"][0]["status"] = "perhaps";
  EXPECT_FALSE(valid(wrong));
  wrong = to_json(full_record());
  wrong["runs"][0]["evaluation"]["time"][0]["baseline"].erase("latency_99");
  EXPECT_FALSE(valid(wrong));
  testing::internal::GetCapturedStdout();
}

std::string refusal(const Json& json) {
  try {
    parse_results(json.dump());
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kBadFile);
    return e.what();
  }
  return "accepted";
}

TEST(ResultsJson, RefusesByFieldName) {
  const Json good = to_json(full_record());
  Json bad = good;
  bad["schema_version"] = 2;
  EXPECT_NE(refusal(bad).find("schema_version is 2"), std::string::npos);
  bad = good;
  bad["runs"][1]["evaluation"]["time"][2]["optimized"]["nb_forwards"] = "many";
  EXPECT_NE(refusal(bad).find("'runs[1].evaluation.time[2].optimized.nb_forwards' is not an integer"),
            std::string::npos)
      << refusal(bad);
  bad = good;
  bad["runs"][0]["parameters"].erase("node_exclusion");
  EXPECT_NE(refusal(bad).find("'runs[0].parameters.node_exclusion' is absent"), std::string::npos);
  bad = good;
  bad["runs"][1]["id"] = bad["runs"][0]["id"];
  EXPECT_NE(refusal(bad).find("appears twice"), std::string::npos);
  bad = good;
  bad["fixed_parameters"].erase("framework");
  EXPECT_NE(refusal(bad).find("'framework' has no value"), std::string::npos);
  EXPECT_NE(refusal(Json::array()).find("not an object"), std::string::npos);
  EXPECT_THROW(parse_results("{\"schema_version\": 1,"), Error);
  EXPECT_THROW(parse_results(std::string(100'000, '[')), Error);
}

// Every truncation and every single-key loss is refused or read, never a crash or another kind of exception.
TEST(ResultsJson, NoInputEscapesTheErrorType) {
  Record small = seed_record();
  small.cells.resize(1);
  const Json good = to_json(small);
  const std::string text = good.dump();
  for (size_t n = 0; n < text.size(); n += 37) EXPECT_THROW(parse_results(text.substr(0, n)), Error);
  const Json flat = good.flatten();
  const std::vector<Json> replacements = {nullptr, 7, -1.5, "x", true, Json::array({1}), Json::object()};
  for (const auto& [pointer, value] : flat.items()) {
    for (const Json& other : replacements) {
      Json changed = good;
      changed[Json::json_pointer(pointer)] = other;
      try {
        record_from_json(changed);
      } catch (const Error&) {
        // refused by name: fine
      }
    }
  }
}

TEST(ResultsJson, ReadsAFolderAndNamesTheFile) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "assay_results_test";
  std::filesystem::remove_all(folder);
  write_text(folder / "results.json", to_json(seed_record()).dump());
  EXPECT_EQ(read_results(folder).task, "question-answering");
  write_text(folder / "results.json", "{}");
  try {
    read_results(folder);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("results.json'"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace assay::report
