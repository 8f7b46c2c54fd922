#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace assay {

/// 128-bit content hash (XXH3): identity of weights, files and run cells. Not cryptographic.
struct Hash128 {
  uint64_t high = 0, low = 0;
  bool operator==(const Hash128&) const = default;
  auto operator<=>(const Hash128&) const = default;
  /// 32 lower-case hexadecimal digits.
  std::string hex() const;
};

Hash128 hash_bytes(std::span<const std::byte> bytes);
Hash128 hash_text(std::string_view text);

}  // namespace assay
