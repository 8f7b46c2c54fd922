#pragma once

#include <cstdint>
#include <string_view>

#include "vision/image.h"

namespace assay::vision {

/// Resampling rules. The first six carry Pillow's numbers (the `resample` field of preprocessor_config.json) and follow
/// Pillow bit for bit; kArea is OpenCV's INTER_AREA, the resize of MLPerf's and many detectors' references.
enum class Resample { kNearest = 0, kLanczos = 1, kBilinear = 2, kBicubic = 3, kBox = 4, kHamming = 5, kArea = 100 };

/// "nearest", "lanczos", "bilinear", "bicubic", "box", "hamming", "area".
std::string_view to_string(Resample rule);

/// The picture at another size. Pillow's filters are antialiased: their support grows with the reduction factor;
/// weights are 22-bit fixed point and each of the two passes (rows, then columns) rounds to 8 bits.
Image resize(const Image& image, int64_t width, int64_t height, Resample rule);

/// OpenCV's INTER_AREA alone (kArea of resize).
Image resize_area(const Image& image, int64_t width, int64_t height);

}  // namespace assay::vision
