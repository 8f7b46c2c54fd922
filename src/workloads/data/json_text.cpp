#include "workloads/data/json_text.h"

#include <algorithm>

#include "base/error.h"

namespace assay::workloads {
namespace {

using nlohmann::json;
constexpr int kMaxDepth = 64;

/// Before parsing: destroying and copying a value recurses to the text's depth.
void check_depth(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      require(++depth <= kMaxDepth, ErrorCode::kBadFile, "the JSON text nests deeper than {} levels at byte {}",
              kMaxDepth, i);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
}

}  // namespace

json parse_json(std::string_view text, int64_t first_line) {
  check_depth(text);
  try {
    return json::parse(text);
  } catch (const json::parse_error& e) {
    const size_t at = std::min(e.byte, text.size());
    const auto before = text.substr(0, at);
    const int64_t line = first_line + std::count(before.begin(), before.end(), '\n');
    std::string why = e.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 2: reason": the reason is what a person needs.
    if (const size_t colon = why.find(": "); colon != std::string::npos) why.erase(0, colon + 2);
    fail(ErrorCode::kBadFile, "line {}: {}", line, why);
  } catch (const json::exception& e) {
    fail(ErrorCode::kBadFile, "{}", e.what());
  }
}

bool looks_like_squad(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '{') return false;
  return text.substr(0, size_t{1} << 20).find("\"paragraphs\"") != std::string_view::npos;
}

std::string kind_of(const json& value) { return value.type_name(); }

Cell cell_of_json(const json& value) {
  if (value.is_null()) return std::monostate{};
  if (value.is_boolean()) return int64_t{value.get<bool>() ? 1 : 0};
  if (value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))
    return static_cast<double>(value.get<uint64_t>());
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_number_float()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array()) {
    const auto all = [&](auto test) { return std::all_of(value.begin(), value.end(), test); };
    if (all([](const json& v) { return v.is_string(); })) return value.get<std::vector<std::string>>();
    if (all([](const json& v) { return v.is_number_integer(); })) return value.get<std::vector<int64_t>>();
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
  }
  const auto text = value.find("text");
  if (text != value.end() && text->is_array() &&
      std::all_of(text->begin(), text->end(), [](const json& v) { return v.is_string(); })) {
    Answers answers{text->get<std::vector<std::string>>(), {}};
    const auto start = value.find("answer_start");
    if (start != value.end() && start->is_array() &&
        std::all_of(start->begin(), start->end(), [](const json& v) { return v.is_number_integer(); }))
      answers.starts = start->get<std::vector<int64_t>>();
    return answers;
  }
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace assay::workloads
