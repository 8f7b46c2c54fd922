#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <functional>

#include "base/error.h"
#include "base/file.h"
#include "workloads/data/read.h"

namespace assay::workloads {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
const fs::path kShared = fs::path(ASSAY_SOURCE_DIR) / ".." / "shared";
using Words = std::vector<std::string>;

Dataset parse(DataFormat format, std::string_view text, ReadOptions options = {}) {
  options.format = format;
  return parse_dataset(text, "test", options);
}

std::string message(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    EXPECT_NE(e.code(), ErrorCode::kInternal);
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

std::string message(DataFormat format, const std::string& text, const ReadOptions& options = {}) {
  return message([&] { parse(format, text, options); });
}

Words row(const Dataset& d, int64_t r) {
  Words out;
  for (const Cell& c : d.rows[static_cast<size_t>(r)]) out.push_back(std::get<std::string>(c));
  return out;
}

TEST(Csv, QuotesEscapesAndLineEndsInsideFields) {
  const Dataset d = parse(DataFormat::kCsv, "text,label\r\n\"a, \"\"b\"\"\nc\",1\r\n\r\nplain,0\r\n\"\",2");
  EXPECT_THAT(d.columns, ElementsAre("text", "label"));
  ASSERT_EQ(d.size(), 3);
  EXPECT_THAT(row(d, 0), ElementsAre("a, \"b\"\nc", "1"));
  EXPECT_THAT(row(d, 1), ElementsAre("plain", "0"));
  EXPECT_THAT(row(d, 2), ElementsAre("", "2"));
  EXPECT_THAT(d.lines, ElementsAre(2, 5, 6));
}

TEST(Csv, ErrorsNameLineAndField) {
  EXPECT_THAT(message(DataFormat::kCsv, "a,b\n1,2\n1,2,3\n"), AllOf(HasSubstr("line 3"), HasSubstr("3 fields")));
  EXPECT_THAT(message(DataFormat::kCsv, "a,b\n1,\"open\n\n"), AllOf(HasSubstr("line 2"), HasSubstr("never closed")));
  EXPECT_THAT(message(DataFormat::kCsv, "a,b\n1,\"x\"y\n"), AllOf(HasSubstr("line 2"), HasSubstr("field 1")));
  EXPECT_THAT(message(DataFormat::kCsv, "a,a\n1,2\n", {.header = true}), HasSubstr("'a'"));
  EXPECT_THAT(message(DataFormat::kCsv, std::string(5000, ',')), HasSubstr("4096"));
}

TEST(Csv, HeaderIsDecidedByLooksAndSaid) {
  const Dataset with = parse(DataFormat::kCsv, "review,stars\ngood film,5\n");
  EXPECT_EQ(with.size(), 1);
  EXPECT_THAT(with.notes, ElementsAre(HasSubstr("column names")));
  const Dataset without = parse(DataFormat::kTsv, "a good film\t1\na bad one\t0\n");
  EXPECT_EQ(without.size(), 2);
  EXPECT_THAT(without.columns, ElementsAre("sentence", "label"));
  EXPECT_THAT(without.notes, ElementsAre(HasSubstr("no header")));
  const Dataset three = parse(DataFormat::kCsv, "1,2,3\n");
  EXPECT_THAT(three.columns, ElementsAre("column_0", "column_1", "column_2"));
}

TEST(Csv, GivenNamesAndHeaderOptionsWin) {
  const Dataset named = parse(DataFormat::kCsv, "x,y\n", {.columns = {"text", "label"}});
  EXPECT_EQ(named.size(), 1);
  EXPECT_EQ(parse(DataFormat::kCsv, "text,label\nx,y\n", {.columns = {"text", "label"}}).size(), 1);
  EXPECT_EQ(parse(DataFormat::kCsv, "x,y\n", {.header = false}).size(), 1);
  EXPECT_EQ(parse(DataFormat::kCsv, "1,2\nx,y\n", {.header = true}).columns[0], "1");
  EXPECT_EQ(parse(DataFormat::kCsv, "", {}).size(), 0);
}

TEST(Tsv, QuotesAreCharactersLikeAnyOther) {
  const Dataset d = parse(DataFormat::kTsv, "he said \"no\t0\n\"yes\" she said\t1\n");
  ASSERT_EQ(d.size(), 2);
  EXPECT_THAT(row(d, 0), ElementsAre("he said \"no", "0"));
  EXPECT_THAT(row(d, 1), ElementsAre("\"yes\" she said", "1"));
}

TEST(JsonLines, ColumnsAreTheUnionAndKindsAreKept) {
  const Dataset d =
      parse(DataFormat::kJsonLines,
            "{\"a\": 1, \"b\": \"x\"}\n\n{\"b\": \"y\", \"c\": [\"p\", \"q\"], \"d\": 2.5}\r\n"
            "{\"e\": {\"text\": [\"t\"], \"answer_start\": [3]}, \"f\": true, \"g\": null, \"h\": [1, 2]}");
  EXPECT_THAT(d.columns, ElementsAre("a", "b", "c", "d", "e", "f", "g", "h"));
  ASSERT_EQ(d.size(), 3);
  EXPECT_EQ(std::get<int64_t>(d.at(0, 0)), 1);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(d.at(1, 0)));
  EXPECT_EQ(std::get<Words>(d.at(1, 2)), (Words{"p", "q"}));
  EXPECT_EQ(std::get<double>(d.at(1, 3)), 2.5);
  EXPECT_EQ(std::get<Answers>(d.at(2, 4)), (Answers{{"t"}, {3}}));
  EXPECT_EQ(std::get<std::vector<int64_t>>(d.at(2, 7)), (std::vector<int64_t>{1, 2}));
  EXPECT_THAT(d.where(1), HasSubstr("line 3"));
  EXPECT_THAT(message([&] { d.text(0, 0); }), AllOf(HasSubstr("'a'"), HasSubstr("row 0 (line 1)")));
}

TEST(Json, ErrorsNameTheLine) {
  EXPECT_THAT(message(DataFormat::kJsonLines, "{\"a\": 1}\n{\"a\" 1}\n"), HasSubstr("line 2"));
  EXPECT_THAT(message(DataFormat::kJsonLines, "{}\n\n[1]\n"), AllOf(HasSubstr("line 3"), HasSubstr("array")));
  EXPECT_THAT(message(DataFormat::kJson, "[{},\n{},\n{]"), HasSubstr("line 3"));
  EXPECT_THAT(message(DataFormat::kJson, "[{}, 3]"), HasSubstr("row 1"));
  EXPECT_THAT(message(DataFormat::kJson, std::string(100000, '[')), HasSubstr("64 levels"));
  EXPECT_THAT(message(DataFormat::kJson, "[{\"a\": \"\xff\"}]"), HasSubstr("line 1"));
  EXPECT_EQ(parse(DataFormat::kJson, "{\"data\": [{\"a\": 1}]}").size(), 1);
}

TEST(Squad, FlattensArticles) {
  const std::string text = R"({"version": "1.1", "data": [{"title": "T", "paragraphs": [{"context": "C c", "qas": [
    {"id": "1", "question": "Q?", "answers": [{"text": "C", "answer_start": 0}, {"text": "c", "answer_start": 2}]},
    {"id": 7, "question": "R?", "answers": []}]}]}]})";
  const Dataset d = parse(DataFormat::kJson, text);
  EXPECT_EQ(d.format, "squad");
  ASSERT_EQ(d.size(), 2);
  EXPECT_EQ(d.text(0, d.column("title")), "T");
  EXPECT_EQ(d.text(0, d.column("context")), "C c");
  EXPECT_EQ(d.text(1, d.column("id")), "7");
  EXPECT_EQ(std::get<Answers>(d.at(0, d.column("answers"))), (Answers{{"C", "c"}, {0, 2}}));
  EXPECT_THAT(d.notes, ElementsAre(HasSubstr("1 of 2 questions")));
  EXPECT_EQ(parse(DataFormat::kSquad, text, {.max_rows = 1}).size(), 1);
}

