#pragma once

#include <optional>
#include <span>
#include <vector>

#include "text/encoding.h"
#include "text/tokenizer.h"

namespace assay::text {

/// Tokens [begin, end) without overflow windows.
Encoding slice(const Encoding& encoding, size_t begin, size_t end);
/// Appends the tokens of `other`, and combines the overflow windows of both: each of the left with each of the right,
/// in the order of the `tokenizers` package. Throws ResourceExhausted for more than 100,000 windows.
void append(Encoding& encoding, Encoding other);
/// Cuts to `max_length` tokens and puts what is left over into windows that share `stride` tokens. Throws
/// InvalidArgument unless stride < max_length.
void truncate(Encoding& encoding, size_t max_length, size_t stride, Side side);
/// Cuts one or two encodings to `truncation.max_length` together, less `reserved` tokens.
void truncate_together(std::span<Encoding> encodings, const Truncation& truncation, size_t reserved);

}  // namespace assay::text
