#include "text/json_reader.h"

#include <utility>

#include "text/utf8.h"

namespace assay::text {
namespace {

constexpr int kMaxDepth = 256;

/// Shut out before the tree is built, so that nothing that walks it can run out of stack.
void check_depth(std::string_view text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
      case '"':
        for (++i; i < text.size() && text[i] != '"'; ++i)
          if (text[i] == '\\') ++i;
        break;
      case '[':
      case '{':
        require(++depth <= kMaxDepth, ErrorCode::kBadFile, "JSON nests deeper than {} at byte {}", kMaxDepth, i);
        break;
      case ']':
      case '}':
        --depth;
        break;
      default:
        break;
    }
  }
}

}  // namespace

nlohmann::json parse_json(std::string_view text) {
  check_depth(text);
  try {
    return nlohmann::json::parse(text.begin(), text.end());
  } catch (const nlohmann::json::exception& e) {
    fail(ErrorCode::kBadFile, "not JSON: {}", replace_invalid(e.what()));
  }
}

void JsonAt::wrong(std::string_view wanted) const { bad("expected {}, found {}", wanted, value_->type_name()); }

JsonAt JsonAt::at(std::string_view key) const {
  if (auto member = find(key)) return *std::move(member);
  bad("member '{}' is missing", key);
}

std::optional<JsonAt> JsonAt::find(std::string_view key) const {
  if (!value_->is_object()) wrong("an object");
  const auto it = value_->find(key);
  if (it == value_->end() || it->is_null()) return std::nullopt;
  return JsonAt(*it, path_ + "." + std::string(key));
}

JsonAt JsonAt::at(size_t index) const {
  if (index >= array_size()) bad("has no element {}", index);
  return JsonAt((*value_)[index], fmt::format("{}[{}]", path_, index));
}

size_t JsonAt::array_size() const {
  if (!value_->is_array()) wrong("an array");
  return value_->size();
}

const std::string& JsonAt::string() const {
  if (!value_->is_string()) wrong("a string");
  return value_->get_ref<const std::string&>();
}

bool JsonAt::boolean() const {
  if (!value_->is_boolean()) wrong("true or false");
  return value_->get<bool>();
}

uint32_t JsonAt::u32() const {
  if (!value_->is_number_unsigned()) wrong("a whole number from 0 on");
  const auto number = value_->get<uint64_t>();
  if (number > UINT32_MAX) bad("{} is beyond {}", number, UINT32_MAX);
  return static_cast<uint32_t>(number);
}

char32_t JsonAt::character() const {
  const std::u32string points = to_code_points(string());
  if (points.size() != 1) bad("expected one character, found {}", points.size());
  return points[0];
}

bool JsonAt::boolean_or(std::string_view key, bool fallback) const {
  const auto member = find(key);
  return member ? member->boolean() : fallback;
}

const std::string& JsonAt::type() const { return at("type").string(); }

void JsonAt::unsupported(std::string_view kind) const {
  throw Error(ErrorCode::kUnsupported, fmt::format("{} '{}' at {} is not supported", kind, type(), path_));
}

}  // namespace assay::text
