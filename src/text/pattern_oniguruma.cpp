#include <oniguruma.h>

#include <limits>
#include <mutex>

#include "base/error.h"
#include "text/pattern.h"
#include "text/utf8.h"

namespace assay::text {
namespace {

// Far above what any published pattern needs on any text; a hostile pattern stops here instead of running for hours.
constexpr unsigned long kRetryLimit = 1'000'000;
constexpr unsigned long kRetriesPerByte = 256;
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

/// Members of a class by name, as ranges in brackets, that an Oniguruma of Unicode 14 lacks.
struct ClassAddition {
  std::string_view name, ranges;
};

#include "text/pattern_classes.inc"

std::string_view addition_to(std::string_view name) {
  for (const ClassAddition& addition : kClassAdditions)
    if (addition.name == name) return addition.ranges;
  return {};
}

/// The class that an escape at the start of `rest` names (\p{L}, \P{L}, \p{^L}, \w, \d, \W, \D), its length and sense.
struct ClassEscape {
  std::string_view name;
  size_t length = 0;
  bool negated = false;
};

ClassEscape class_escape(std::string_view rest) {
  if (rest.size() < 2 || rest[0] != '\\') return {};
  switch (rest[1]) {
    case 'w':
    case 'd':
      return {rest.substr(1, 1), 2, false};
    case 'W':
      return {"w", 2, true};
    case 'D':
      return {"d", 2, true};
    case 'p':
    case 'P': {
      const size_t close = rest.find('}');
      if (rest.size() < 4 || rest[2] != '{' || close == std::string_view::npos) return {};
      std::string_view name = rest.substr(3, close - 3);
      const bool caret = name.starts_with('^');
      if (caret) name.remove_prefix(1);
      return {name, close + 1, caret != (rest[1] == 'P')};
    }
    default:
      return {};
  }
}

/// Adds to the classes that an expression names what the `tokenizers` package's newer Oniguruma has in them. A bracket
/// may stand alone or within another.
std::string with_newer_classes(const std::string& expression) {
  std::string out;
  for (size_t at = 0; at < expression.size();) {
    const std::string_view rest = std::string_view(expression).substr(at);
    const ClassEscape escape = class_escape(rest);
    const std::string_view ranges = addition_to(escape.name);
    if (escape.length > 0 && !ranges.empty()) {
      const std::string known = escape.name.size() == 1 && (escape.name == "w" || escape.name == "d")
                                    ? "\\" + std::string(escape.name)
                                    : "\\p{" + std::string(escape.name) + "}";
      out.append(escape.negated ? "[^" : "[").append(known).append(ranges).append("]");
      at += escape.length;
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
    const std::string spelled = with_newer_classes(expression);
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
    const unsigned long retries = kRetryLimit + kRetriesPerByte * text.size();
    onig_set_retry_limit_in_match_of_match_param(param.get(), retries);
    onig_set_retry_limit_in_search_of_match_param(param.get(), retries);
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
