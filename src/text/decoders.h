#pragma once

#include <memory>
#include <string>
#include <vector>

#include "text/json_reader.h"

namespace assay::text {

/// One step from tokens back to text. Thread-safe.
class Decoder {
 public:
  virtual ~Decoder() = default;
  /// Changes the tokens in place; those that are left at the end are joined without space.
  virtual void decode(std::vector<std::string>& tokens) const = 0;
};

/// Reads a `decoder` member: WordPiece, ByteLevel, Metaspace, BPEDecoder, Replace, ByteFallback, Fuse, Strip or a
/// Sequence of them. Throws BadFile or Unsupported with the JSON path.
std::unique_ptr<const Decoder> read_decoder(const JsonAt& json);

}  // namespace assay::text
