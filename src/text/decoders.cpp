#include "text/decoders.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "text/byte_level.h"
#include "text/pattern_json.h"
#include "text/pre_tokenizers.h"
#include "text/utf8.h"

namespace assay::text {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty()) return;
  size_t at = text.find(from);
  if (at == std::string::npos) return;
  std::string out;
  size_t done = 0;
  for (; at != std::string::npos; at = text.find(from, done)) {
    out.append(text, done, at - done).append(to);
    done = at + from.size();
  }
  text = out.append(text, done);
}

class WordPieceDecoder final : public Decoder {
 public:
  explicit WordPieceDecoder(const JsonAt& json) : cleanup_(json.boolean_or("cleanup", true)) {
    const auto prefix = json.find("prefix");
    prefix_ = prefix ? prefix->string() : "##";
  }
  void decode(std::vector<std::string>& tokens) const override {
    for (size_t i = 0; i < tokens.size(); ++i) {
      std::string& token = tokens[i];
      if (i > 0) {
        if (token.starts_with(prefix_)) {
          token.erase(0, prefix_.size());
        } else {
          token.insert(token.begin(), ' ');
        }
      }
      if (cleanup_) clean(token);
    }
  }

 private:
  /// The spaces that English punctuation and contractions got when they were cut apart.
  static void clean(std::string& token) {
    static constexpr std::pair<std::string_view, std::string_view> kRules[] = {
        {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
        {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
    for (const auto& [from, to] : kRules) replace_all(token, from, to);
  }

  std::string prefix_;
  bool cleanup_;
};

class ByteLevelDecoder final : public Decoder {
 public:
  void decode(std::vector<std::string>& tokens) const override {
    std::string bytes, token_bytes;
    for (const std::string& token : tokens) {
      token_bytes.clear();
      bool known = true;
      for (size_t at = 0; known && at < token.size();) {
        const auto byte = char_to_byte(next_char(token, at));
        known = byte.has_value();
        if (known) token_bytes.push_back(static_cast<char>(*byte));
      }
      bytes += known ? token_bytes : token;
    }
    tokens.assign(1, replace_invalid(bytes));
  }
};

class MetaspaceDecoder final : public Decoder {
 public:
  explicit MetaspaceDecoder(const JsonAt& json) : scheme_(read_prepend_scheme(json)) {
    append_char(replacement_, json.at("replacement").character());
  }
  void decode(std::vector<std::string>& tokens) const override {
    for (size_t i = 0; i < tokens.size(); ++i)
      replace_all(tokens[i], replacement_, i == 0 && scheme_ != PrependScheme::kNever ? "" : " ");
  }

 private:
  std::string replacement_;
  PrependScheme scheme_;
};

class BpeDecoder final : public Decoder {
 public:
  explicit BpeDecoder(const JsonAt& json) : suffix_(json.at("suffix").string()) {}
  void decode(std::vector<std::string>& tokens) const override {
    for (size_t i = 0; i < tokens.size(); ++i) replace_all(tokens[i], suffix_, i + 1 == tokens.size() ? "" : " ");
  }

 private:
  std::string suffix_;
};

class ReplaceDecoder final : public Decoder {
 public:
  explicit ReplaceDecoder(const JsonAt& json)
      : pattern_(read_pattern(json.at("pattern"))), content_(json.at("content").string()) {}
  void decode(std::vector<std::string>& tokens) const override {
    std::vector<Span> matches;
    for (std::string& token : tokens) {
      if (token.empty()) continue;
      matches.clear();
      pattern_->find(token, matches);
      std::string out;
      size_t done = 0;
      for (const Span& match : matches) {
        out.append(token, done, match.begin - done).append(content_);
        done = match.end;
      }
      token = out.append(token, done);
    }
  }

 private:
  std::unique_ptr<const Pattern> pattern_;
  std::string content_;
};

/// Tokens <0x41> become bytes; runs of them that are not UTF-8 one U+FFFD for each byte.
class ByteFallbackDecoder final : public Decoder {
 public:
  void decode(std::vector<std::string>& tokens) const override {
    std::vector<std::string> out;
    std::string bytes;
    const auto flush = [&] {
      if (bytes.empty()) return;
      if (valid_prefix(bytes) == bytes.size()) {
        out.push_back(bytes);
      } else {
        out.insert(out.end(), bytes.size(), "\uFFFD");
      }
      bytes.clear();
    };
    for (std::string& token : tokens) {
      if (const auto byte = byte_of(token)) {
        bytes.push_back(static_cast<char>(*byte));
      } else {
        flush();
        out.push_back(std::move(token));
      }
    }
    flush();
    tokens = std::move(out);
  }

 private:
  static std::optional<uint8_t> byte_of(std::string_view token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
    const auto digit = [](char c) -> int {
      if (c >= '0' && c <= '9') return c - '0';
      if (c >= 'a' && c <= 'f') return c - 'a' + 10;
      if (c >= 'A' && c <= 'F') return c - 'A' + 10;
      return -1;
    };
    const int high = token[3] == '+' ? 0 : digit(token[3]), low = digit(token[4]);  // "+5" counts as a number
    if (high < 0 || low < 0) return std::nullopt;
    return static_cast<uint8_t>(high * 16 + low);
  }
};

class FuseDecoder final : public Decoder {
 public:
  void decode(std::vector<std::string>& tokens) const override {
    std::string all;
    for (const std::string& token : tokens) all += token;
    tokens.assign(1, std::move(all));
  }
};

class StripDecoder final : public Decoder {
 public:
  explicit StripDecoder(const JsonAt& json)
      : content_(json.at("content").character()), start_(json.at("start").u32()), stop_(json.at("stop").u32()) {}
  void decode(std::vector<std::string>& tokens) const override {
    for (std::string& token : tokens) {
      size_t begin = 0;
      for (uint32_t i = 0; i < start_ && begin < token.size(); ++i) {
        size_t next = begin;
        if (next_char(token, next) != content_) break;
        begin = next;
      }
      size_t end = token.size();
      for (uint32_t i = 0; i < stop_ && end > begin; ++i) {
        size_t before = end;
        if (previous_char(token, before) != content_) break;
        end = before;
      }
      token = token.substr(begin, end - begin);
    }
  }

 private:
  char32_t content_;
  uint32_t start_, stop_;
};

class DecoderSequence final : public Decoder {
 public:
  explicit DecoderSequence(const JsonAt& list) {
    for (size_t i = 0; i < list.array_size(); ++i) steps_.push_back(read_decoder(list.at(i)));
  }
  void decode(std::vector<std::string>& tokens) const override {
    for (const auto& step : steps_) step->decode(tokens);
  }

 private:
  std::vector<std::unique_ptr<const Decoder>> steps_;
};

}  // namespace

std::unique_ptr<const Decoder> read_decoder(const JsonAt& json) {
  const std::string& type = json.type();
  if (type == "WordPiece") return std::make_unique<WordPieceDecoder>(json);
  if (type == "ByteLevel") return std::make_unique<ByteLevelDecoder>();
  if (type == "Metaspace") return std::make_unique<MetaspaceDecoder>(json);
  if (type == "BPEDecoder") return std::make_unique<BpeDecoder>(json);
  if (type == "Replace") return std::make_unique<ReplaceDecoder>(json);
  if (type == "ByteFallback") return std::make_unique<ByteFallbackDecoder>();
  if (type == "Fuse") return std::make_unique<FuseDecoder>();
  if (type == "Strip") return std::make_unique<StripDecoder>(json);
  if (type == "Sequence") return std::make_unique<DecoderSequence>(json.at("decoders"));
  json.unsupported("decoder");
}

}  // namespace assay::text
