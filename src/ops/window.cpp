#include "ops/window.h"

namespace assay {
namespace {

WindowAttributes::AutoPad auto_pad_of(const Node& node) {
  const std::string name = node.get_string("auto_pad", "NOTSET");
  if (name == "NOTSET") return WindowAttributes::AutoPad::kNotSet;
  if (name == "SAME_UPPER") return WindowAttributes::AutoPad::kSameUpper;
  if (name == "SAME_LOWER") return WindowAttributes::AutoPad::kSameLower;
  if (name == "VALID") return WindowAttributes::AutoPad::kValid;
  fail(ErrorCode::kInvalidArgument, "auto_pad must be NOTSET, SAME_UPPER, SAME_LOWER or VALID, not '{}'", name);
}

SmallInts positive(const Node& node, std::string_view name) {
  const SmallInts v = small_ints(node.get_ints(name), name);
  for (int i = 0; i < v.n; ++i)
    require(v[i] > 0, ErrorCode::kInvalidArgument, "{} holds {}, which is not positive", name, v[i]);
  return v;
}

}  // namespace

WindowAttributes::WindowAttributes(const Node& node)
    : auto_pad(auto_pad_of(node)),
      kernel(positive(node, "kernel_shape")),
      strides(positive(node, "strides")),
      dilations(positive(node, "dilations")),
      ceil_mode(node.get_int("ceil_mode", 0) != 0) {
  const std::vector<int64_t> all = node.get_ints("pads");
  require(all.size() % 2 == 0 && all.size() <= 2 * kMaxRank, ErrorCode::kInvalidArgument, "{} pads", all.size());
  has_pads = !all.empty();
  const size_t half = all.size() / 2;
  for (size_t i = 0; i < half; ++i) {
    pads[pads.n++] = all[i];
    pads_end[pads_end.n++] = all[half + i];
  }
}

Window::Window(const WindowAttributes& a, const Shape& input, const SmallInts& kernel_sizes) {
  require(input.rank() >= 3, ErrorCode::kInvalidArgument, "the input must be [N,C,D1,...], not {}", input);
  dims = input.rank() - 2;
  const auto fits = [&](const SmallInts& v) { return v.n == 0 || v.n == dims; };
  require(kernel_sizes.n == dims && fits(a.strides) && fits(a.dilations) && fits(a.pads), ErrorCode::kInvalidArgument,
          "kernel_shape, strides, dilations or pads do not have the {} spatial dimensions of {}", dims, input);
  for (int d = 0; d < dims; ++d) {
    in[d] = input[d + 2];
    kernel[d] = kernel_sizes[d];
    stride[d] = a.strides.n > 0 ? a.strides[d] : 1;
    dilation[d] = a.dilations.n > 0 ? a.dilations[d] : 1;
    const int64_t extent = checked_add<int64_t>(checked_mul(dilation[d], kernel[d] - 1), 1);
    if (a.auto_pad == WindowAttributes::AutoPad::kSameUpper || a.auto_pad == WindowAttributes::AutoPad::kSameLower) {
      out[d] = (in[d] + stride[d] - 1) / stride[d];
      const int64_t total = std::max<int64_t>(0, (out[d] - 1) * stride[d] + extent - in[d]);
      const bool upper = a.auto_pad == WindowAttributes::AutoPad::kSameUpper;
      pad_begin[d] = upper ? total / 2 : total - total / 2;
      pad_end[d] = total - pad_begin[d];
    } else {
      if (a.auto_pad == WindowAttributes::AutoPad::kNotSet && a.pads.n > 0) {
        pad_begin[d] = a.pads[d];
        pad_end[d] = a.pads_end[d];
      }
      const int64_t room = checked_add(in[d], checked_add(pad_begin[d], pad_end[d])) - extent;
      require(room >= 0, ErrorCode::kInvalidArgument, "a window of {} does not fit dimension {} of {}", extent, d + 2,
              input);
      out[d] = room / stride[d] + 1;
      // With ceil_mode a last window may hang over the end, but it must start inside the input or its leading pad.
      if (a.ceil_mode && room % stride[d] != 0 && out[d] * stride[d] < in[d] + pad_begin[d]) ++out[d];
    }
    in_size = checked_mul(in_size, in[d]);
    out_size = checked_mul(out_size, out[d]);
    kernel_size = checked_mul(kernel_size, kernel[d]);
  }
}

}  // namespace assay
