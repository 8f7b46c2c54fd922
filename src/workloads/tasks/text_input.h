#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "workloads/task.h"

namespace assay::workloads {

/// The special tokens that a tokenizer puts around one text or a pair, learned from the tokenizer itself: [CLS] A
/// [SEP], <s> A </s></s> B </s>, or nothing.
struct PairTemplate {
  std::vector<int64_t> prefix, middle, suffix;  ///< token ids
  std::vector<int64_t> prefix_types, middle_types, suffix_types;
  int64_t first_type = 0, second_type = 0;
  int64_t special_count() const { return static_cast<int64_t>(prefix.size() + middle.size() + suffix.size()); }
};
/// Unsupported when the tokenizer gives no token for a letter.
PairTemplate pair_template(const text::Tokenizer& tokenizer);

/// The tokenizer of a setup: given, or read from info.tokenizer; NotFound saying what is missing.
std::shared_ptr<const text::Tokenizer> task_tokenizer(const TaskSetup& setup);

/// The longest row: what was asked for, else the smaller of `usual` (0: no usual) and the model's positions, 0 when
/// nothing limits it. InvalidArgument with both numbers when more is asked for than the model has positions.
int64_t task_max_length(const TaskSetup& setup, int64_t usual);

/// Token ids as a feature; InvalidArgument with both numbers for an id beyond the model's token table (0: unknown).
Feature text_feature(const text::Encoding& encoding, int64_t vocab_size);
void check_ids(const Feature& feature, int64_t vocab_size);

/// The output called `name`, else the only one of rank `rank`, else the only one; InvalidArgument listing what there
/// is.
size_t find_output(const std::vector<Port>& outputs, std::string_view name, size_t rank);
/// "'logits' [batch,2]": for messages.
std::string describe(const std::vector<Port>& outputs);

/// The padding id of a setup: the model's, else the tokenizer's, else 0.
int64_t task_pad_id(const TaskSetup& setup, const text::Tokenizer& tokenizer);

}  // namespace assay::workloads
