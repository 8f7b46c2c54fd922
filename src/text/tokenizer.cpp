#include "text/tokenizer.h"

#include <array>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "text/encoding_ops.h"
#include "text/tokenizer_json.h"
#include "text/utf8.h"

namespace assay::text {
namespace {

void push(Encoding& out, uint32_t id, std::string_view token, Span chars, int32_t word, uint8_t sequence) {
  out.ids.push_back(id);
  out.type_ids.push_back(sequence);
  out.tokens.emplace_back(token);
  out.offsets.push_back(chars);
  out.word_ids.push_back(word);
  out.sequence_ids.push_back(static_cast<int8_t>(sequence));
}

/// Tokens of one text, without special tokens; offsets in code points, byte offsets still to come.
Encoding encode_text(const Tokenizer::Parts& parts, const SourceText& source, uint8_t sequence) {
  PreTokenized text = parts.added.extract(source.text(), parts.normalizer.get());
  if (parts.pre_tokenizer) parts.pre_tokenizer->pre_tokenize(text);
  const Vocabulary& vocabulary = parts.model->vocabulary();
  Encoding out;
  std::vector<WordToken> tokens;
  int32_t word = 0;
  for (const PreTokenized::Piece& piece : text.pieces()) {
    const std::string_view bytes = text.text(piece);
    if (piece.added >= 0) {
      push(out, static_cast<uint32_t>(piece.added), bytes, source.to_chars(text.source_of(piece.bytes)), word++,
           sequence);
      continue;
    }
    tokens.clear();
    parts.model->tokenize(bytes, tokens);
    for (const WordToken& token : tokens) {
      // Where characters were left out or spelled by more tokens than bytes, a token may reach beyond its word.
      Span chars = token.bytes;
      if (token.bytes.begin == token.bytes.end) {
        chars = source.to_chars({piece.origin + token.bytes.begin, piece.origin + token.bytes.end});
      } else if (token.bytes.end <= bytes.size()) {
        chars = source.to_chars(
            text.source_of({piece.bytes.begin + token.bytes.begin, piece.bytes.begin + token.bytes.end}));
      } else {
        chars = source.to_chars(token.bytes);
      }
      const std::string* spelled = vocabulary.token_of(token.id);
      push(out, token.id, spelled != nullptr ? *spelled : std::string_view(), chars, word, sequence);
    }
    ++word;
  }
  out.special_tokens_mask.assign(out.size(), 0);
  out.attention_mask.assign(out.size(), 1);
  out.byte_offsets.resize(out.size());
  return out;
}

void fill_byte_offsets(Encoding& encoding, std::span<const SourceText> sources) {
  for (size_t i = 0; i < encoding.size(); ++i) {
    const int sequence = encoding.sequence_ids[i];
    encoding.byte_offsets[i] =
        sequence < 0 ? Span{} : sources[static_cast<size_t>(sequence)].to_original_bytes(encoding.offsets[i]);
  }
  for (Encoding& window : encoding.overflowing) fill_byte_offsets(window, sources);
}

Encoding encode_all(const Tokenizer::Parts& parts, std::span<const SourceText> sources, const EncodeOptions& options) {
  std::vector<Encoding> encodings;
  for (size_t i = 0; i < sources.size(); ++i)
    encodings.push_back(encode_text(parts, sources[i], static_cast<uint8_t>(i)));
  if (options.truncation) {
    const bool special = options.add_special_tokens && parts.post_processor;
    truncate_together(encodings, *options.truncation,
                      special ? parts.post_processor->added_tokens(sources.size() > 1) : 0);
  }
  if (parts.post_processor) parts.post_processor->process(encodings, options.add_special_tokens);
  Encoding out;
  for (Encoding& encoding : encodings) append(out, std::move(encoding));
  fill_byte_offsets(out, sources);
  return out;
}

}  // namespace

Tokenizer Tokenizer::load(const std::filesystem::path& path) {
  const auto file = std::filesystem::is_directory(path) ? path / "tokenizer.json" : path;
  try {
    return parse(read_text(file));
  } catch (Error& e) {
    throw e.at("file", file.string());
  }
}

Tokenizer Tokenizer::parse(std::string_view json) { return Tokenizer(Parts::read(json)); }

Tokenizer::Tokenizer(std::unique_ptr<const Parts> parts) : parts_(std::move(parts)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Encoding Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  const std::array<SourceText, 1> sources{SourceText(text)};
  return encode_all(*parts_, sources, options);
}

Encoding Tokenizer::encode(std::string_view first, std::string_view second, const EncodeOptions& options) const {
  const std::array<SourceText, 2> sources{SourceText(first), SourceText(second)};
  return encode_all(*parts_, sources, options);
}

std::string Tokenizer::decode(std::span<const uint32_t> ids, bool skip_special_tokens) const {
  std::vector<std::string> tokens;
  for (const uint32_t id : ids) {
    const std::string* token = parts_->added.token_of(id);
    if (token == nullptr) token = parts_->model->vocabulary().token_of(id);
    if (token == nullptr || (skip_special_tokens && parts_->added.is_special(*token))) continue;
    tokens.push_back(*token);
  }
  std::string out;
  if (parts_->decoder) {
    parts_->decoder->decode(tokens);
    for (const std::string& token : tokens) out += token;
  } else {
    for (size_t i = 0; i < tokens.size(); ++i) out += (i == 0 ? "" : " ") + tokens[i];
  }
  return out;
}

std::optional<uint32_t> Tokenizer::token_to_id(std::string_view token) const {
  const auto id = parts_->added.id_of(token);
  return id ? id : parts_->model->vocabulary().id_of(token);
}

std::optional<std::string> Tokenizer::id_to_token(uint32_t id) const {
  const std::string* token = parts_->added.token_of(id);
  if (token == nullptr) token = parts_->model->vocabulary().token_of(id);
  return token == nullptr ? std::nullopt : std::optional(*token);
}

size_t Tokenizer::vocab_size(bool with_added_tokens) const {
  const Vocabulary& vocabulary = parts_->model->vocabulary();
  size_t size = vocabulary.size();
  if (with_added_tokens)
    for (const auto& [content, id] : parts_->added.ids()) size += vocabulary.id_of(content) ? 0 : 1;
  return size;
}

size_t Tokenizer::added_token_count(bool pair) const {
  return parts_->post_processor ? parts_->post_processor->added_tokens(pair) : 0;
}

const std::optional<Truncation>& Tokenizer::truncation() const { return parts_->truncation; }
const std::optional<Padding>& Tokenizer::padding() const { return parts_->padding; }

}  // namespace assay::text
