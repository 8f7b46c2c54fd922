#include <cstring>
#include <string_view>

#include "base/error.h"
#include "vision/image.h"

namespace assay::vision {
namespace {

class Bytes {
 public:
  explicit Bytes(std::span<const std::byte> data) : data_(data) {}
  size_t size() const { return data_.size(); }
  uint32_t at(size_t i) const {
    require(i < data_.size(), ErrorCode::kBadFile, "the picture is cut short after {} bytes", data_.size());
    return std::to_integer<uint32_t>(data_[i]);
  }
  uint32_t big16(size_t i) const { return at(i) << 8 | at(i + 1); }
  uint32_t big32(size_t i) const { return big16(i) << 16 | big16(i + 2); }
  uint32_t little16(size_t i) const { return at(i) | at(i + 1) << 8; }
  uint32_t little24(size_t i) const { return little16(i) | at(i + 2) << 16; }
  uint32_t little32(size_t i) const { return little16(i) | little16(i + 2) << 16; }
  bool has(size_t i, std::string_view text) const {
    return i + text.size() <= data_.size() && std::memcmp(data_.data() + i, text.data(), text.size()) == 0;
  }

 private:
  std::span<const std::byte> data_;
};

/// Walks the segments up to the frame header (SOF0..SOF15 without DHT, JPG and DAC).
ImageHeader jpeg_header(const Bytes& b) {
  size_t i = 2;
  while (true) {
    require(b.at(i) == 0xff, ErrorCode::kBadFile, "byte {} of the JPEG file should begin a marker", i);
    while (b.at(i) == 0xff) ++i;
    const uint32_t marker = b.at(i++);
    if (marker == 0x01 || (marker >= 0xd0 && marker <= 0xd7)) continue;  // markers without a length
    require(marker != 0xd9 && marker != 0xda, ErrorCode::kBadFile, "the JPEG file has no frame header");
    const uint32_t length = b.big16(i);
    require(length >= 2, ErrorCode::kBadFile, "a JPEG segment at byte {} has length {}", i, length);
    if (marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc)
      return {"jpeg", b.big16(i + 5), b.big16(i + 3)};
    i += length;
  }
}

ImageHeader webp_header(const Bytes& b) {
  if (b.has(12, "VP8X")) return {"webp", int64_t{b.little24(24)} + 1, int64_t{b.little24(27)} + 1};
  if (b.has(12, "VP8L")) {
    const uint32_t bits = b.little32(21);
    return {"webp", int64_t{bits & 0x3fff} + 1, int64_t{bits >> 14 & 0x3fff} + 1};
  }
  require(b.has(12, "VP8 "), ErrorCode::kBadFile, "the WebP file holds no picture");
  return {"webp", b.little16(26) & 0x3fff, b.little16(28) & 0x3fff};
}

ImageHeader bmp_header(const Bytes& b) {
  if (b.little32(14) == 12) return {"bmp", b.little16(18), b.little16(20)};
  const int64_t height = static_cast<int32_t>(b.little32(22));  // negative: rows run downward
  return {"bmp", static_cast<int32_t>(b.little32(18)), height < 0 ? -height : height};
}

}  // namespace

ImageHeader read_image_header(std::span<const std::byte> file) {
  const Bytes b(file);
  ImageHeader h;
  if (b.has(0, "\xff\xd8\xff"))
    h = jpeg_header(b);
  else if (b.has(0, "\x89PNG\r\n\x1a\n"))
    h = {"png", b.big32(16), b.big32(20)};
  else if (b.has(0, "BM"))
    h = bmp_header(b);
  else if (b.has(0, "RIFF") && b.has(8, "WEBP"))
    h = webp_header(b);
  else
    fail(ErrorCode::kUnsupported, "the file is no JPEG, PNG, BMP or WebP picture");
  require(h.width >= 1 && h.height >= 1, ErrorCode::kBadFile, "the {} file says that it is {} x {} pixels", h.format,
          h.width, h.height);
  return h;
}

}  // namespace assay::vision
