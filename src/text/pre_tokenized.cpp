#include "base/error.h"
#include "text/pre_tokenizers.h"
#include "text/utf8.h"

namespace assay::text {

uint32_t PreTokenized::checked_size(size_t bytes) {
  require(bytes <= 4 * kMaxTextBytes, ErrorCode::kResourceExhausted,
          "normalized text of {} bytes is too long; split the input", bytes);
  return static_cast<uint32_t>(bytes);
}

Span PreTokenized::append(const NormalizedString& slice) {
  const auto begin = static_cast<uint32_t>(text_.size());
  for (const NormalizedString::Char& k : slice.chars()) {
    append_char(text_, k.c);
    source_.resize(text_.size(), k.source);
  }
  return {begin, checked_size(text_.size())};
}

Span PreTokenized::append(std::string_view slice, uint32_t origin) {
  const auto begin = static_cast<uint32_t>(text_.size());
  text_ += slice;
  for (size_t at = 0; at < slice.size();) {
    const uint32_t length = utf8_length(static_cast<unsigned char>(slice[at]));
    const uint32_t start = origin + static_cast<uint32_t>(at);
    source_.insert(source_.end(), length, {start, start + length});
    at += length;
  }
  return {begin, checked_size(text_.size())};
}

void PreTokenized::add_piece(Span bytes, uint32_t origin, int64_t added) {
  if (bytes.begin < bytes.end) pieces_.push_back({bytes, origin, added});
}

void PreTokenized::copy(const Piece& piece, Writer& out) const {
  out.text_ += text(piece);
  out.source_.insert(out.source_.end(), source_.begin() + piece.bytes.begin, source_.begin() + piece.bytes.end);
}

}  // namespace assay::text
