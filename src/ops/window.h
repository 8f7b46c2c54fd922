#pragma once

#include "ops/support.h"

namespace assay {

/// What Conv, ConvTranspose and the pools share: a window that slides over the spatial dimensions of [N, C, ...].
struct WindowAttributes {
  explicit WindowAttributes(const Node& node);

  enum class AutoPad { kNotSet, kSameUpper, kSameLower, kValid };
  AutoPad auto_pad = AutoPad::kNotSet;
  SmallInts kernel, strides, dilations, pads;  ///< n is 0 where the attribute is absent
  SmallInts pads_end;
  bool has_pads = false;
  bool ceil_mode = false;
};

/// The attributes applied to one input: sizes, and pads resolved.
struct Window {
  /// `kernel` holds the window's sizes. InvalidArgument when ranks do not fit or the window never fits in.
  Window(const WindowAttributes& attributes, const Shape& input, const SmallInts& kernel_sizes);

  int dims = 0;  ///< spatial dimensions
  SmallInts in, out, kernel, stride, dilation, pad_begin, pad_end;
  int64_t in_size = 1, out_size = 1, kernel_size = 1;
};

/// Steps through every position of a box of `dims` dimensions, last one fastest.
inline bool next_position(SmallInts& at, const SmallInts& box, int dims) {
  for (int d = dims - 1; d >= 0; --d) {
    if (++at[d] < box[d]) return true;
    at[d] = 0;
  }
  return false;
}

}  // namespace assay
