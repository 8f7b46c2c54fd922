#include "text/byte_level.h"

#include <array>

#include "text/utf8.h"

namespace assay::text {
namespace {

struct ByteTable {
  std::array<char32_t, 256> chars{};
  std::array<std::string, 256> utf8;
  std::array<int16_t, 512> bytes{};

  ByteTable() {
    bytes.fill(-1);
    char32_t next = 0x100;
    for (size_t b = 0; b < 256; ++b) {
      const bool printable = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
      chars[b] = printable ? static_cast<char32_t>(b) : next++;
      append_char(utf8[b], chars[b]);
      bytes[chars[b]] = static_cast<int16_t>(b);
    }
  }
};

const ByteTable& table() {
  static const ByteTable t;
  return t;
}

}  // namespace

char32_t byte_to_char(uint8_t byte) { return table().chars[byte]; }

std::optional<uint8_t> char_to_byte(char32_t c) {
  if (c >= 512 || table().bytes[c] < 0) return std::nullopt;
  return static_cast<uint8_t>(table().bytes[c]);
}

std::string_view byte_to_utf8(uint8_t byte) { return table().utf8[byte]; }

}  // namespace assay::text
