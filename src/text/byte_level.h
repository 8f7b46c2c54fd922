#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay::text {

/// The printable character that stands for a byte in byte-level vocabularies: printable Latin-1 for itself, the others
/// U+0100 onwards in order (GPT-2).
char32_t byte_to_char(uint8_t byte);
/// The inverse, where the character stands for a byte.
std::optional<uint8_t> char_to_byte(char32_t c);
/// The character of a byte, as UTF-8 (one or two bytes).
std::string_view byte_to_utf8(uint8_t byte);

}  // namespace assay::text
