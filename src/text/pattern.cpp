#include "text/pattern.h"

#include <algorithm>
#include <utility>

#include "text/pattern_scanners.h"

namespace assay::text {
namespace {

class Literal final : public Pattern {
 public:
  explicit Literal(std::string literal) : literal_(std::move(literal)) {}
  void find(std::string_view text, std::vector<Span>& out) const override {
    for (size_t at = text.find(literal_); at != std::string_view::npos; at = text.find(literal_, at + literal_.size()))
      out.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(at + literal_.size())});
  }

 private:
  std::string literal_;
};

struct Part {
  Span span;
  bool delimiter;
};

}  // namespace

std::unique_ptr<const Pattern> literal_pattern(std::string literal) {
  if (literal.empty()) return oniguruma_pattern(literal);
  return std::make_unique<Literal>(std::move(literal));
}

std::unique_ptr<const Pattern> regex_pattern(const std::string& expression) {
  if (auto scanner = scanner_pattern(expression)) return scanner;
  return oniguruma_pattern(expression);
}

void split_at(std::vector<Span> matches, uint32_t size, SplitBehavior behavior, bool invert, std::vector<Span>& out) {
  if (size == 0) return;
  std::vector<Part> parts;
  parts.reserve(2 * matches.size() + 1);
  uint32_t at = 0;
  for (const Span& match : matches) {
    if (at != match.begin) parts.push_back({{at, match.begin}, invert});
    parts.push_back({match, !invert});
    at = match.end;
  }
  if (at != size) parts.push_back({{at, size}, invert});

  const size_t first = out.size();
  bool previous = false;  // whether the part before was a delimiter
  switch (behavior) {
    case SplitBehavior::kRemoved:
      for (const Part& part : parts)
        if (!part.delimiter) out.push_back(part.span);
      break;
    case SplitBehavior::kIsolated:
      for (const Part& part : parts) out.push_back(part.span);
      break;
    case SplitBehavior::kContiguous:
      for (const Part& part : parts) {
        if (part.delimiter == previous && out.size() > first) {
          out.back().end = part.span.end;
        } else {
          out.push_back(part.span);
        }
        previous = part.delimiter;
      }
      break;
    case SplitBehavior::kMergedWithPrevious:
      for (const Part& part : parts) {
        if (part.delimiter && !previous && out.size() > first) {
          out.back().end = part.span.end;
        } else {
          out.push_back(part.span);
        }
        previous = part.delimiter;
      }
      break;
    case SplitBehavior::kMergedWithNext:
      for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
        if (part->delimiter && !previous && out.size() > first) {
          out.back().begin = part->span.begin;
        } else {
          out.push_back(part->span);
        }
        previous = part->delimiter;
      }
      std::reverse(out.begin() + static_cast<std::ptrdiff_t>(first), out.end());
      break;
  }
}

}  // namespace assay::text
