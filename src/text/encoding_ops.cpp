#include "text/encoding_ops.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.h"

namespace assay::text {
namespace {

constexpr size_t kMaxWindows = 100'000;
constexpr size_t kMaxWindowTokens = size_t{1} << 26;

/// Calls fn(vector of a, vector of b) for each parallel vector of two encodings.
template <typename A, typename B, typename Fn>
void each_vector(A& a, B& b, const Fn& fn) {
  fn(a.ids, b.ids);
  fn(a.type_ids, b.type_ids);
  fn(a.tokens, b.tokens);
  fn(a.offsets, b.offsets);
  fn(a.byte_offsets, b.byte_offsets);
  fn(a.word_ids, b.word_ids);
  fn(a.sequence_ids, b.sequence_ids);
  fn(a.special_tokens_mask, b.special_tokens_mask);
  fn(a.attention_mask, b.attention_mask);
}

void append_tokens(Encoding& to, const Encoding& from) {
  each_vector(to, from, [](auto& a, const auto& b) { a.insert(a.end(), b.begin(), b.end()); });
}

/// Tokens of `left` and then of `right`.
Encoding joined(const Encoding& left, const Encoding& right) {
  Encoding out;
  each_vector(out, left, [&](auto& a, const auto& b) {
    a.reserve(left.size() + right.size());
    a.assign(b.begin(), b.end());
  });
  append_tokens(out, right);
  return out;
}

}  // namespace

Encoding slice(const Encoding& encoding, size_t begin, size_t end) {
  Encoding out;
  each_vector(out, encoding, [&](auto& a, const auto& b) {
    a.assign(b.begin() + static_cast<std::ptrdiff_t>(begin), b.begin() + static_cast<std::ptrdiff_t>(end));
  });
  return out;
}

void append(Encoding& encoding, Encoding other) {
  const size_t left = encoding.overflowing.size(), right = other.overflowing.size();
  const size_t windows = (left + 1) * (right + 1) - 1;
  require(windows <= kMaxWindows && windows * (encoding.size() + other.size()) <= kMaxWindowTokens,
          ErrorCode::kResourceExhausted, "the text makes {} windows; raise max_length, lower stride or split the text",
          windows);
  std::vector<Encoding> combined;
  combined.reserve(windows);
  for (const Encoding& window : encoding.overflowing) {
    combined.push_back(joined(window, other));
    for (const Encoding& pair : other.overflowing) combined.push_back(joined(window, pair));
  }
  for (const Encoding& pair : other.overflowing) combined.push_back(joined(encoding, pair));
  if (encoding.empty() && left == 0) {
    other.overflowing = std::move(combined);
    encoding = std::move(other);
    return;
  }
  append_tokens(encoding, other);
  encoding.overflowing = std::move(combined);
}

void truncate(Encoding& encoding, size_t max_length, size_t stride, Side side) {
  const size_t size = encoding.size();
  if (max_length >= size) return;
  if (max_length == 0) {
    Encoding rest = std::move(encoding);
    encoding = Encoding();
    encoding.overflowing = std::move(rest.overflowing);
    rest.overflowing.clear();
    encoding.overflowing.push_back(std::move(rest));
    return;
  }
  require(stride < max_length, ErrorCode::kInvalidArgument,
          "truncation stride {} is not below the {} tokens that are left for text beside the special tokens", stride,
          max_length);
  const size_t step = max_length - stride;
  const size_t windows = (size - max_length + step - 1) / step;
  require(windows <= kMaxWindows && windows * max_length <= kMaxWindowTokens, ErrorCode::kResourceExhausted,
          "the text makes {} windows; raise max_length, lower stride or split the text", windows);
  Encoding first;
  std::vector<Encoding> rest;
  rest.reserve(windows);
  for (size_t i = 0; i <= windows; ++i) {
    size_t begin = i * step, end = std::min(begin + max_length, size);
    if (side == Side::kLeft) {
      end = size - i * step;
      begin = end > max_length ? end - max_length : 0;
    }
    Encoding part = slice(encoding, begin, end);
    if (i == 0) {
      first = std::move(part);
    } else {
      rest.push_back(std::move(part));
    }
  }
  encoding = std::move(first);
  encoding.overflowing = std::move(rest);
}

void truncate_together(std::span<Encoding> encodings, const Truncation& truncation, size_t reserved) {
  require(truncation.max_length >= reserved, ErrorCode::kInvalidArgument,
          "truncation to {} tokens leaves no room for {} special tokens", truncation.max_length, reserved);
  const size_t room = truncation.max_length - reserved;
  require(room >= truncation.stride, ErrorCode::kInvalidArgument,
          "truncation stride {} is more than the {} tokens that are left for text ({} less {} special tokens)",
          truncation.stride, room, truncation.max_length, reserved);
  const auto cut = [&](Encoding& encoding, size_t length) {
    truncate(encoding, length, truncation.stride, truncation.side);
  };
  if (room == 0) {
    for (Encoding& encoding : encodings) cut(encoding, 0);
    return;
  }
  size_t total = 0;
  for (const Encoding& encoding : encodings) total += encoding.size();
  if (total <= room) return;
  const size_t excess = total - room;
  if (truncation.strategy == TruncationStrategy::kLongestFirst) {
    if (encodings.size() == 1) {
      cut(encodings[0], room);
      return;
    }
    size_t shorter = encodings[0].size(), longer = encodings[1].size();
    const bool swapped = shorter > longer;
    if (swapped) std::swap(shorter, longer);
    longer = shorter > room ? shorter : std::max(shorter, room - shorter);
    if (shorter + longer > room) {  // both must give way
      shorter = room / 2;
      longer = shorter + room % 2;
    }
    if (swapped) std::swap(shorter, longer);
    cut(encodings[0], shorter);
    cut(encodings[1], longer);
    return;
  }
  const size_t which = truncation.strategy == TruncationStrategy::kOnlyFirst ? 0 : 1;
  require(which < encodings.size(), ErrorCode::kInvalidArgument,
          "truncation of the second text only, but there is none");
  Encoding& target = encodings[which];
  require(target.size() > excess, ErrorCode::kInvalidArgument,
          "the {} text has {} tokens, too few to give up {} and fit into {}; use longest_first or a larger max_length",
          which == 0 ? "first" : "second", target.size(), excess, truncation.max_length);
  cut(target, target.size() - excess);
}

std::vector<Encoding> take_windows(Encoding encoding) {
  std::vector<Encoding> out;
  std::vector<Encoding> rest = std::move(encoding.overflowing);
  encoding.overflowing.clear();
  out.reserve(rest.size() + 1);
  out.push_back(std::move(encoding));
  std::move(rest.begin(), rest.end(), std::back_inserter(out));
  return out;
}

void pad(Encoding& encoding, size_t length, const Padding& padding) {
  for (Encoding& window : encoding.overflowing) pad(window, length, padding);
  if (encoding.size() >= length) return;
  const size_t missing = length - encoding.size();
  const auto fill = [&](auto& vector, const auto& value) {
    vector.insert(padding.side == Side::kLeft ? vector.begin() : vector.end(), missing, value);
  };
  fill(encoding.ids, padding.id);
  fill(encoding.type_ids, padding.type_id);
  fill(encoding.tokens, padding.token);
  fill(encoding.offsets, Span{});
  fill(encoding.byte_offsets, Span{});
  fill(encoding.word_ids, int32_t{-1});
  fill(encoding.sequence_ids, int8_t{-1});
  fill(encoding.special_tokens_mask, uint8_t{1});
  fill(encoding.attention_mask, uint8_t{0});
}

void pad_batch(std::span<Encoding> batch, const Padding& padding) {
  size_t length = 0;
  for (const Encoding& encoding : batch) length = std::max(length, encoding.size());
  if (padding.fixed_length) length = *padding.fixed_length;
  if (padding.multiple_of && *padding.multiple_of > 0) {
    const size_t over = length % *padding.multiple_of;
    if (over > 0) length += *padding.multiple_of - over;
  }
  require(length <= kMaxWindowTokens, ErrorCode::kResourceExhausted, "padding to {} tokens", length);
  for (Encoding& encoding : batch) pad(encoding, length, padding);
}

}  // namespace assay::text
