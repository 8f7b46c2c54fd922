#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/hash.h"

namespace assay::workloads {

/// The accepted answers of a question. `starts` count Unicode code points of the passage; may be shorter than `texts`.
struct Answers {
  std::vector<std::string> texts;
  std::vector<int64_t> starts;
  bool operator==(const Answers&) const = default;
};

/// One field of one row. CSV and TSV give text only; JSON keeps numbers and lists apart.
using Cell =
    std::variant<std::monostate, int64_t, double, std::string, std::vector<std::string>, std::vector<int64_t>, Answers>;

/// Rows with named columns, whatever file they came from.
struct Dataset {
  std::string source;  ///< the file, for messages
  std::string format;  ///< "squad", "csv", "tsv", "json", "jsonl", "conll", "images"
  Hash128 hash;        ///< of the file's bytes: the identity that reports print
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows;  ///< each as long as `columns`
  std::vector<int64_t> lines;           ///< line each row begins at, from 1; empty when lines mean nothing
  std::vector<std::string> notes;       ///< what the reader decided or skipped, for the person to know

  int64_t size() const { return static_cast<int64_t>(rows.size()); }
  /// Index of a column; InvalidArgument naming the nearest when there is none.
  size_t column(std::string_view name) const;
  bool has(std::string_view name) const;
  const Cell& at(int64_t row, size_t column_index) const { return rows[static_cast<size_t>(row)][column_index]; }
  /// The field as text. BadFile naming file, row and column when it is not text.
  const std::string& text(int64_t row, size_t column_index) const;
  /// "row 12 (line 40)": rows count from 0, lines from 1.
  std::string where(int64_t row) const;
};

/// Which columns a task reads, as in Optimum's run config: data["primary"], data["secondary"] (text, token and image
/// tasks) or data["question"], data["context"]; `ref` is the one reference column. Empty: the task's usual names.
struct DataKeys {
  std::map<std::string, std::string, std::less<>> data;
  std::vector<std::string> ref;
};

/// The column that plays `role`: the one `keys` names, else the first of `usual` that the data set has. NotFound naming
/// role and columns when there is none, InvalidArgument (with the nearest name) when the one named is absent.
size_t data_column(const Dataset& data, const DataKeys& keys, std::string_view role,
                   const std::vector<std::string>& usual);
/// The same for the reference column. InvalidArgument when `ref` names more than one.
size_t ref_column(const Dataset& data, const DataKeys& keys, const std::vector<std::string>& usual);
/// InvalidArgument when `keys.data` holds a role that the task does not know (naming the nearest).
void check_roles(const DataKeys& keys, const std::vector<std::string>& roles);

}  // namespace assay::workloads
