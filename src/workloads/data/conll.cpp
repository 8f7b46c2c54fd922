#include <algorithm>

#include "base/error.h"
#include "workloads/data/read.h"

namespace assay::workloads {
namespace {

constexpr size_t kMaxWords = 1 << 20;

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> out;
  if (line.find('\t') != std::string_view::npos) {
    while (true) {
      const size_t end = line.find('\t');
      out.push_back(line.substr(0, end));
      if (end == std::string_view::npos) return out;
      line.remove_prefix(end + 1);
    }
  }
  while (true) {
    const size_t begin = line.find_first_not_of(' ');
    if (begin == std::string_view::npos) return out;
    const size_t end = std::min(line.find(' ', begin), line.size());
    out.push_back(line.substr(begin, end - begin));
    line.remove_prefix(end);
  }
}

std::string_view pick(const std::vector<std::string_view>& fields, int column, int64_t line, const char* what) {
  const auto n = static_cast<int>(fields.size());
  const int i = column < 0 ? n + column : column;
  require(i >= 0 && i < n, ErrorCode::kBadFile, "line {}: {} fields, the {} should be in column {}", line, n, what,
          column);
  return fields[static_cast<size_t>(i)];
}

}  // namespace

Dataset parse_conll(std::string_view text, const std::string& source, const ReadOptions& options) {
  require(options.word_column != options.label_column, ErrorCode::kInvalidArgument,
          "word and label cannot both be in column {}", options.word_column);
  Dataset data;
  data.source = source;
  data.format = "conll";
  data.columns = {"tokens", "ner_tags"};
  std::vector<std::string> words, labels;
  int64_t line = 0, first = 0, several = 0, several_line = 0;
  const auto flush = [&] {
    if (words.empty()) return;
    data.rows.push_back({std::move(words), std::move(labels)});
    data.lines.push_back(first);
    words.clear();
    labels.clear();
  };
  while (!text.empty() && (options.max_rows == 0 || data.size() < options.max_rows)) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view item = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line;
    if (!item.empty() && item.back() == '\r') item.remove_suffix(1);
    if (item.find_first_not_of(" \t") == std::string_view::npos) {
      flush();
      continue;
    }
    const auto fields = split(item);
    if (fields[0] == "-DOCSTART-") {
      flush();
      continue;
    }
    require(fields.size() >= 2, ErrorCode::kBadFile,
            "line {}: a word and a label are expected, separated by tab or space", line);
    require(words.size() < kMaxWords, ErrorCode::kResourceExhausted, "line {}: the sentence has more than {} words",
            line, kMaxWords);
    std::string_view label = pick(fields, options.label_column, line, "label");
    if (const size_t comma = label.find(','); comma != std::string_view::npos) {
      label = label.substr(0, comma);
      if (several++ == 0) several_line = line;
    }
    require(!label.empty(), ErrorCode::kBadFile, "line {}: the label is empty", line);
    if (words.empty()) first = line;
    words.emplace_back(pick(fields, options.word_column, line, "word"));
    labels.emplace_back(label);
  }
  if (options.max_rows == 0 || data.size() < options.max_rows) flush();
  if (several > 0)
    data.notes.push_back(
        fmt::format("{} words have several labels (first in line {}); the first label counts", several, several_line));
  return data;
}

}  // namespace assay::workloads
