#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "tensor/tensor.h"
#include "vision/image.h"
#include "vision/resize.h"

namespace assay::vision {

/// What a `preprocessor_config.json` asks for: how a picture becomes the model's input. Steps run in this order:
/// resize, centre crop, rescale, normalise, channel order; with `crop_before_resize` the crop comes first.
struct ImagePreprocessing {
  bool do_resize = false;
  /// Either both sides, or the shorter side (the longer follows, rounded down).
  int64_t height = 0, width = 0;
  int64_t shortest_edge = 0;
  Resample resample = Resample::kBilinear;

  bool do_center_crop = false;
  int64_t crop_height = 0, crop_width = 0;
  /// With crop_before_resize: the square of int(crop_pct * min(width, height)) pixels is cut first. Without: the
  /// shorter side is resized to int(side / crop_pct), then the side is cut.
  std::optional<double> crop_pct;
  bool crop_before_resize = false;

  bool do_rescale = true;
  double rescale_factor = 1.0 / 255.0;
  bool do_normalize = false;
  std::array<double, 3> mean{0, 0, 0}, std{1, 1, 1};
  bool bgr = false;

  /// Reads the JSON text. Keys that do not concern pictures are ignored. BadFile names the key whose type or value is
  /// off, Unsupported a resampling number we do not have.
  static ImagePreprocessing parse(std::string_view json);
  /// The same from a file or from a folder that holds `preprocessor_config.json`.
  static ImagePreprocessing load(const std::filesystem::path& path);

  /// The size that every picture ends at, absent when it depends on the picture (no resize, or shortest_edge alone).
  std::optional<std::array<int64_t, 2>> output_size() const;
  /// One line for reports: "crop 0.875, bicubic 224x224, /255, normalised, rgb".
  std::string describe() const;
};

/// Crop and resize only: what the model sees, in 8 bits.
Image fit(const Image& image, const ImagePreprocessing& config);
/// float32 [3, height, width] of a picture already of its final size.
Tensor to_tensor(const Image& image, const ImagePreprocessing& config);
/// Both.
Tensor preprocess(const Image& image, const ImagePreprocessing& config);

}  // namespace assay::vision
