#pragma once

#include <span>
#include <vector>

#include "workloads/task.h"

namespace assay::workloads {

/// Knows which of a model's inputs takes what, and makes batches for them: input_ids or ids, attention_mask or
/// input_mask, token_type_ids or segment_ids, position_ids (int32 or int64), or one float32 picture input, [batch, 3,
/// h, w] or [batch, h, w, 3].
class Batcher {
 public:
  /// InvalidArgument naming an input whose meaning or type is not known.
  Batcher(const std::vector<Port>& inputs, int64_t pad_id);

  /// Rows a batch must have; 0: any number.
  int64_t fixed_rows() const { return fixed_rows_; }
  /// Tokens a row must have; 0: any number.
  int64_t fixed_length() const { return fixed_length_; }

  /// InvalidArgument with both numbers when the model cannot take the row (tokens or picture size).
  void check(const Feature& feature) const;
  /// Length of the rows of a batch whose longest is `longest`.
  int64_t padded_length(int64_t longest) const { return fixed_length_ > 0 ? fixed_length_ : longest; }
  /// The input tensors, in the model's order, of rows filled up to `length` tokens. A model of fixed_rows() gets its
  /// last row repeated.
  std::vector<Tensor> make(std::span<const Feature* const> rows, int64_t length) const;

 private:
  enum class Role { kIds, kMask, kTypes, kPositions, kPixels, kPixelsLast };
  struct Input {
    Role role;
    DType dtype;
    int64_t height = -1, width = -1;
  };
  std::vector<Input> inputs_;
  int64_t pad_id_;
  int64_t fixed_rows_ = 0, fixed_length_ = 0;
};

}  // namespace assay::workloads
