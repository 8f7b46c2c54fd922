#include "vision/image.h"

#include <algorithm>

#include "base/checked.h"
#include "base/error.h"

namespace assay::vision {

Image::Image(int64_t w, int64_t h) : width(w), height(h) {
  require(w >= 1 && h >= 1, ErrorCode::kInvalidArgument, "a picture of {} x {} pixels has no content", w, h);
  require(checked_mul(w, h) <= kMaxPixels, ErrorCode::kResourceExhausted,
          "a picture of {} x {} pixels is beyond the limit of {} pixels", w, h, kMaxPixels);
  pixels.resize(static_cast<size_t>(w * h * 3));
}

Image crop(const Image& image, int64_t left, int64_t top, int64_t width, int64_t height) {
  Image out(width, height);
  const int64_t x0 = std::max<int64_t>(left, 0), x1 = std::min(left + width, image.width);
  if (x0 >= x1) return out;
  for (int64_t y = 0; y < height; ++y) {
    const int64_t sy = top + y;
    if (sy < 0 || sy >= image.height) continue;
    std::copy(image.row(sy) + x0 * 3, image.row(sy) + x1 * 3, out.row(y) + (x0 - left) * 3);
  }
  return out;
}

}  // namespace assay::vision
