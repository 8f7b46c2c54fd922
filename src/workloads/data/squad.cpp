#include "base/error.h"
#include "workloads/data/json_text.h"
#include "workloads/data/read.h"

namespace assay::workloads {
namespace {

using nlohmann::json;

/// A value with its path, so that whatever is wrong is named as data[3].paragraphs[0].qas[1].
struct Place {
  const json& value;
  std::string path;

  Place member(const char* key) const {
    require(value.is_object(), ErrorCode::kBadFile, "{} should be an object, not {}", path, kind_of(value));
    const auto it = value.find(key);
    require(it != value.end(), ErrorCode::kBadFile, "{} has no \"{}\"", path, key);
    return {*it, path + "." + key};
  }
  std::vector<Place> items(const char* key) const {
    const Place list = member(key);
    require(list.value.is_array(), ErrorCode::kBadFile, "{} should be a list, not {}", list.path, kind_of(list.value));
    std::vector<Place> out;
    out.reserve(list.value.size());
    for (size_t i = 0; i < list.value.size(); ++i)
      out.push_back({list.value[i], list.path + "[" + std::to_string(i) + "]"});
    return out;
  }
  std::string text(const char* key) const {
    const Place p = member(key);
    require(p.value.is_string(), ErrorCode::kBadFile, "{} should be text, not {}", p.path, kind_of(p.value));
    return p.value.get<std::string>();
  }
};

Answers read_answers(const Place& qa) {
  Answers out;
  if (!qa.value.contains("answers")) return out;
  for (const Place& a : qa.items("answers")) {
    out.texts.push_back(a.text("text"));
    if (!a.value.contains("answer_start")) continue;
    const Place start = a.member("answer_start");
    require(start.value.is_number_integer(), ErrorCode::kBadFile, "{} should be a whole number", start.path);
    out.starts.push_back(start.value.get<int64_t>());
  }
  return out;
}

}  // namespace

Dataset parse_squad(std::string_view text, const std::string& source, const ReadOptions& options) {
  Dataset data;
  data.source = source;
  data.format = "squad";
  data.columns = {"id", "title", "context", "question", "answers"};
  const json json_root = parse_json(text);
  int64_t unanswerable = 0;
  for (const Place& article : Place{json_root, "file"}.items("data")) {
    const std::string title =
        article.value.is_object() && article.value.contains("title") ? article.text("title") : std::string();
    for (const Place& paragraph : article.items("paragraphs")) {
      const std::string context = paragraph.text("context");
      for (const Place& qa : paragraph.items("qas")) {
        if (options.max_rows > 0 && data.size() >= options.max_rows) break;
        const Place id = qa.member("id");
        require(id.value.is_string() || id.value.is_number_integer(), ErrorCode::kBadFile, "{} should be text",
                id.path);
        std::string key = id.value.is_string() ? id.value.get<std::string>() : id.value.dump();
        Answers answers = read_answers(qa);
        if (answers.texts.empty()) ++unanswerable;
        data.rows.push_back({std::move(key), title, context, qa.text("question"), std::move(answers)});
      }
    }
  }
  if (unanswerable > 0)
    data.notes.push_back(fmt::format("{} of {} questions have no accepted answer", unanswerable, data.size()));
  return data;
}

}  // namespace assay::workloads
