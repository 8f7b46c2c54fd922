#include "base/hash.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace assay {

std::string Hash128::hex() const { return fmt::format("{:016x}{:016x}", high, low); }

Hash128 hash_bytes(std::span<const std::byte> bytes) {
  const XXH128_hash_t h = XXH3_128bits(bytes.data(), bytes.size());
  return {h.high64, h.low64};
}

Hash128 hash_text(std::string_view text) { return hash_bytes(std::as_bytes(std::span(text.data(), text.size()))); }

}  // namespace assay