TEST(Squad, ErrorsNameTheField) {
  EXPECT_THAT(message(DataFormat::kSquad, R"({"data": [{"paragraphs": [{"context": "c", "qas": [{"id": "1"}]}]}]})"),
              AllOf(HasSubstr("data[0].paragraphs[0].qas[0]"), HasSubstr("question")));
  EXPECT_THAT(message(DataFormat::kSquad, R"({"data": [{"paragraphs": [{"context": 3, "qas": []}]}]})"),
              HasSubstr("data[0].paragraphs[0].context should be text"));
  EXPECT_THAT(message(DataFormat::kSquad, R"({"data": [3]})"), HasSubstr("data[0] should be an object"));
  EXPECT_THAT(message(DataFormat::kSquad, R"([])"), HasSubstr("should be an object"));
  EXPECT_THAT(message(DataFormat::kSquad,
                      R"({"data": [{"paragraphs": [{"context": "", "qas": [{"id": "1", "question": "", "answers":
                         [{"text": 5}]}]}]}]})"),
              HasSubstr("qas[0].answers[0].text"));
}

TEST(Conll, TabsSpacesDocstartAndSeveralLabels) {
  const Dataset d = parse(DataFormat::kConll,
                          "-DOCSTART- -X- O O\n\nEU NNP B-NP B-ORG\nrejects VBZ B-VP O\n\n\t\nNew York\tB-a,B-b\n"
                          "x\tO\r\n");
  ASSERT_EQ(d.size(), 2);
  EXPECT_EQ(std::get<Words>(d.at(0, 0)), (Words{"EU", "rejects"}));
  EXPECT_EQ(std::get<Words>(d.at(0, 1)), (Words{"B-ORG", "O"}));
  EXPECT_EQ(std::get<Words>(d.at(1, 0)), (Words{"New York", "x"}));
  EXPECT_EQ(std::get<Words>(d.at(1, 1)), (Words{"B-a", "O"}));
  EXPECT_THAT(d.notes, ElementsAre(AllOf(HasSubstr("1 words"), HasSubstr("line 7"))));
  EXPECT_THAT(d.lines, ElementsAre(3, 7));
}

