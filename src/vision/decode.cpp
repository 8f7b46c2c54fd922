#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "base/checked.h"
#include "base/error.h"
#include "base/file.h"
#include "vision/image.h"

namespace assay::vision {

Image decode_image(std::span<const std::byte> file) {
  const ImageHeader header = read_image_header(file);
  require(checked_mul(header.width, header.height) <= kMaxPixels, ErrorCode::kResourceExhausted,
          "the picture promises {} x {} pixels, the limit is {} pixels", header.width, header.height, kMaxPixels);
  cv::Mat decoded;
  try {
    // OpenCV takes a non-const pointer but only reads.
    const cv::Mat bytes(1, checked_cast<int>(file.size()), CV_8UC1, const_cast<std::byte*>(file.data()));
    decoded = cv::imdecode(bytes, cv::IMREAD_COLOR | cv::IMREAD_IGNORE_ORIENTATION);
  } catch (const cv::Exception& e) {
    fail(ErrorCode::kBadFile, "the {} data cannot be decoded: {}", header.format, e.err);
  }
  require(!decoded.empty() && decoded.type() == CV_8UC3, ErrorCode::kBadFile, "the {} data cannot be decoded",
          header.format);
  Image out(decoded.cols, decoded.rows);
  cv::Mat rgb(decoded.rows, decoded.cols, CV_8UC3, out.pixels.data());
  cv::cvtColor(decoded, rgb, cv::COLOR_BGR2RGB);
  return out;
}

Image load_image(const std::filesystem::path& path) {
  try {
    return decode_image(MappedFile::open(path)->bytes());
  } catch (Error& e) {
    if (e.context().empty()) e.at("file", path.string());
    throw;
  }
}

}  // namespace assay::vision
