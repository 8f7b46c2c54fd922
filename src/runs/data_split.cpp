#include "runs/data_split.h"

#include <algorithm>
#include <regex>

#include "base/error.h"

namespace assay::runs {

DataSplit parse_split(const std::string& text) {
  if (text.empty() || text.back() != ']') return {text, std::nullopt, std::nullopt};
  static const std::regex kSlice("(.*)\\[(-?[0-9]{0,12}):(-?[0-9]{0,12})\\]");
  std::smatch m;
  require(text.size() < 4096 && std::regex_match(text, m, kSlice) && m[2] != "-" && m[3] != "-",
          ErrorCode::kInvalidArgument, "'{}' ends in brackets that hold no slice such as [:100] or [10:20]", text);
  DataSplit split;
  split.file = m[1];
  if (m[2].length() > 0) split.begin = std::stoll(m[2]);
  if (m[3].length() > 0) split.end = std::stoll(m[3]);
  return split;
}

workloads::Dataset read_split(const std::filesystem::path& path, const std::optional<std::string>& text,
                              const workloads::ReadOptions& options) {
  const DataSplit split = text ? parse_split(*text) : DataSplit{};
  workloads::Dataset data = workloads::read_dataset(split.file.empty() ? path : path / split.file, options);
  const auto place = [&](std::optional<int64_t> at, int64_t otherwise) {
    if (!at) return otherwise;
    return std::clamp<int64_t>(*at < 0 ? *at + data.size() : *at, 0, data.size());
  };
  const int64_t begin = place(split.begin, 0);
  const int64_t end = std::max(begin, place(split.end, data.size()));
  if (begin > 0 || end < data.size()) {
    data.rows = {data.rows.begin() + begin, data.rows.begin() + end};
    if (!data.lines.empty()) data.lines = {data.lines.begin() + begin, data.lines.begin() + end};
    data.notes.push_back(fmt::format("rows {} to {} of {}", begin, end, data.source));
  }
  require(data.size() > 0, ErrorCode::kInvalidArgument, "'{}' leaves no rows of {}", text.value_or(""), data.source);
  return data;
}

}  // namespace assay::runs
