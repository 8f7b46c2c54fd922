#include "report/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

namespace assay::report {
namespace {

// Length of the UTF-8 sequence at `i`, or 0 when its bytes are no valid one (RFC 3629: no overlong forms, no
// surrogates, nothing beyond U+10FFFF).
size_t utf8_length(std::string_view text, size_t i) {
  const auto byte = [&](size_t k) { return i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0u; };
  const auto tail = [&](size_t k) { return (byte(k) & 0xC0u) == 0x80u; };
  const unsigned b = byte(0), c = byte(1);
  if (b < 0x80) return 1;
  if (b >= 0xC2 && b <= 0xDF) return tail(1) ? 2 : 0;
  if (b >= 0xE0 && b <= 0xEF) {
    if (!tail(1) || !tail(2) || (b == 0xE0 && c < 0xA0) || (b == 0xED && c > 0x9F)) return 0;
    return 3;
  }
  if (b >= 0xF0 && b <= 0xF4) {
    if (!tail(1) || !tail(2) || !tail(3) || (b == 0xF0 && c < 0x90) || (b == 0xF4 && c > 0x8F)) return 0;
    return 4;
  }
  return 0;
}

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

std::string python_string(std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos,
             has_double = text.find('"') != std::string_view::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  std::string out(1, quote);
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '\\' || c == quote)
      out += fmt::format("\\{}", c);
    else if (c == '\n')
      out += "\\n";
    else if (c == '\r')
      out += "\\r";
    else if (c == '\t')
      out += "\\t";
    else if (u < 0x20 || u == 0x7F)
      out += fmt::format("\\x{:02x}", u);
    else
      out += c;
  }
  return out + quote;
}

std::string python_float(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", v);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

bool usable(std::optional<double> v) { return v && std::isfinite(*v); }

}  // namespace

std::string metric_text(std::optional<double> value) {
  return usable(value) ? fmt::format("{:.3f}", *value) : std::string(kNoFigure);
}

std::string time_text(std::optional<double> value) {
  return usable(value) && *value >= 0 ? fmt::format("{:.2f}", *value) : std::string(kNoFigure);
}

std::string difference_text(std::optional<double> value) {
  if (!usable(value)) return std::string(kNoFigure);
  const std::string text = fmt::format("{:+.3f}", *value);
  return text == "+0.000" || text == "-0.000" ? "0.000" : text;
}

std::string ratio_text(std::optional<double> a, std::optional<double> b) {
  if (!usable(a) || !usable(b) || *a <= 0 || *b <= 0) return std::string(kNoFigure);
  return fmt::format("{:.2f}×", *a / *b);
}

std::string db_text(std::optional<double> value) {
  return usable(value) ? fmt::format("{:.1f}", *value) : std::string(kNoFigure);
}

std::string bytes_text(std::optional<int64_t> bytes) {
  if (!bytes || *bytes < 0) return std::string(kNoFigure);
  const auto v = static_cast<double>(*bytes);
  if (v >= 1e9) return fmt::format("{:.2f} GB", v / 1e9);
  if (v >= 1e6) return fmt::format("{:.1f} MB", v / 1e6);
  if (v >= 1e3) return fmt::format("{:.1f} kB", v / 1e3);
  return fmt::format("{} B", *bytes);
}

std::string percentile_text(const Percentile& percentile) {
  if (percentile.ms) return time_text(percentile.ms);
  return percentile.needed > 0 ? fmt::format("n<{}", percentile.needed) : std::string(kNoFigure);
}

std::string python_repr(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return "None";
    case Json::value_t::boolean:
      return value.get<bool>() ? "True" : "False";
    case Json::value_t::string:
      return python_string(value.get_ref<const std::string&>());
    case Json::value_t::number_float:
      return python_float(value.get<double>());
    case Json::value_t::array: {
      std::string out = "[";
      for (const Json& item : value) out += (out.size() > 1 ? ", " : "") + python_repr(item);
      return out + "]";
    }
    case Json::value_t::object: {
      std::string out = "{";
      for (const auto& [key, item] : value.items())
        out += (out.size() > 1 ? ", " : "") + python_string(key) + ": " + python_repr(item);
      return out + "}";
    }
    default:
      return value.dump();
  }
}

std::string value_text(const Json& value) { return value.is_string() ? value.get<std::string>() : python_repr(value); }

std::string short_text(const Json& value) {
  if (value.is_null() || (value.is_array() && value.empty())) return "none";
  if (!value.is_array()) return value_text(value);
  std::string out;
  for (const Json& item : value) out += (out.empty() ? "" : ", ") + value_text(item);
  return out;
}

std::string cell_label(const Record& record, const Cell& cell) {
  if (record.benchmarked().empty() || cell.values.empty()) return cell.id;
  std::string out;
  for (const Json& v : cell.values) out += (out.empty() ? "" : " · ") + short_text(v);
  return out;
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const size_t n = utf8_length(text, i);
    out += n == 0 ? kReplacement : text.substr(i, n);
    i += n == 0 ? 1 : n;
  }
  return out;
}

std::string html_escape(std::string_view text) {
  std::string out;
  for (const char c : valid_utf8(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t')
          out += kReplacement;
        else
          out += c;
    }
  }
  return out;
}

std::string markdown_escape(std::string_view text) {
  static constexpr std::string_view kMarkup = "\\`*[]<>#|~&";
  const std::string valid = valid_utf8(text);
  const auto word = [&](size_t i) {
    return i < valid.size() && std::isalnum(static_cast<unsigned char>(valid[i])) != 0;
  };
  std::string out;
  for (size_t i = 0; i < valid.size(); ++i) {
    const char c = valid[i];
    if (static_cast<unsigned char>(c) < 0x20) {
      out += ' ';
      continue;
    }
    // An underscore inside a word is no markup, and names read better without the backslash.
    const bool markup = c == '_' ? i == 0 || !word(i - 1) || !word(i + 1) : kMarkup.find(c) != std::string_view::npos;
    if (markup) out += '\\';
    out += c;
  }
  return out;
}

std::string markdown_code(std::string_view text, bool in_table) {
  std::string body;
  size_t run = 0, longest = 0;
  for (const char c : valid_utf8(text)) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
    if (static_cast<unsigned char>(c) < 0x20)
      body += ' ';
    else if (c == '|' && in_table)
      body += "\\|";
    else
      body += c;
  }
  if (body.empty()) return "` `";
  const std::string fence(longest + 1, '`');
  const bool pad = body.front() == '`' || body.back() == '`';
  return fence + (pad ? " " : "") + body + (pad ? " " : "") + fence;
}

std::string script_json(const Json& value) {
  std::string out;
  for (const char c : value.dump(-1, ' ', false, Json::error_handler_t::replace)) {
    if (c == '<')
      out += "\\u003c";
    else if (c == '>')
      out += "\\u003e";
    else if (c == '&')
      out += "\\u0026";
    else
      out += c;
  }
  return out;
}

}  // namespace assay::report
