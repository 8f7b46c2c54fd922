#pragma once

#include <memory>

#include "text/json_reader.h"
#include "text/normalized_string.h"

namespace assay::text {

/// One step of normalization. Thread-safe.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void normalize(NormalizedString& text) const = 0;
};

/// Reads a `normalizer` member: BertNormalizer, NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Strip, Prepend, Replace,
/// ByteLevel or a Sequence of them. Throws BadFile or Unsupported with the JSON path.
std::unique_ptr<const Normalizer> read_normalizer(const JsonAt& json);

}  // namespace assay::text
