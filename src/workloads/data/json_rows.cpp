#include <algorithm>
#include <map>

#include "base/error.h"
#include "workloads/data/json_text.h"
#include "workloads/data/read.h"

namespace assay::workloads {
namespace {

using nlohmann::json;
constexpr size_t kMaxColumns = 4096;

/// Collects objects into rows whose columns are the union of all keys.
class RowBuilder {
 public:
  explicit RowBuilder(Dataset& data) : data_(data) {}

  void add(const json& object) {
    std::vector<Cell> row(data_.columns.size());
    for (const auto& [key, value] : object.items()) {
      const auto [it, fresh] = index_.try_emplace(key, data_.columns.size());
      if (fresh) {
        require(index_.size() <= kMaxColumns, ErrorCode::kResourceExhausted, "the rows have more than {} columns",
                kMaxColumns);
        data_.columns.push_back(key);
        row.emplace_back();
      }
      row[it->second] = cell_of_json(value);
    }
    data_.rows.push_back(std::move(row));
  }

  /// Rows that came before a column did get an empty field there.
  void finish() {
    for (auto& row : data_.rows) row.resize(data_.columns.size());
  }

 private:
  Dataset& data_;
  std::map<std::string, size_t> index_;
};

bool full(const Dataset& data, const ReadOptions& options) {
  return options.max_rows > 0 && data.size() >= options.max_rows;
}

}  // namespace

Dataset parse_json_lines(std::string_view text, const std::string& source, const ReadOptions& options) {
  Dataset data;
  data.source = source;
  data.format = "jsonl";
  RowBuilder rows(data);
  int64_t line = 0;
  while (!text.empty() && !full(data, options)) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view item = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line;
    if (item.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const json object = parse_json(item, line);
    require(object.is_object(), ErrorCode::kBadFile, "line {}: a row should be an object, not {}", line,
            kind_of(object));
    data.lines.push_back(line);
    rows.add(object);
  }
  rows.finish();
  return data;
}

Dataset parse_json_rows(std::string_view text, const std::string& source, const ReadOptions& options) {
  Dataset data;
  data.source = source;
  data.format = "json";
  const json root = parse_json(text);
  const json* list = &root;
  if (root.is_object()) {
    const auto it = root.find("data");
    require(it != root.end(), ErrorCode::kBadFile, "the object has no \"data\"; a list of rows is expected there");
    list = &*it;
  }
  require(list->is_array(), ErrorCode::kBadFile, "a list of rows is expected, not {}", kind_of(*list));
  RowBuilder rows(data);
  for (const json& object : *list) {
    if (full(data, options)) break;
    require(object.is_object(), ErrorCode::kBadFile, "row {} should be an object, not {}", data.size(),
            kind_of(object));
    rows.add(object);
  }
  rows.finish();
  return data;
}

}  // namespace assay::workloads
