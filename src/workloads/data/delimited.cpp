#include <algorithm>
#include <charconv>
#include <set>

#include "base/error.h"
#include "workloads/data/read.h"

namespace assay::workloads {
namespace {

constexpr size_t kMaxFields = 4096;

struct Record {
  std::vector<std::string> fields;
  int64_t line = 0;
};

/// Cuts text into records: RFC 4180 with quotes, or plain. Line ends are LF or CRLF.
class Splitter {
 public:
  Splitter(std::string_view text, char delimiter, bool quoting)
      : text_(text), delimiter_(delimiter), quoting_(quoting) {}

  /// False at the end. Empty lines are skipped.
  bool next(Record& out) {
    while (at_ < text_.size()) {
      out.fields.clear();
      out.line = line_;
      read(out);
      if (out.fields.size() > 1 || !out.fields[0].empty() || quoted_any_) return true;
    }
    return false;
  }

 private:
  void read(Record& out) {
    quoted_any_ = false;
    while (true) {
      require(out.fields.size() < kMaxFields, ErrorCode::kResourceExhausted, "line {} has more than {} fields", line_,
              kMaxFields);
      const bool quoted = quoting_ && at_ < text_.size() && text_[at_] == '"';
      out.fields.push_back(quoted ? quoted_field(out.fields.size()) : plain_field());
      if (at_ >= text_.size()) return;
      if (text_[at_] == delimiter_) {
        ++at_;
        continue;
      }
      at_ += text_[at_] == '\r' ? 2 : 1;  // plain_field and quoted_field stop at CRLF or LF only
      ++line_;
      return;
    }
  }

  bool line_end(size_t i) const {
    return text_[i] == '\n' || (text_[i] == '\r' && i + 1 < text_.size() && text_[i + 1] == '\n');
  }

  std::string plain_field() {
    const size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != delimiter_ && !line_end(at_)) ++at_;
    size_t end = at_;
    if (at_ == text_.size() && end > begin && text_[end - 1] == '\r') --end;
    return std::string(text_.substr(begin, end - begin));
  }

  std::string quoted_field(size_t index) {
    const int64_t opened = line_;
    quoted_any_ = true;
    std::string out;
    ++at_;
    while (true) {
      require(at_ < text_.size(), ErrorCode::kBadFile, "line {}, field {}: the quote is never closed", opened, index);
      const char c = text_[at_++];
      if (c == '\n') ++line_;
      if (c != '"') {
        out += c;
      } else if (at_ < text_.size() && text_[at_] == '"') {
        out += '"';
        ++at_;
      } else {
        break;
      }
    }
    if (at_ + 1 == text_.size() && text_[at_] == '\r') ++at_;
    require(at_ >= text_.size() || text_[at_] == delimiter_ || line_end(at_), ErrorCode::kBadFile,
            "line {}, field {}: text follows the closing quote (a quote inside a field is written twice)", line_,
            index);
    return out;
  }

  std::string_view text_;
  char delimiter_;
  bool quoting_;
  bool quoted_any_ = false;
  size_t at_ = 0;
  int64_t line_ = 1;
};

bool is_number(const std::string& s) {
  double v = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
  return !s.empty() && error == std::errc() && end == s.data() + s.size();
}

/// Names look like identifiers: short, distinct, no number, no sentence. The first of several may be empty: an index.
bool looks_like_header(const std::vector<std::string>& fields) {
  std::set<std::string> seen;
  for (const std::string& f : fields) {
    if (f.empty() && &f == &fields.front() && fields.size() > 1) continue;
    if (f.empty() || f.size() > 64 || is_number(f) || !seen.insert(f).second) return false;
    if (f.find_first_of(" \t\"") != std::string::npos) return false;
  }
  return true;
}

void check_names(const std::vector<std::string>& names) {
  std::set<std::string> seen;
  for (const std::string& n : names)
    require(seen.insert(n).second, ErrorCode::kBadFile, "two columns are named '{}'", n);
}

}  // namespace

Dataset parse_delimited(std::string_view text, const std::string& source, const ReadOptions& options) {
  const bool tsv = options.format == DataFormat::kTsv;
  const char delimiter = options.delimiter.value_or(tsv ? '\t' : ',');
  require(delimiter != '"' && delimiter != '\n' && delimiter != '\r', ErrorCode::kInvalidArgument,
          "a quote or line end cannot separate fields");
  Splitter splitter(text, delimiter, options.quoting.value_or(!tsv));
  Dataset data;
  data.source = source;
  data.format = tsv ? "tsv" : "csv";

  Record record;
  bool pending = splitter.next(record);
  if (!pending) {
    data.columns = options.columns;
    return data;
  }
  if (!options.columns.empty()) {
    data.columns = options.columns;
    // Names were given; a first record that repeats them is still a header.
    const bool repeats = record.fields == options.columns;
    if (options.header.value_or(repeats)) pending = false;
  } else if (options.header.value_or(looks_like_header(record.fields))) {
    data.columns = record.fields;
    pending = false;
    if (!options.header) data.notes.push_back(fmt::format("line {} was read as column names", record.line));
  } else {
    if (record.fields.size() == 2)
      data.columns = {"sentence", "label"};
    else
      for (size_t i = 0; i < record.fields.size(); ++i) data.columns.push_back(fmt::format("column_{}", i));
    std::string names;
    for (const std::string& n : data.columns) names += (names.empty() ? "" : ", ") + n;
    data.notes.push_back(fmt::format("no header; columns are called {}", names));
  }
  check_names(data.columns);

  while (pending || splitter.next(record)) {
    pending = false;
    if (options.max_rows > 0 && data.size() >= options.max_rows) break;
    require(record.fields.size() == data.columns.size(), ErrorCode::kBadFile,
            "line {}: {} fields where {} columns are expected", record.line, record.fields.size(), data.columns.size());
    data.rows.emplace_back(std::make_move_iterator(record.fields.begin()),
                           std::make_move_iterator(record.fields.end()));
    data.lines.push_back(record.line);
  }
  return data;
}

}  // namespace assay::workloads
