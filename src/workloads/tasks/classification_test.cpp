#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "workloads/data/read.h"
#include "workloads/evaluate.h"
#include "workloads/tasks/fake_engine.h"
#include "workloads/tasks/labels.h"

namespace assay::workloads {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
const fs::path kSource = ASSAY_SOURCE_DIR;

std::shared_ptr<const text::Tokenizer> tokenizer() {
  static const auto shared =
      std::make_shared<const text::Tokenizer>(text::Tokenizer::load(kSource / "models/minilm-l6-squad"));
  return shared;
}

Dataset table(std::vector<std::string> columns, std::vector<std::vector<Cell>> rows) {
  Dataset d;
  d.source = "test";
  d.columns = std::move(columns);
  d.rows = std::move(rows);
  return d;
}

std::string message(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    EXPECT_NE(e.code(), ErrorCode::kInternal) << e.what();
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

EvalResult run(std::string_view task, const TaskSetup& s, const Dataset& data, Engine& engine) {
  Progress progress;
  return evaluate(*make_task(task, s), data, engine, {}, SteadyClock(), progress);
}

/// Scores a row by how often the words good and bad stand in it (those counted where the mask says 1).
FakeEngine sentiment(int64_t classes) {
  const int64_t good = *tokenizer()->token_to_id("good"), bad = *tokenizer()->token_to_id("bad");
  return FakeEngine(text_ports(), {port("logits", DType::kFloat32, {-1, classes})},
                    [=](std::span<const TensorView> in) {
                      Tensor out(DType::kFloat32, Shape{in[0].shape[0], classes});
                      for (int64_t r = 0; r < in[0].shape[0]; ++r)
                        for (int64_t t = 0; t < in[0].shape[1]; ++t) {
                          const int64_t id = in[0].as<int64_t>()[r * in[0].shape[1] + t];
                          if (in[1].as<int64_t>()[r * in[0].shape[1] + t] == 0) continue;
                          float* o = out.mutable_view().as<float>() + r * classes;
                          if (id == good) o[classes - 1] += 1;
                          if (id == bad) o[0] += classes == 1 ? -1.0f : 1.0f;
                        }
                      return std::vector<Tensor>{out};
                    });
}

TaskSetup setup(std::vector<std::string> labels) {
  TaskSetup s;
  s.tokenizer = tokenizer();
  s.info.labels = std::move(labels);
  s.info.max_positions = 512;
  return s;
}

TEST(TextClassification, LabelsByNameNumberOrText) {
  auto engine = sentiment(2);
  const auto data = table({"sentence", "label"}, {{"good film", "Positive"},
                                                  {"bad film", "0"},
                                                  {"film", int64_t{0}},  // a tie goes to the lower class
                                                  {"good good bad", "negative"}});
  TaskSetup s = setup({"negative", "positive"});
  s.metrics = {"accuracy", "f1", "f1_macro", "f1_weighted", "matthews_correlation"};
  const EvalResult r = run("text-classification", s, data, engine);
  EXPECT_DOUBLE_EQ(r.metric("accuracy"), 0.75);
  EXPECT_DOUBLE_EQ(r.metric("f1"), 2.0 / 3);  // class 1: one right, two predicted, one real
  EXPECT_DOUBLE_EQ(r.metric("f1_macro"), (2.0 / 3 + 0.8) / 2);
  EXPECT_NEAR(r.metric("matthews_correlation"), 0.5773502691896258, 1e-12);
  EXPECT_EQ(r.predictions[0].text, "positive");
  EXPECT_THAT(r.predictions[3].classes, ElementsAre(1, 0));
  std::ostringstream json;
  write_predictions(r, json);
  EXPECT_THAT(json.str(), AllOf(HasSubstr("\"text\":\"positive\""), HasSubstr("\"reference\":[\"negative\"]")));
}

TEST(TextClassification, WrongLabelsNameTheRow) {
  auto engine = sentiment(2);
  const TaskSetup s = setup({"negative", "positive"});
  const auto with = [](Cell label) { return table({"text", "label"}, {{"x", int64_t{0}}, {"y", std::move(label)}}); };
  EXPECT_THAT(message([&] { run("text-classification", s, with("positiv"), engine); }),
              AllOf(HasSubstr("row 1"), HasSubstr("'positive'")));
  EXPECT_THAT(message([&] { run("text-classification", s, with(int64_t{2}), engine); }),
              AllOf(HasSubstr("row 1"), HasSubstr("class 2"), HasSubstr("2 labels")));
  EXPECT_THAT(message([&] { run("text-classification", s, with(int64_t{-1}), engine); }), HasSubstr("class -1"));
  EXPECT_TRUE(engine.shapes.empty());
  EXPECT_THAT(message([&] {
                run("text-classification", setup({"a", "b", "c"}), with(int64_t{1}), engine);
              }),
              AllOf(HasSubstr("3 labels"), HasSubstr("2 classes")));
}

TEST(TextClassification, RegressionCorrelates) {
  auto engine = sentiment(1);
  TaskSetup s = setup({"LABEL_0"});
  const auto data =
      table({"sentence1", "sentence2", "score"},
            {{"good", "good", 4.5}, {"good", "x", int64_t{3}}, {"bad", "x", "1.5"}, {"bad", "bad bad", "0"}});
  const EvalResult r = run("text-classification", s, data, engine);
  EXPECT_GT(r.metric("pearson"), 0.95);
  EXPECT_DOUBLE_EQ(r.metric("spearmanr"), 1.0);
  EXPECT_DOUBLE_EQ(r.predictions[0].score, 2.0);
  s.metrics = {"accuracy"};
  EXPECT_THAT(message([&] { make_task("text-classification", s); }), HasSubstr("regression"));
  s.metrics = {};
  EXPECT_THAT(message([&] {
                run("text-classification", s, table({"text", "label"}, {{"x", "high"}}), engine);
              }),
              HasSubstr("number"));
}

TEST(TextClassification, PairsKeysAndCutting) {
  auto engine = sentiment(2);
  TaskSetup s = setup({"negative", "positive"});
  s.max_length = 8;
  std::string longer;
  for (int i = 0; i < 50; ++i) longer += "good ";
  const auto data = table({"a", "b", "y"}, {{"bad bad bad bad bad bad bad", longer, int64_t{0}}});
  s.keys = {{{"primary", "b"}, {"secondary", ""}}, {"y"}};
  const EvalResult cut = run("text-classification", s, data, engine);
  EXPECT_EQ(engine.shapes.back(), (Shape{1, 8}));
  EXPECT_THAT(cut.notes, testing::Contains(HasSubstr("1 texts were cut at 8 tokens")));
  s.keys.data["secondary"] = "a";
  run("text-classification", s, data, engine);
  EXPECT_EQ(engine.shapes.back(), (Shape{1, 8}));
  s.truncate = false;
  EXPECT_THAT(message([&] { run("text-classification", s, data, engine); }),
              AllOf(HasSubstr("60 tokens"), HasSubstr("limit is 8"), HasSubstr("row 0")));
  s.max_length = 513;
  EXPECT_THAT(message([&] { make_task("text-classification", s); }), AllOf(HasSubstr("513"), HasSubstr("512")));
}

/// Labels a token by its id: "paris" is class 1, "smith" class 2, others 0.
FakeEngine tagger() {
  const int64_t paris = *tokenizer()->token_to_id("paris"), smith = *tokenizer()->token_to_id("smith");
  return FakeEngine(text_ports(), {port("logits", DType::kFloat32, {-1, -1, 3})}, [=](std::span<const TensorView> in) {
    Tensor out(DType::kFloat32, Shape{in[0].shape[0], in[0].shape[1], 3});
    const auto ids = in[0].values<int64_t>();
    for (size_t i = 0; i < ids.size(); ++i)
      out.mutable_view().as<float>()[3 * i + (ids[i] == paris ? 1 : ids[i] == smith ? 2 : 0)] = 1;
    return std::vector<Tensor>{out};
  });
}

using Words = std::vector<std::string>;

TEST(TokenClassification, FirstTokenOfAWordDecides) {
  auto engine = tagger();
  // "Paris-Smith" is one word of three tokens; control characters give none; an empty word neither.
  const auto data = table({"tokens", "ner_tags"}, {{Words{"In", "Paris-Smith", "\x01\x02", "", "SMITH", "par\u00eds"},
                                                    Words{"O", "B-loc", "O", "O", "B-loc", "B-loc"}},
                                                   {Words{}, Words{}}});
  const EvalResult r = run("token-classification", setup({"O", "B-loc", "I-loc"}), data, engine);
  EXPECT_THAT(r.predictions[0].labels, ElementsAre("O", "B-loc", "O", "O", "I-loc", "B-loc"));
  EXPECT_TRUE(r.predictions[1].labels.empty());
  EXPECT_DOUBLE_EQ(r.metric("f1"), 1.0);  // I after O opens an entity as B does
  EXPECT_DOUBLE_EQ(r.metric("accuracy"), 5.0 / 6);
}

TEST(TokenClassification, NumbersAreLabelsOfTheModelAndWrongOnesAreNamed) {
  auto engine = tagger();
  const TaskSetup s = setup({"O", "B-loc", "I-loc"});
  const auto with = [](Cell labels) {
    return table({"tokens", "ner_tags"}, {{Words{"Paris", "x"}, std::move(labels)}});
  };
  EXPECT_DOUBLE_EQ(run("token-classification", s, with(std::vector<int64_t>{1, 0}), engine).metric("f1"), 1.0);
  EXPECT_THAT(message([&] {
                run("token-classification", s, with(std::vector<int64_t>{1, 3}), engine);
              }),
              AllOf(HasSubstr("row 0"), HasSubstr("label 3")));
  EXPECT_THAT(message([&] { run("token-classification", s, with(Words{"O"}), engine); }),
              HasSubstr("1 labels for 2 words"));
  EXPECT_THAT(message([&] { run("token-classification", s, with("O O"), engine); }), HasSubstr("list of labels"));
  EXPECT_THAT(message([&] {
                run("token-classification", s, with(Words{"B-geo", "O"}), engine);
              }),
              HasSubstr("'B-geo'"));
  EXPECT_THAT(run("token-classification", s, with(Words{"B-loc", "B-geo"}), engine).notes,
              testing::Contains(HasSubstr("'B-geo'")));
  EXPECT_THAT(message([&] { make_task("token-classification", setup({})); }), HasSubstr("id2label"));
  TaskSetup pair = s;
  pair.keys.data = {{"secondary", "x"}};
  EXPECT_THAT(message([&] { make_task("token-classification", pair); }), HasSubstr("'secondary'"));
}

TEST(TokenClassification, WordsBeyondTheCutAreOutside) {
  auto engine = tagger();
  TaskSetup s = setup({"O", "B-loc", "I-loc"});
  s.max_length = 4;
  const EvalResult r =
      run("token-classification", s,
          table({"tokens", "ner_tags"}, {{Words{"x", "Paris", "Paris"}, Words{"O", "B-loc", "B-loc"}}}), engine);
  EXPECT_THAT(r.predictions[0].labels, ElementsAre("O", "B-loc", "O"));
  EXPECT_DOUBLE_EQ(r.metric("recall"), 0.5);
  EXPECT_THAT(r.notes, testing::Contains(HasSubstr("cut at 4")));
}

TEST(Labels, TopClassesAreStable) {
  EXPECT_THAT(top_classes(std::vector<float>{1, 3, 3, 2}, 3), ElementsAre(1, 2, 3));
  EXPECT_THAT(top_classes(std::vector<float>{1}, 5), ElementsAre(0));
}

TEST(ImageClassification, PicturesReachTheModelInItsLayout) {
  const fs::path shared = kSource / ".." / "shared";
  if (!fs::exists(shared / "data/imagenet-100")) GTEST_SKIP() << "../shared/data/imagenet-100 is absent";
  TaskSetup s;
  s.info.preprocessor = SideFile(shared / "models/efficientnet-lite0/preprocessor_config.json");
  const Dataset data = read_dataset(shared / "data/imagenet-100", {.max_rows = 3});
  float first[2] = {0, 0};
  for (int last = 0; last < 2; ++last) {
    FakeEngine engine({port("x", DType::kFloat32,
                            last ? std::vector<int64_t>{-1, 224, 224, 3} : std::vector<int64_t>{-1, 3, 224, 224})},
                      {port("y", DType::kFloat32, {-1, 1000})}, [&](std::span<const TensorView> in) {
                        const int64_t n = in[0].shape[0];
                        Tensor out(DType::kFloat32, Shape{n, 1000});
                        for (int64_t r = 0; r < n; ++r) out.mutable_view().as<float>()[r * 1000 + 14] = 1;
                        first[last] = in[0].as<float>()[last ? 3 : 1];  // the second pixel's red
                        return std::vector<Tensor>{out};
                      });
    const EvalResult r = run("image-classification", s, data, engine);
    EXPECT_DOUBLE_EQ(r.metric("top_1"), 1.0 / 3);  // the second picture is class 14
    EXPECT_DOUBLE_EQ(r.metric("top_5"), 2.0 / 3);  // ties: 14, 0, 1, 2, 3; the first picture is class 3
    EXPECT_EQ(r.predictions[1].id, "n01537544_indigo_bunting.JPEG");
  }
  EXPECT_EQ(first[0], first[1]);
  FakeEngine small({port("x", DType::kFloat32, {-1, 3, 64, 64})}, {port("y", DType::kFloat32, {-1, 1000})},
                   [](std::span<const TensorView>) { return std::vector<Tensor>{}; });
  EXPECT_THAT(message([&] { run("image-classification", s, data, small); }),
              AllOf(HasSubstr("64 x 64"), HasSubstr("224 x 224")));
  EXPECT_THAT(message([] { make_task("image-classification", {}); }), HasSubstr("preprocessor_config.json"));
}

}  // namespace
}  // namespace assay::workloads
