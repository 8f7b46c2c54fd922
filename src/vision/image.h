#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace assay::vision {

/// An 8-bit RGB picture: pixels[(y * width + x) * 3 + channel].
struct Image {
  int64_t width = 0, height = 0;
  std::vector<uint8_t> pixels;

  Image() = default;
  /// A black picture. InvalidArgument for a side below 1, ResourceExhausted beyond kMaxPixels.
  Image(int64_t w, int64_t h);
  const uint8_t* row(int64_t y) const { return pixels.data() + y * width * 3; }
  uint8_t* row(int64_t y) { return pixels.data() + y * width * 3; }
};

/// No picture larger than this is decoded or made: a file of a few bytes may promise any size.
constexpr int64_t kMaxPixels = int64_t{100} * 1000 * 1000;

/// What the first bytes of a picture file say, before anything is decoded.
struct ImageHeader {
  const char* format = "";  ///< "jpeg", "png", "bmp", "webp"
  int64_t width = 0, height = 0;
};

/// Reads the size from a JPEG, PNG, BMP or WebP file. BadFile when it is cut short or has no size, Unsupported for
/// other formats.
ImageHeader read_image_header(std::span<const std::byte> file);

/// Decodes to RGB as Pillow's `Image.open(f).convert("RGB")` does: grey is repeated, alpha is dropped, the EXIF
/// orientation is not applied. Throws as read_image_header, BadFile for broken data, ResourceExhausted beyond
/// kMaxPixels.
Image decode_image(std::span<const std::byte> file);
/// The same from a file; errors name it.
Image load_image(const std::filesystem::path& path);

/// The part of a picture from (left, top); what lies outside is black. InvalidArgument for a side below 1.
Image crop(const Image& image, int64_t left, int64_t top, int64_t width, int64_t height);

}  // namespace assay::vision
