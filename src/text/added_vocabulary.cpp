#include "text/added_vocabulary.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "text/char_class.h"

namespace assay::text {
namespace {

bool ends_with_word(std::string_view text) {
  if (text.empty()) return false;
  size_t at = text.size();
  return is_word(previous_char(text, at));
}

bool starts_with_word(std::string_view text) {
  size_t at = 0;
  return !text.empty() && is_word(next_char(text, at));
}

/// Where the white space at the end of `text` starts.
size_t trailing_white(std::string_view text) {
  size_t at = text.size();
  while (at > 0) {
    size_t before = at;
    if (!is_white(previous_char(text, before))) break;
    at = before;
  }
  return at;
}

size_t leading_white(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    size_t next = at;
    if (!is_white(next_char(text, next))) break;
    at = next;
  }
  return at;
}

}  // namespace

void AddedVocabulary::Matcher::add(std::string_view content, uint32_t id) {
  if (content.empty()) return;
  first_[static_cast<unsigned char>(content[0])] = true;
  trie_.insert(content, id);
}

AddedVocabulary::AddedVocabulary(const JsonAt& json, const Vocabulary& model, const Normalizer* normalizer) {
  const auto model_size = static_cast<uint32_t>(model.size());
  uint64_t next = model_size;
  for (size_t i = 0; i < json.array_size(); ++i) {
    const JsonAt member = json.at(i);
    AddedToken token;
    token.content = member.at("content").string();
    token.single_word = member.boolean_or("single_word", false);
    token.lstrip = member.boolean_or("lstrip", false);
    token.rstrip = member.boolean_or("rstrip", false);
    token.special = member.boolean_or("special", false);
    token.normalized = member.boolean_or("normalized", !token.special);
    if (token.content.empty()) continue;
    auto id = id_of(token.content);
    if (!id) id = model.id_of(token.content);
    if (!id) {
      if (next > UINT32_MAX) member.bad("no id below 2^32 is left for this token");
      id = static_cast<uint32_t>(next++);
    }
    normalized_.erase(*id);
    if (token.normalized && normalizer != nullptr) {
      NormalizedString spelled(token.content, 0);
      normalizer->normalize(spelled);
      if (std::string text = spelled.text(); text != token.content) normalized_[*id] = std::move(text);
    }
    ids_[token.content] = *id;
    if (token.special) special_.insert(token.content);
    tokens_[*id] = std::move(token);
  }
  const std::map<uint32_t, const AddedToken*> ordered = [&] {
    std::map<uint32_t, const AddedToken*> out;
    for (const auto& [id, token] : tokens_) out[id] = &token;
    return out;
  }();
  for (const auto& [id, token] : ordered) {
    if (token->normalized) {
      after_.add(*token_of(id), id);
    } else {
      raw_.add(token->content, id);
    }
  }
}

std::optional<uint32_t> AddedVocabulary::id_of(std::string_view content) const {
  const auto it = ids_.find(content);
  return it == ids_.end() ? std::nullopt : std::optional(it->second);
}

const std::string* AddedVocabulary::token_of(uint32_t id) const {
  if (const auto it = normalized_.find(id); it != normalized_.end()) return &it->second;
  const auto it = tokens_.find(id);
  return it == tokens_.end() ? nullptr : &it->second.content;
}

void AddedVocabulary::cut(std::string_view text, const Matcher& matcher, std::vector<Part>& out) const {
  const auto size = static_cast<uint32_t>(text.size());
  if (matcher.empty()) {
    if (size > 0) out.push_back({{0, size}, -1});
    return;
  }
  size_t done = 0;  // what comes before is in `out`
  size_t taken = 0;
  for (size_t at = 0; at < text.size();) {
    const auto match = matcher.at(text, at);
    if (!match) {
      ++at;
      continue;
    }
    size_t begin = at, end = at + match->length;
    at = end;
    const AddedToken& token = tokens_.at(match->value);
    if (token.single_word && (ends_with_word(text.substr(0, begin)) || starts_with_word(text.substr(end)))) continue;
    if (token.lstrip) begin = begin > done ? done + trailing_white(text.substr(done, begin - done)) : done;
    if (token.rstrip) end += leading_white(text.substr(end));
    // Tokens of white space that also strip it overlap; they must not multiply the text.
    taken += end - begin;
    require(taken <= 4 * text.size() + 1024, ErrorCode::kResourceExhausted,
            "added tokens overlap each other without end");
    if (done < begin) out.push_back({{static_cast<uint32_t>(done), static_cast<uint32_t>(begin)}, -1});
    out.push_back({{static_cast<uint32_t>(begin), static_cast<uint32_t>(end)}, match->value});
    done = end;
  }
  if (done != text.size()) out.push_back({{static_cast<uint32_t>(done), size}, -1});
}

void AddedVocabulary::add_pieces(PreTokenized& out, Span bytes) const {
  if (bytes.begin == bytes.end) return;
  if (after_.empty()) {
    out.add_piece(bytes, out.source_at(bytes.begin).begin);
    return;
  }
  std::vector<Part> parts;
  cut(out.text().substr(bytes.begin, bytes.end - bytes.begin), after_, parts);
  for (const Part& part : parts) {
    const Span piece{bytes.begin + part.bytes.begin, bytes.begin + part.bytes.end};
    if (piece.begin < piece.end) out.add_piece(piece, out.source_at(piece.begin).begin, part.id);
  }
}

PreTokenized AddedVocabulary::extract(std::string_view source, const Normalizer* normalizer) const {
  PreTokenized out;
  std::vector<Part> parts;
  cut(source, raw_, parts);
  for (const Part& part : parts) {
    const std::string_view slice = source.substr(part.bytes.begin, part.bytes.end - part.bytes.begin);
    if (part.id >= 0) {
      out.add_piece(out.append(slice, part.bytes.begin), part.bytes.begin, part.id);
    } else if (normalizer == nullptr) {
      add_pieces(out, out.append(slice, part.bytes.begin));
    } else {
      NormalizedString normalized(slice, part.bytes.begin);
      normalizer->normalize(normalized);
      add_pieces(out, out.append(normalized));
    }
  }
  return out;
}

}  // namespace assay::text
