#include <oniguruma.h>

#include <limits>
#include <mutex>

#include "base/error.h"
#include "text/char_class.h"
#include "text/pattern.h"
#include "text/utf8.h"

namespace assay::text {
namespace {

// Far above what any published pattern needs on any text; a hostile pattern stops here instead of running for hours.
constexpr unsigned long kRetryLimit = 20'000'000;
constexpr unsigned int kStackLimit = 2'000'000;
constexpr size_t kMaxExpressionBytes = 1 << 16;

struct RegexDeleter {
  void operator()(regex_t* regex) const { onig_free(regex); }
};
struct RegionDeleter {
  void operator()(OnigRegion* region) const { onig_region_free(region, 1); }
};
struct ParamDeleter {
  void operator()(OnigMatchParam* param) const { onig_free_match_param(param); }
};

std::string onig_message(int code, OnigErrorInfo* info) {
  OnigUChar text[ONIG_MAX_ERROR_MESSAGE_LEN];
  const int length = info != nullptr ? onig_error_code_to_str(text, code, info) : onig_error_code_to_str(text, code);
  return replace_invalid({reinterpret_cast<const char*>(text), static_cast<size_t>(length)});
}

const OnigUChar* bytes_of(std::string_view text) { return reinterpret_cast<const OnigUChar*>(text.data()); }

/// A bracket expression of the measured ranges; nests within other brackets.
std::string bracket_of(CharBit bit) {
  std::string out = "[";
  for (const auto& [first, last] : class_ranges(bit))
    out += fmt::format("\\x{{{:x}}}-\\x{{{:x}}}", static_cast<uint32_t>(first), static_cast<uint32_t>(last));
  return out + "]";
}

/// Spells \p{L} and \p{N} out, since the Unicode version of the library at hand may be older.
std::string with_measured_classes(const std::string& expression) {
  std::string out;
  for (size_t at = 0; at < expression.size();) {
    const std::string_view rest = std::string_view(expression).substr(at);
    if (rest.starts_with("\\p{L}") || rest.starts_with("\\p{N}")) {
      static const std::string letters = bracket_of(kLetterBit), numbers = bracket_of(kNumberBit);
      out += rest[3] == 'L' ? letters : numbers;
      at += 5;
    } else {
      const size_t step = rest[0] == '\\' && rest.size() > 1 ? 2 : 1;
      out += rest.substr(0, step);
      at += step;
    }
  }
  return out;
}

class Oniguruma final : public Pattern {
 public:
  explicit Oniguruma(const std::string& expression) {
    static std::once_flag once;
    std::call_once(once, [] {
      OnigEncoding utf8[] = {ONIG_ENCODING_UTF8};
      onig_initialize(utf8, 1);
    });
    require(expression.size() <= kMaxExpressionBytes, ErrorCode::kBadFile,
            "regular expression of {} bytes is longer than {}", expression.size(), kMaxExpressionBytes);
    const std::string spelled = with_measured_classes(expression);
    regex_t* regex = nullptr;
    OnigErrorInfo info{};
    const int code = onig_new(&regex, bytes_of(spelled), bytes_of(spelled) + spelled.size(), ONIG_OPTION_NONE,
                              ONIG_ENCODING_UTF8, ONIG_SYNTAX_DEFAULT, &info);
    regex_.reset(regex);
    require(code == ONIG_NORMAL, ErrorCode::kBadFile, "bad regular expression '{}': {}", expression,
            code == ONIG_NORMAL ? "" : onig_message(code, &info));
  }

  void find(std::string_view text, std::vector<Span>& out) const override {
    const std::unique_ptr<OnigRegion, RegionDeleter> region(onig_region_new());
    const std::unique_ptr<OnigMatchParam, ParamDeleter> param(onig_new_match_param());
    require(region != nullptr && param != nullptr, ErrorCode::kResourceExhausted, "no memory for a regular expression");
    onig_initialize_match_param(param.get());
    onig_set_retry_limit_in_match_of_match_param(param.get(), kRetryLimit);
    onig_set_retry_limit_in_search_of_match_param(param.get(), kRetryLimit);
    onig_set_match_stack_limit_size_of_match_param(param.get(), kStackLimit);
    const OnigUChar* begin = bytes_of(text);
    const OnigUChar* end = begin + text.size();
    size_t from = 0;
    size_t last_end = std::numeric_limits<size_t>::max();
    while (from <= text.size()) {
      const int found = onig_search_with_param(regex_.get(), begin, end, begin + from, end, region.get(),
                                               ONIG_OPTION_NONE, param.get());
      if (found == ONIG_MISMATCH) return;
      require(found >= 0, ErrorCode::kResourceExhausted, "regular expression gave up on a text of {} bytes: {}",
              text.size(), found < 0 ? onig_message(found, nullptr) : "");
      const auto match_begin = static_cast<size_t>(region->beg[0]), match_end = static_cast<size_t>(region->end[0]);
      if (match_begin == match_end && match_end == last_end) {  // no empty match directly after a match
        from += from < text.size() ? utf8_length(static_cast<unsigned char>(text[from])) : 1;
        continue;
      }
      out.push_back({static_cast<uint32_t>(match_begin), static_cast<uint32_t>(match_end)});
      from = last_end = match_end;
    }
  }

 private:
  std::unique_ptr<regex_t, RegexDeleter> regex_;
};

}  // namespace

std::unique_ptr<const Pattern> oniguruma_pattern(const std::string& expression) {
  return std::make_unique<Oniguruma>(expression);
}

}  // namespace assay::text