TEST(Conll, ColumnsCanBeChosen) {
  const Dataset d = parse(DataFormat::kConll, "1 a X O\n2 b Y B-p\n", {.word_column = 1, .label_column = 2});
  EXPECT_EQ(std::get<Words>(d.at(0, 0)), (Words{"a", "b"}));
  EXPECT_EQ(std::get<Words>(d.at(0, 1)), (Words{"X", "Y"}));
}

TEST(Conll, ErrorsNameTheLine) {
  EXPECT_THAT(message(DataFormat::kConll, "a O\nb\n"), HasSubstr("line 2"));
  EXPECT_THAT(message(DataFormat::kConll, "a O\n\nb\t\n"), AllOf(HasSubstr("line 3"), HasSubstr("label")));
  EXPECT_THAT(message(DataFormat::kConll, "a O\n", {.label_column = 5}), HasSubstr("column 5"));
  EXPECT_THAT(message(DataFormat::kConll, "a O\n", {.word_column = 1, .label_column = 1}), HasSubstr("column 1"));
}

TEST(Read, RefusesWhatIsNotUtf8OrTooLarge) {
  EXPECT_THAT(message(DataFormat::kCsv,
                      "\xff\xfe"
                      "a"),
              HasSubstr("UTF-16"));
  EXPECT_THAT(message(DataFormat::kCsv, "abcdef", {.max_bytes = 3}), HasSubstr("limit of 3"));
  EXPECT_EQ(parse(DataFormat::kCsv, "\xef\xbb\xbftext,label\nx,1\n").columns[0], "text");
  EXPECT_THAT(message([] { read_dataset("/no/such.tsv"); }), HasSubstr("/no/such.tsv"));
  EXPECT_THAT(message([] { data_format("jsnol"); }), HasSubstr("'json"));
}

