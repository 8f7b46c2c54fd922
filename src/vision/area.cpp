#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "base/error.h"
#include "vision/resize.h"

namespace assay::vision {

Image resize_area(const Image& image, int64_t width, int64_t height) {
  Image out(width, height);
  try {
    const cv::Mat src(static_cast<int>(image.height), static_cast<int>(image.width), CV_8UC3,
                      const_cast<uint8_t*>(image.pixels.data()));
    cv::Mat dst(static_cast<int>(height), static_cast<int>(width), CV_8UC3, out.pixels.data());
    cv::resize(src, dst, dst.size(), 0, 0, cv::INTER_AREA);
  } catch (const cv::Exception& e) {
    fail(ErrorCode::kInvalidArgument, "area resize from {} x {} to {} x {}: {}", image.width, image.height, width,
         height, e.err);
  }
  return out;
}

}  // namespace assay::vision
