#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "workloads/data/read.h"
#include "workloads/evaluate.h"
#include "workloads/tasks/answer_search.h"
#include "workloads/tasks/bert_alignment.h"
#include "workloads/tasks/fake_engine.h"
#include "workloads/tasks/windows.h"

namespace assay::workloads {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

std::shared_ptr<const text::Tokenizer> tokenizer() {
  static const auto shared = std::make_shared<const text::Tokenizer>(
      text::Tokenizer::load(fs::path(ASSAY_SOURCE_DIR) / "models/minilm-l6-squad"));
  return shared;
}

/// One question per passage.
Dataset questions(const std::vector<std::array<std::string, 3>>& rows) {
  Dataset d;
  d.source = "test";
  d.columns = {"id", "context", "question", "answers"};
  for (const auto& [context, question, answer] : rows)
    d.rows.push_back({std::to_string(d.size()), context, question, Answers{{answer}, {}}});
  return d;
}

/// Points at the word "zebra": its start logit, and one for "zone" as the end; elsewhere little, by id, so that a
/// mix-up of rows shows.
FakeEngine pointer(int64_t rows = -1, int64_t length = -1, bool joined = false) {
  const int64_t zebra = *tokenizer()->token_to_id("zebra"), zone = *tokenizer()->token_to_id("zone");
  std::vector<Port> outputs{port("start_logits", DType::kFloat32, {-1, -1}),
                            port("end_logits", DType::kFloat32, {-1, -1})};
  if (joined) outputs = {port("logits", DType::kFloat32, {-1, -1, 2})};
  return FakeEngine(text_ports(rows, length), outputs, [=](std::span<const TensorView> in) {
    const auto ids = in[0].values<int64_t>();
    const Shape shape = in[0].shape;
    Tensor start(DType::kFloat32, shape), end(DType::kFloat32, shape);
    Tensor both(DType::kFloat32, Shape{shape[0], shape[1], 2});
    for (size_t i = 0; i < ids.size(); ++i) {
      const float noise = 0.001f * static_cast<float>(ids[i] % 97);
      const float s = ids[i] == zebra ? 10.0f : noise, e = ids[i] == zone ? 8.0f : ids[i] == zebra ? 5.0f : noise;
      start.mutable_view().as<float>()[i] = both.mutable_view().as<float>()[2 * i] = s;
      end.mutable_view().as<float>()[i] = both.mutable_view().as<float>()[2 * i + 1] = e;
    }
    return joined ? std::vector<Tensor>{both} : std::vector<Tensor>{start, end};
  });
}

TaskSetup setup(std::optional<int64_t> max_length = {}, int64_t positions = 512) {
  TaskSetup s;
  s.tokenizer = tokenizer();
  s.max_length = max_length;
  s.info.max_positions = positions;
  return s;
}

EvalResult run(const TaskSetup& s, const Dataset& data, Engine& engine, const EvalOptions& options = {}) {
  Progress progress;
  return evaluate(*make_task("question-answering", s), data, engine, options, SteadyClock(), progress);
}

std::string message(const std::function<void()>& call, ErrorCode code) {
  try {
    call();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

std::string words(int n, const std::string& word = "grass ") {
  std::string out;
  for (int i = 0; i < n; ++i) out += word;
  return out;
}

TEST(Windows, AdvanceByStrideUntilCovered) {
  const auto begins = [](int64_t tokens, int64_t room, int64_t stride) {
    std::vector<std::pair<int64_t, int64_t>> out;
    for (const Window& w : passage_windows(tokens, room, stride)) out.emplace_back(w.begin, w.count);
    return out;
  };
  using P = std::pair<int64_t, int64_t>;
  EXPECT_THAT(begins(0, 10, 4), ElementsAre(P{0, 0}));
  EXPECT_THAT(begins(10, 10, 4), ElementsAre(P{0, 10}));
  EXPECT_THAT(begins(11, 10, 4), ElementsAre(P{0, 10}, P{4, 7}));
  EXPECT_THAT(begins(5, 2, 128), ElementsAre(P{0, 2}, P{2, 2}, P{4, 1}));  // the stride never leaves a gap
  EXPECT_THROW(passage_windows(5, 0, 1), Error);
  EXPECT_THROW(passage_windows(5, 1, 0), Error);
}

TEST(Windows, TheWindowWithMostContextOwnsAToken) {
  const auto w = passage_windows(20, 10, 5);  // [0,10) [5,15) [10,20)
  const auto owner = best_window(w, 20);
  ASSERT_EQ(w.size(), 3u);
  EXPECT_EQ(owner[0], 0);
  EXPECT_EQ(owner[6], 0);  // min(6, 3) = 3 against min(1, 8) = 1
  EXPECT_EQ(owner[7], 0);  // 2 and 2: the first
  EXPECT_EQ(owner[8], 1);
  EXPECT_EQ(owner[19], 2);
}

TEST(AnswerSearch, KeepsToPassageOrderLengthAndOwner) {
  const std::vector<float> start{9, 0, 5, 4, 0, 0}, end{0, 9, 1, 3, 2, 8};
  const auto all = answer_candidates(start, end, 2, {true, true, true}, 20, 30);
  // Passage is tokens 2..4: token 0 starts best but lies outside, as does token 5 for ends.
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all[0].first, 2);
  EXPECT_EQ(all[0].last, 3);
  EXPECT_DOUBLE_EQ(all[0].score, 8);
  for (const auto& c : answer_candidates(start, end, 2, {true, true, true}, 20, 1)) EXPECT_EQ(c.first, c.last);
  for (const auto& c : answer_candidates(start, end, 2, {false, true, true}, 20, 30)) EXPECT_NE(c.first, 2);
  EXPECT_TRUE(answer_candidates(start, end, 2, {true, true, true}, 1, 30).empty());  // best start and end: outside
  EXPECT_TRUE(answer_candidates(start, end, 2, {}, 20, 30).empty());
  // Ties go to the earlier token.
  EXPECT_EQ(
      answer_candidates(std::vector<float>(3, 1), std::vector<float>(3, 1), 0, {true, true, true}, 1, 30)[0].first, 0);
}

TEST(QuestionAnswering, TextComesFromTheOriginal) {
  const auto data = questions({{"The Z\u00e9bra   ZONE ends.", "What?", "Z\u00e9bra zone"},
                               {"\U0001f993\U0001f993 \u0391\u03a3\u0130 \u4e2d\u6587\u5b57Zebra!", "What?", "zebra"},
                               {"a\u0301e\u0308 ZE\u0301BRA. Tail", "Qu\u00e9 \u4e2d?", "zebra"}});
  auto engine = pointer();
  const EvalResult r = run(setup(), data, engine);
  EXPECT_EQ(r.predictions[0].text, "Z\u00e9bra   ZONE");
  EXPECT_EQ(r.predictions[1].text, "Zebra");
  EXPECT_EQ(r.predictions[2].text, "ZE\u0301BRA");
  EXPECT_DOUBLE_EQ(r.predictions[0].score, 18.0);
  for (int64_t i = 0; i < data.size(); ++i) {
    const auto& p = r.predictions[static_cast<size_t>(i)];
    EXPECT_EQ(data.text(i, 1).substr(static_cast<size_t>(p.begin), static_cast<size_t>(p.end - p.begin)), p.text);
  }
  // The third differs from its reference by an accent: no exact match.
  EXPECT_NEAR(r.metric("exact_match"), 200.0 / 3, 1e-9);
  EXPECT_THAT(message([&] { r.metric("exact_matsch"); }, ErrorCode::kNotFound), HasSubstr("exact_match"));
}

TEST(QuestionAnswering, LongPassagesOverlapAndTheLastToken) {
  // Five windows of 64 with stride 16; the answer stands in each place once.
  for (int at : {0, 1, 40, 55, 56, 60, 61, 70, 100, 118, 119}) {
    const std::string context = words(at) + "Zebra" + (at < 119 ? " " + words(119 - at) : "");
    auto engine = pointer();
    TaskSetup s = setup(64);
    s.question_answering.stride = 16;
    const EvalResult r = run(s, questions({{context, "Which animal is it?", "Zebra"}}), engine);
    EXPECT_GE(r.features, 5);
    EXPECT_EQ(r.predictions[0].text, "Zebra") << at;
    EXPECT_EQ(r.predictions[0].begin, 6 * at) << at;
    EXPECT_EQ(r.metric("f1"), 100.0);
  }
}

TEST(QuestionAnswering, MaxContextLeavesAStartToItsBestWindow) {
  // Passage room 10, stride 5: windows [0,10) and [5,15). "Zebra" at 9 ends the first, which alone likes it; the second
  // sees more around it.
  const int64_t zebra = *tokenizer()->token_to_id("zebra"), sep = *tokenizer()->token_to_id("[SEP]");
  const auto likes_last = [=](std::span<const TensorView> in) {
    Tensor t(DType::kFloat32, in[0].shape);
    const auto ids = in[0].values<int64_t>();
    for (size_t i = 0; i + 1 < ids.size(); ++i)
      if (ids[i] == zebra && ids[i + 1] == sep) t.mutable_view().as<float>()[i] = 10;
    return std::vector<Tensor>{t, t};
  };
  FakeEngine engine(text_ports(), pointer().outputs(), likes_last);
  const auto data = questions({{words(9) + "Zebra " + words(5), "What?", "Zebra"}});
  TaskSetup s = setup(15);
  s.question_answering.stride = 5;
  const EvalResult any = run(s, data, engine);
  EXPECT_EQ(any.features, 2);
  EXPECT_EQ(any.predictions[0].text, "Zebra");
  s.question_answering.max_context = true;
  const EvalResult owned = run(s, data, engine);
  for (const auto& [text, score] : owned.predictions[0].alternatives) EXPECT_LT(score, 20);
  EXPECT_NE(owned.predictions[0].text, "Zebra");
  EXPECT_NE(any.definition.at("answers"), owned.definition.at("answers"));
}

TEST(QuestionAnswering, ResultsDoNotDependOnBatching) {
  std::vector<std::array<std::string, 3>> rows;
  for (int i = 0; i < 23; ++i)
    rows.push_back({words(i * 7 % 90) + "zebra " + words(i * 5 % 60), "Where is " + words(i % 5) + "?", "zebra"});
  const Dataset data = questions(rows);
  std::vector<std::string> texts;
  std::vector<int64_t> begins;
  for (const EvalOptions& o : {EvalOptions{0, 1, 1, 1}, EvalOptions{0, 300, 7, 2}, EvalOptions{0, 100000, 1000, 1}}) {
    for (int kind = 0; kind < 4; ++kind) {
      auto engine = kind == 1 ? pointer(4, 64) : kind == 2 ? pointer(-1, -1, true) : pointer();
      engine.invariant = kind != 3;
      const EvalResult r = run(setup(64), data, engine, o);
      std::vector<std::string> t;
      std::vector<int64_t> b;
      for (const Prediction& p : r.predictions) {
        t.push_back(p.text + "/" + p.id);
        b.push_back(p.begin);
      }
      if (texts.empty()) texts = t, begins = b;
      EXPECT_EQ(t, texts);
      EXPECT_EQ(b, begins);
      if (kind == 1) {
        for (const Shape& s : engine.shapes) EXPECT_EQ(s, (Shape{4, 64}));
      }
      if (kind == 3) {
        for (const Shape& s : engine.shapes) EXPECT_EQ(s[0], 1);
        EXPECT_EQ(r.padding_tokens, 0);
      }
    }
  }
}

TEST(QuestionAnswering, EmptyTextsGiveEmptyAnswers) {
  auto engine = pointer();
  const EvalResult r =
      run(setup(), questions({{"", "What?", "x"}, {"zebra", "", "zebra"}, {"\t \n", "", "x"}}), engine);
  EXPECT_EQ(r.predictions[0].text, "");
  EXPECT_EQ(r.predictions[1].text, "zebra");
  EXPECT_EQ(r.predictions[2].text, "");
  EXPECT_EQ(r.samples, 3);
}

TEST(QuestionAnswering, LimitsAreCheckedBeforeCompute) {
  auto engine = pointer();
  const auto data = questions({{"zebra", "What?", "zebra"}});
  EXPECT_THAT(message([&] { run(setup(5000), data, engine); }, ErrorCode::kInvalidArgument),
              AllOf(HasSubstr("5000"), HasSubstr("512")));
  EXPECT_THAT(message([&] { run(setup(3), data, engine); }, ErrorCode::kInvalidArgument),
              HasSubstr("3 special tokens"));
  auto fixed = pointer(1, 8);
  EXPECT_THAT(message(
                  [&] {
                    run(setup(), questions({{words(40), "What?", "x"}}), fixed);
                  },
                  ErrorCode::kInvalidArgument),
              AllOf(HasSubstr("45 tokens"), HasSubstr("takes 8"), HasSubstr("row 0")));
  TaskSetup small = setup();
  small.info.vocab_size = 50;
  EXPECT_THAT(message([&] { run(small, data, engine); }, ErrorCode::kInvalidArgument), HasSubstr("50 rows"));
  EXPECT_THAT(message([&] { run(setup(), questions({}), engine); }, ErrorCode::kInvalidArgument), HasSubstr("no rows"));
  Dataset none = data;
  none.rows[0][3] = Answers{};
  EXPECT_THAT(message([&] { run(setup(), none, engine); }, ErrorCode::kBadFile), HasSubstr("row 0"));
  EXPECT_TRUE(engine.shapes.empty());
  EXPECT_TRUE(fixed.shapes.empty());
}

TEST(QuestionAnswering, AModelOfEightPositionsStillReadsEverything) {
  auto engine = pointer();
  const EvalResult r =
      run(setup({}, 8), questions({{words(200) + "zebra", "What is it that we are looking for?", "zebra"}}), engine);
  EXPECT_EQ(r.predictions[0].text, "zebra");
  for (const Shape& s : engine.shapes) EXPECT_LE(s[1], 8);
}

TEST(QuestionAnswering, NotANumberNamesSampleAndOutput) {
  FakeEngine engine(text_ports(),
                    {port("start_logits", DType::kFloat32, {-1, -1}), port("end_logits", DType::kFloat32, {-1, -1})},
                    [](std::span<const TensorView> in) {
                      Tensor t(DType::kFloat32, in[0].shape);
                      t.mutable_view().as<float>()[0] = NAN;
                      return std::vector<Tensor>{t, t};
                    });
  EXPECT_THAT(message(
                  [&] {
                    run(setup(), questions({{"a", "b", "c"}}), engine);
                  },
                  ErrorCode::kNumeric),
              AllOf(HasSubstr("start_logits"), HasSubstr("row 0")));
}

TEST(QuestionAnswering, ModelsWithOtherOutputsAreRefusedByName) {
  FakeEngine engine(text_ports(), {port("a", DType::kFloat32, {-1, 2}), port("b", DType::kFloat32, {-1, 3})},
                    [](std::span<const TensorView>) { return std::vector<Tensor>{}; });
  EXPECT_THAT(message(
                  [&] {
                    run(setup(), questions({{"a", "b", "c"}}), engine);
                  },
                  ErrorCode::kInvalidArgument),
              AllOf(HasSubstr("'a' [?,2]"), HasSubstr("start_logits")));
  FakeEngine odd({port("audio", DType::kFloat32, {-1, 80})}, {port("a", DType::kFloat32, {-1, 2})},
                 [](std::span<const TensorView>) { return std::vector<Tensor>{}; });
  EXPECT_THAT(message(
                  [&] {
                    run(setup(), questions({{"a", "b", "c"}}), odd);
                  },
                  ErrorCode::kInvalidArgument),
              HasSubstr("'audio'"));
}

TEST(QuestionAnswering, WordsAndBertAlignment) {
  const auto data = questions({{"He said zebra-like, thus.", "What?", "x"},
                               {"The ($Zebra) runs", "What?", "x"},
                               {"It is zebrazone ok", "What?", "x"}});
  auto engine = pointer();
  TaskSetup s = setup();
  s.question_answering.alignment = AnswerAlignment::kBert;
  const EvalResult bert = run(s, data, engine);
  EXPECT_EQ(bert.predictions[0].text, "zebra");
  EXPECT_EQ(bert.predictions[1].text, "Zebra");
  s.question_answering.alignment = AnswerAlignment::kWords;
  const EvalResult whole = run(s, data, engine);
  EXPECT_EQ(whole.predictions[1].text, "Zebra");
  EXPECT_EQ(whole.predictions[2].text, "zebrazone");
  EXPECT_THAT(message([] { answer_alignment("ofsets"); }, ErrorCode::kInvalidArgument), HasSubstr("offsets"));
}

TEST(BertAlignment, AlignsThroughCaseAccentsAndPunctuation) {
  EXPECT_EQ(basic_tokens("He's  \u00c9t\u00e9, \u4e2d\u6587!", true), "he ' s ete , \u4e2d \u6587 !");
  EXPECT_EQ(basic_tokens("\u00c9t\u00e9", false), "\u00c9t\u00e9");
  EXPECT_EQ(align_answer("steve smith", "Steve Smith's", true), "Steve Smith");
  EXPECT_EQ(align_answer("ete", "(\u00c9t\u00e9)", true), "\u00c9t\u00e9");
  EXPECT_EQ(align_answer("absent", "Steve Smith's", true), "Steve Smith's");
  EXPECT_EQ(align_answer("", "Steve", true), "Steve");
  // A letter that loses its mark as a character of its own: lengths differ, the original stands.
  EXPECT_EQ(align_answer("abc", "abc\u0301 x", true), "abc\u0301 x");
}

TEST(QuestionAnswering, InterruptedRunsKeepWholeSamplesOnly) {
  class Stop final : public Progress {
   public:
    void advance(int64_t n) override { done += n; }
    bool interrupted() const override { return done >= 3; }
    int64_t done = 0;
  } stop;
  std::vector<std::array<std::string, 3>> rows(9, {"zebra", "What?", "zebra"});
  auto engine = pointer();
  const auto task = make_task("question-answering", setup());
  const EvalResult r = evaluate(*task, questions(rows), engine, {0, 1, 1, 1}, SteadyClock(), stop);
  EXPECT_TRUE(r.interrupted);
  EXPECT_EQ(r.samples, 3);
  EXPECT_TRUE(r.metrics.empty());
  EXPECT_THAT(r.notes, testing::Contains(HasSubstr("after 3 of 9")));
}

TEST(Calibration, StreamsTheFirstWindowsOfTheFirstRows) {
  Dataset data = questions({{"zebra", "What?", "x"}, {words(500), "Where?", "x"}, {"c", "d", "x"}});
  data.columns.pop_back();
  for (auto& row : data.rows) row.pop_back();  // references are not needed
  const auto task = make_task("question-answering", setup());
  SampleStream stream(*task, data, text_ports(), 2);
  EXPECT_EQ(stream.size(), 2);
  std::vector<Tensor> inputs;
  ASSERT_TRUE(stream.next(inputs));
  ASSERT_EQ(inputs.size(), 3u);
  EXPECT_EQ(inputs[0].shape(), (Shape{1, 6}));  // [CLS] what ? [SEP] zebra [SEP]
  EXPECT_THAT(inputs[2].values<int64_t>(), ElementsAre(0, 0, 0, 0, 1, 1));
  ASSERT_TRUE(stream.next(inputs));
  EXPECT_EQ(inputs[0].shape(), (Shape{1, 384}));
  EXPECT_FALSE(stream.next(inputs));
  stream.rewind();
  EXPECT_TRUE(stream.next(inputs));
}

TEST(Tasks, UnknownNamesAreRefusedNamingTheNearest) {
  EXPECT_THAT(task_names(),
              ElementsAre("image-classification", "question-answering", "text-classification", "token-classification"));
  EXPECT_THAT(message([] { make_task("question-answring", {}); }, ErrorCode::kInvalidArgument),
              HasSubstr("question-answering"));
  TaskSetup s = setup();
  s.metrics = {"exact_mach"};
  EXPECT_THAT(message([&] { make_task("question-answering", s); }, ErrorCode::kInvalidArgument),
              HasSubstr("exact_match"));
  s = setup();
  s.keys.data = {{"contxt", "c"}};
  EXPECT_THAT(message([&] { make_task("question-answering", s); }, ErrorCode::kInvalidArgument), HasSubstr("context"));
  EXPECT_THAT(message([] { make_task("text-classification", {}); }, ErrorCode::kNotFound), HasSubstr("tokenizer.json"));
}

}  // namespace
}  // namespace assay::workloads
