#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/json_reader.h"

namespace assay::text {

/// Lets maps keyed by std::string be searched with a string_view.
struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
};
template <typename Value>
using StringMap = std::unordered_map<std::string, Value, StringHash, std::equal_to<>>;

/// A model's vocabulary: tokens and ids, both ways. Ids may leave gaps.
class Vocabulary {
 public:
  /// Reads {"token": id, ...}. Throws BadFile with the JSON path.
  static Vocabulary read(const JsonAt& json);

  std::optional<uint32_t> id_of(std::string_view token) const {
    const auto it = ids_.find(token);
    return it == ids_.end() ? std::nullopt : std::optional(it->second);
  }
  /// Null for an id that no token has.
  const std::string* token_of(uint32_t id) const {
    if (id < dense_.size()) return dense_[id];
    const auto it = sparse_.find(id);
    return it == sparse_.end() ? nullptr : it->second;
  }
  size_t size() const { return ids_.size(); }
  const StringMap<uint32_t>& ids() const { return ids_; }

 private:
  StringMap<uint32_t> ids_;
  std::vector<const std::string*> dense_;  // points at keys of ids_, which do not move
  std::unordered_map<uint32_t, const std::string*> sparse_;
};

}  // namespace assay::text
