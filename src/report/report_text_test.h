#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::report {

// Readers of the two rendered reports, for tests: they know Markdown tables and HTML tags, not our writers.

/// The cells of a Markdown table row, trimmed; an escaped pipe does not end a cell.
inline std::vector<std::string> markdown_row(std::string_view line) {
  std::vector<std::string> cells(1);
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '|' && (i == 0 || line[i - 1] != '\\'))
      cells.emplace_back();
    else
      cells.back() += line[i];
  }
  cells.erase(cells.begin());  // before the first pipe
  cells.pop_back();            // after the last
  for (std::string& c : cells) {
    c.erase(0, c.find_first_not_of(' '));
    c.erase(c.find_last_not_of(' ') + 1);
  }
  return cells;
}

inline std::vector<std::string> lines(std::string_view text) {
  std::vector<std::string> out(1);
  for (const char c : text) {
    if (c == '\n')
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

/// The text from `from` up to the next `to`; empty when `from` is not there.
inline std::string_view between(std::string_view text, std::string_view from, std::string_view to) {
  const size_t begin = text.find(from);
  if (begin == std::string_view::npos) return {};
  const size_t start = begin + from.size();
  return text.substr(start, text.find(to, start) - start);
}

/// The texts of all <td ...> of an HTML fragment whose class list begins with `kind`, tags inside dropped.
inline std::vector<std::string> td_texts(std::string_view html, std::string_view kind) {
  std::vector<std::string> out;
  const std::string open = "<td class=\"" + std::string(kind);
  for (size_t at = html.find(open); at != std::string_view::npos; at = html.find(open, at)) {
    at = html.find('>', at) + 1;
    const std::string_view inner = html.substr(at, html.find("</td>", at) - at);
    std::string text;
    bool tag = false;
    for (const char c : inner) {
      if (c == '<') tag = true;
      if (!tag) text += c;
      if (c == '>') tag = false;
    }
    out.push_back(std::move(text));
  }
  return out;
}

}  // namespace assay::report
