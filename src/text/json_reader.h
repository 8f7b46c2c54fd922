#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace assay::text {

/// JSON text as a tree. Throws BadFile for text that is not JSON, nests deeper than 256 or holds bytes that are not
/// UTF-8.
nlohmann::json parse_json(std::string_view text);

/// A JSON value together with its path ("$.model.vocab"), read with checks: every getter throws BadFile naming the path
/// and what stands there instead. Points into the tree, which must outlive it.
class JsonAt {
 public:
  JsonAt(const nlohmann::json& value, std::string path) : value_(&value), path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  const nlohmann::json& value() const { return *value_; }
  bool is_null() const { return value_->is_null(); }
  bool is_string() const { return value_->is_string(); }
  bool is_object() const { return value_->is_object(); }
  bool is_array() const { return value_->is_array(); }

  /// A member that must be there.
  JsonAt at(std::string_view key) const;
  /// A member that may be absent or null.
  std::optional<JsonAt> find(std::string_view key) const;
  /// Elements of an array.
  JsonAt at(size_t index) const;
  size_t array_size() const;

  const std::string& string() const;
  bool boolean() const;
  uint32_t u32() const;
  /// A string of exactly one character.
  char32_t character() const;

  bool boolean_or(std::string_view key, bool fallback) const;
  /// The "type" member.
  const std::string& type() const;

  template <typename... Args>
  [[noreturn]] void bad(fmt::format_string<Args...> format, Args&&... args) const {
    throw Error(ErrorCode::kBadFile, fmt::format("{}: {}", path_, fmt::format(format, std::forward<Args>(args)...)));
  }
  /// Unsupported, naming the component: "pre_tokenizer 'Foo' at $.pre_tokenizer is not supported".
  [[noreturn]] void unsupported(std::string_view kind) const;

 private:
  [[noreturn]] void wrong(std::string_view wanted) const;

  const nlohmann::json* value_;
  std::string path_;
};

}  // namespace assay::text
