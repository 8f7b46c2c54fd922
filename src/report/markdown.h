#pragma once

#include <string>

#include "report/record.h"

namespace assay::report {

/// report.md: the structure of Optimum's run cards (YAML head, parameters, non-time metrics, one time table for each
/// batch size and input length), then our additions: samples a second, percentiles, what was quantized and why,
/// machine, versions.
std::string to_markdown(const Record& record);

/// A Markdown table with centred columns.
class MarkdownTable {
 public:
  explicit MarkdownTable(const std::vector<std::string>& head);
  /// Cells are Markdown already; a pipe in them must be escaped.
  void row(const std::vector<std::string>& cells);
  std::string text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace assay::report
