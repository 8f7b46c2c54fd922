#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "report/record.h"

namespace assay::report {

// Every number of report.md and report.html goes through these functions, so that the same figure has the same digits
// everywhere: results.json holds the unrounded value and these give its text.

/// What stands where there is no figure.
inline constexpr std::string_view kNoFigure = "–";

/// A task metric, 3 decimals, as in Optimum's cards; kNoFigure when absent or not finite.
std::string metric_text(std::optional<double> value);
/// A latency in ms or a rate in 1/s, 2 decimals; kNoFigure when absent, negative or not finite.
std::string time_text(std::optional<double> value);
/// A signed difference of metrics, 3 decimals ("+0.120", "-1.135"); "0.000" has no sign.
std::string difference_text(std::optional<double> value);
/// a / b with 2 decimals and a multiplication sign ("2.71×"); kNoFigure when either is absent or not positive.
std::string ratio_text(std::optional<double> a, std::optional<double> b);
/// Decibels, 1 decimal.
std::string db_text(std::optional<double> value);
/// "45.3 MB" (10^6 bytes), "812 kB", "12 B".
std::string bytes_text(std::optional<int64_t> bytes);
/// A percentile: its figure, or "n<500" when too few samples support it, or kNoFigure when not measured.
std::string percentile_text(const Percentile& percentile);

/// A value as Python's repr() prints it, the form of Optimum's cards: ['Add'], {'a': None}, False, 1e-05.
std::string python_repr(const Json& value);
/// python_repr, but a string at the top stands without quotes, as the cards print parameter values.
std::string value_text(const Json& value);
/// A short label for plots: list items joined by ", ", "none" for an empty list or null.
std::string short_text(const Json& value);
/// The cell's parameter values in short, joined by " · "; its id when nothing was benchmarked.
std::string cell_label(const Record& record, const Cell& cell);

/// Text made safe for HTML content and quoted attributes. Control characters and bytes that are not UTF-8 become
/// U+FFFD.
std::string html_escape(std::string_view text);
/// Text made safe for Markdown running text: markup characters are escaped, line ends become spaces.
std::string markdown_escape(std::string_view text);
/// Text as a Markdown code span that no backtick inside can end; in a table cell a pipe is escaped too.
std::string markdown_code(std::string_view text, bool in_table = false);
/// JSON that may stand inside a <script> element: no '<', '>' or '&' appears in it.
std::string script_json(const Json& value);
/// Valid UTF-8: wrong bytes become U+FFFD.
std::string valid_utf8(std::string_view text);

}  // namespace assay::report
