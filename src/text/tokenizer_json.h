#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "text/added_vocabulary.h"
#include "text/decoders.h"
#include "text/model.h"
#include "text/normalizers.h"
#include "text/post_processors.h"
#include "text/pre_tokenizers.h"
#include "text/tokenizer.h"

namespace assay::text {

/// The members of a tokenizer.json. All but the model may be null.
struct Tokenizer::Parts {
  std::unique_ptr<const Normalizer> normalizer;
  std::unique_ptr<const PreTokenizer> pre_tokenizer;
  std::unique_ptr<const Model> model;
  std::unique_ptr<const PostProcessor> post_processor;
  std::unique_ptr<const Decoder> decoder;
  AddedVocabulary added;
  std::optional<Truncation> truncation;
  std::optional<Padding> padding;

  /// Throws BadFile or Unsupported with the JSON path.
  static std::unique_ptr<const Parts> read(std::string_view json);
};

}  // namespace assay::text
