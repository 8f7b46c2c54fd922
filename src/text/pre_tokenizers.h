#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/encoding.h"
#include "text/json_reader.h"
#include "text/normalized_string.h"

namespace assay::text {

/// A text cut into pieces (words and added tokens), over one buffer of normalized UTF-8 whose every byte knows the
/// bytes of the source text that it stands for.
class PreTokenized {
 public:
  struct Piece {
    Span bytes;          ///< in text()
    uint32_t origin;     ///< where the piece starts in the source
    int64_t added = -1;  ///< id of the added token it is, or -1
  };

  std::string_view text() const { return text_; }
  std::string_view text(const Piece& piece) const {
    return std::string_view(text_).substr(piece.bytes.begin, piece.bytes.end - piece.bytes.begin);
  }
  const std::vector<Piece>& pieces() const { return pieces_; }
  /// The source bytes of a non-empty range of text().
  Span source_of(Span bytes) const { return {source_[bytes.begin].begin, source_[bytes.end - 1].end}; }
  Span source_at(uint32_t byte) const { return source_[byte]; }

  /// Appends a normalized slice to the buffer; its range, to be cut into pieces by add_piece.
  Span append(const NormalizedString& slice);
  /// Appends a slice of the source text as it is.
  Span append(std::string_view slice, uint32_t origin);
  /// A piece of the buffer; empty ones are dropped.
  void add_piece(Span bytes, uint32_t origin, int64_t added = -1);

  /// Cuts every piece that is not an added token: `cut(text, out)` appends ranges of bytes of the piece's text. Empty
  /// parts are dropped.
  template <typename Cut>
  void split(const Cut& cut) {
    std::vector<Piece> pieces;
    pieces.reserve(pieces_.size() * 2);
    std::vector<Span> parts;
    for (const Piece& piece : pieces_) {
      if (piece.added >= 0) {
        pieces.push_back(piece);
        continue;
      }
      parts.clear();
      cut(text(piece), parts);
      for (const Span& part : parts) {
        if (part.begin >= part.end) continue;
        const Span bytes{piece.bytes.begin + part.begin, piece.bytes.begin + part.end};
        pieces.push_back({bytes, source_[bytes.begin].begin});
      }
    }
    pieces_ = std::move(pieces);
  }

  /// Writes every piece anew: `write(piece, out)` appends the piece's new text and alignment; added tokens are copied.
  class Writer {
   public:
    void put(std::string_view utf8, Span source) {
      text_ += utf8;
      source_.insert(source_.end(), utf8.size(), source);
    }

   private:
    friend class PreTokenized;
    std::string text_;
    std::vector<Span> source_;
  };
  template <typename Write>
  void rewrite(const Write& write) {
    Writer out;
    out.text_.reserve(text_.size() * 2);
    out.source_.reserve(text_.size() * 2);
    for (Piece& piece : pieces_) {
      const auto begin = static_cast<uint32_t>(out.text_.size());
      if (piece.added >= 0) {
        copy(piece, out);
      } else {
        write(piece, out);
      }
      piece.bytes = {begin, checked_size(out.text_.size())};
    }
    text_ = std::move(out.text_);
    source_ = std::move(out.source_);
  }
  /// Copies a piece as it is.
  void copy(const Piece& piece, Writer& out) const;

 private:
  static uint32_t checked_size(size_t bytes);

  std::string text_;
  std::vector<Span> source_;  // one for each byte of text_
  std::vector<Piece> pieces_;
};

/// One step that cuts a text into words. Thread-safe.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void pre_tokenize(PreTokenized& text) const = 0;
};

/// Reads a `pre_tokenizer` member: BertPreTokenizer, ByteLevel, Split, Digits, Punctuation, Whitespace,
/// WhitespaceSplit, Metaspace or a Sequence of them. Throws BadFile or Unsupported with the JSON path.
std::unique_ptr<const PreTokenizer> read_pre_tokenizer(const JsonAt& json);

/// When Metaspace puts its replacement in front.
enum class PrependScheme { kAlways, kFirst, kNever };
/// The `prepend_scheme` of a Metaspace member, or what `add_prefix_space` of older files says.
PrependScheme read_prepend_scheme(const JsonAt& json);

}  // namespace assay::text
