#pragma once

#include <memory>
#include <vector>

#include "text/encoding.h"
#include "text/json_reader.h"

namespace assay::text {

/// What is done to one or two encodings before they are joined. Thread-safe.
class PostProcessor {
 public:
  virtual ~PostProcessor() = default;
  /// How many special tokens it adds to one text or to a pair.
  virtual size_t added_tokens(bool pair) const = 0;
  /// Replaces the encodings, which are joined in order afterwards. Byte offsets are not kept up.
  virtual void process(std::vector<Encoding>& encodings, bool add_special_tokens) const = 0;
  /// Whether it needs the texts' encodings themselves, one or two, and not what a template made of them.
  virtual bool needs_texts() const { return false; }
  /// Whether it gives other than one encoding for each text.
  virtual bool reshapes() const { return false; }
};

/// Reads a `post_processor` member: TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel or a Sequence of
/// them. Throws BadFile or Unsupported with the JSON path.
std::unique_ptr<const PostProcessor> read_post_processor(const JsonAt& json);

}  // namespace assay::text
