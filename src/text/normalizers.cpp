#include "text/normalizers.h"

#include <string>
#include <utility>
#include <vector>

#include "text/byte_level.h"
#include "text/char_class.h"
#include "text/pattern_json.h"
#include "text/utf8.h"

namespace assay::text {
namespace {

class BertNormalizer final : public Normalizer {
 public:
  explicit BertNormalizer(const JsonAt& json)
      : clean_(json.boolean_or("clean_text", true)),
        chinese_(json.boolean_or("handle_chinese_chars", true)),
        lowercase_(json.boolean_or("lowercase", true)),
        strip_accents_(json.boolean_or("strip_accents", lowercase_)) {}

  void normalize(NormalizedString& text) const override {
    if (clean_) {
      text.filter([](char32_t c) {
        if (c >= 0x20 && c < 0x7F) return true;
        if (c == '\t' || c == '\n' || c == '\r') return true;
        return c != 0 && c != 0xFFFD && (char_bits(c) & kOtherBit) == 0;
      });
      text.map([](char32_t c) { return is_white(c) ? U' ' : c; });
    }
    if (!text.ascii()) {
      if (chinese_) {
        text.expand([](char32_t c, std::u32string& out) {
          if (is_chinese(c)) {
            out += {U' ', c, U' '};
          } else {
            out.push_back(c);
          }
        });
      }
      if (strip_accents_) {
        text.apply(NormalForm::kNfd);
        text.filter([](char32_t c) { return c < 0x300 || (char_bits(c) & kNonspacingMarkBit) == 0; });
      }
    }
    if (lowercase_) text.lowercase();
  }

 private:
  bool clean_, chinese_, lowercase_, strip_accents_;
};

class FormNormalizer final : public Normalizer {
 public:
  explicit FormNormalizer(NormalForm form) : form_(form) {}
  void normalize(NormalizedString& text) const override { text.apply(form_); }

 private:
  NormalForm form_;
};

class Lowercase final : public Normalizer {
 public:
  void normalize(NormalizedString& text) const override { text.lowercase(); }
};

class StripAccents final : public Normalizer {
 public:
  void normalize(NormalizedString& text) const override {
    text.filter([](char32_t c) { return c < 0x300 || (char_bits(c) & kMarkBit) == 0; });
  }
};

class Strip final : public Normalizer {
 public:
  explicit Strip(const JsonAt& json)
      : left_(json.boolean_or("strip_left", true)), right_(json.boolean_or("strip_right", true)) {}
  void normalize(NormalizedString& text) const override { text.strip(left_, right_); }

 private:
  bool left_, right_;
};

class Prepend final : public Normalizer {
 public:
  explicit Prepend(const JsonAt& json) : prefix_(to_code_points(json.at("prepend").string())) {}
  void normalize(NormalizedString& text) const override { text.prepend(prefix_); }

 private:
  std::u32string prefix_;
};

class Replace final : public Normalizer {
 public:
  explicit Replace(const JsonAt& json)
      : pattern_(read_pattern(json.at("pattern"))), content_(to_code_points(json.at("content").string())) {}
  void normalize(NormalizedString& text) const override {
    if (text.empty()) return;
    std::vector<Span> matches;
    pattern_->find(text.text(), matches);
    text.replace(matches, content_);
  }

 private:
  std::unique_ptr<const Pattern> pattern_;
  std::u32string content_;
};

class ByteLevelNormalizer final : public Normalizer {
 public:
  void normalize(NormalizedString& text) const override {
    std::string bytes;
    text.expand([&](char32_t c, std::u32string& out) {
      bytes.clear();
      append_char(bytes, c);
      for (const char b : bytes) out.push_back(byte_to_char(static_cast<unsigned char>(b)));
    });
  }
};

class NormalizerSequence final : public Normalizer {
 public:
  explicit NormalizerSequence(const JsonAt& list) {
    for (size_t i = 0; i < list.array_size(); ++i) steps_.push_back(read_normalizer(list.at(i)));
  }
  void normalize(NormalizedString& text) const override {
    for (const auto& step : steps_) step->normalize(text);
  }

 private:
  std::vector<std::unique_ptr<const Normalizer>> steps_;
};

}  // namespace

std::unique_ptr<const Normalizer> read_normalizer(const JsonAt& json) {
  const std::string& type = json.type();
  if (type == "BertNormalizer" || type == "Bert") return std::make_unique<BertNormalizer>(json);
  if (type == "NFC") return std::make_unique<FormNormalizer>(NormalForm::kNfc);
  if (type == "NFD") return std::make_unique<FormNormalizer>(NormalForm::kNfd);
  if (type == "NFKC") return std::make_unique<FormNormalizer>(NormalForm::kNfkc);
  if (type == "NFKD") return std::make_unique<FormNormalizer>(NormalForm::kNfkd);
  if (type == "Lowercase") return std::make_unique<Lowercase>();
  if (type == "StripAccents") return std::make_unique<StripAccents>();
  if (type == "Strip") return std::make_unique<Strip>(json);
  if (type == "Prepend") return std::make_unique<Prepend>(json);
  if (type == "Replace") return std::make_unique<Replace>(json);
  if (type == "ByteLevel") return std::make_unique<ByteLevelNormalizer>();
  if (type == "Sequence") return std::make_unique<NormalizerSequence>(json.at("normalizers"));
  json.unsupported("normalizer");
}

}  // namespace assay::text