TEST(Keys, WrongNamesAreRefusedNamingTheNearest) {
  const Dataset d = parse(DataFormat::kCsv, "sentence,label\nx,1\n");
  EXPECT_EQ(data_column(d, {}, "primary", {"text", "sentence"}), 0u);
  EXPECT_EQ(ref_column(d, {{}, {"label"}}, {}), 1u);
  EXPECT_THAT(message([&] { data_column(d, {{{"primary", "sentense"}}, {}}, "primary", {}); }), HasSubstr("sentence"));
  EXPECT_THAT(message([&] { data_column(d, {}, "primary", {"premise"}); }),
              AllOf(HasSubstr("'premise'"), HasSubstr("'sentence', 'label'"), HasSubstr("data_keys")));
  EXPECT_THAT(message([&] { ref_column(d, {{}, {"a", "b"}}, {}); }), HasSubstr("2 columns"));
  EXPECT_THAT(message([&] {
                check_roles({{{"primry", "x"}}, {}}, {"primary", "secondary"});
              }),
              HasSubstr("did you mean 'primary'"));
}

class Folder : public testing::Test {
 protected:
  void SetUp() override {
    path_ = fs::temp_directory_path() / ("assay_data_" + std::to_string(::getpid()));
    fs::create_directories(path_ / "cat");
    fs::create_directories(path_ / "ant");
    write_text(path_ / "cat/b.jpg", "");
    write_text(path_ / "cat/a.PNG", "");
    write_text(path_ / "cat/notes.txt", "");
    write_text(path_ / "ant/c.jpeg", "");
  }
  void TearDown() override { fs::remove_all(path_); }
  fs::path path_;
};

TEST_F(Folder, SubfoldersAreClassesInNameOrder) {
  const Dataset d = read_dataset(path_);
  ASSERT_EQ(d.size(), 3);
  EXPECT_EQ(d.text(0, 1), "ant");
  EXPECT_THAT(d.text(1, 0), testing::EndsWith("cat/a.PNG"));
}

TEST_F(Folder, LabelFileNamesPicturesInsideTheFolderOnly) {
  write_text(path_ / "labels.csv", "file,index\ncat/b.jpg,4\n");
  const Dataset d = read_dataset(path_);
  ASSERT_EQ(d.size(), 1);
  EXPECT_EQ(d.text(0, d.column("image")), (path_ / "cat/b.jpg").string());
  for (const char* name : {"../x.jpg", "/etc/x.jpg", "cat/../../x.jpg"}) {
    write_text(path_ / "labels.csv", std::string("file,index\n") + name + ",4\n");
    EXPECT_THAT(message([&] { read_dataset(path_); }), AllOf(HasSubstr("line 2"), HasSubstr("labels.csv")));
  }
  write_text(path_ / "labels.csv", "name,index\nx,4\n");
  EXPECT_THAT(message([&] { read_dataset(path_); }), HasSubstr("'file'"));
}

TEST(SharedData, EveryFileReads) {
  if (!fs::exists(kShared / "data")) GTEST_SKIP() << "../shared/data is absent";
  const Dataset squad = read_dataset(kShared / "data/squad/xquad-en.json");
  EXPECT_EQ(squad.size(), 612);
  EXPECT_EQ(read_dataset(kShared / "data/squad/train-subset.json").size(), 11877);
  EXPECT_EQ(read_dataset(kShared / "data/sst-2/dev.tsv").size(), 872);
  EXPECT_EQ(read_dataset(kShared / "data/sst-2/test.tsv").size(), 1821);
  EXPECT_EQ(read_dataset(kShared / "data/wnut-17/emerging.dev.conll").size(), 1009);
  const Dataset test = read_dataset(kShared / "data/wnut-17/emerging.test.conll");
  EXPECT_THAT(test.notes, ElementsAre(HasSubstr("several labels (first in line 212)")));
  EXPECT_EQ(read_dataset(kShared / "data/imagenet-100").size(), 100);
  EXPECT_EQ(read_dataset(kShared / "data/cnn-dailymail/train_sample.csv").size(), 100);
}

}  // namespace
}  // namespace assay::workloads
