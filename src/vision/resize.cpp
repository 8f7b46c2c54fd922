#include "vision/resize.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/error.h"

namespace assay::vision {
namespace {

struct Filter {
  double support;
  double (*weight)(double);
};

double box(double x) { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }

double triangle(double x) {
  x = std::abs(x);
  return x < 1.0 ? 1.0 - x : 0.0;
}

double hamming(double x) {
  x = std::abs(x);
  if (x == 0.0) return 1.0;
  if (x >= 1.0) return 0.0;
  x *= std::numbers::pi;
  return std::sin(x) / x * (0.54 + 0.46 * std::cos(x));
}

/// Keys' cubic convolution with a = -0.5.
double cubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
  if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * a;
  return 0.0;
}

double sinc(double x) {
  if (x == 0.0) return 1.0;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}

double lanczos(double x) { return x >= -3.0 && x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0; }

Filter filter_of(Resample rule) {
  switch (rule) {
    case Resample::kLanczos:
      return {3.0, lanczos};
    case Resample::kBilinear:
      return {1.0, triangle};
    case Resample::kBicubic:
      return {2.0, cubic};
    case Resample::kBox:
      return {0.5, box};
    case Resample::kHamming:
      return {1.0, hamming};
    case Resample::kNearest:
    case Resample::kArea:
      break;
  }
  fail(ErrorCode::kInternal, "{} is no convolution", to_string(rule));
}

/// Weights are integers of this many fractional bits: 32 less 8 for the pixel and 2 for overshoot of the filter.
constexpr int kFractionBits = 22;

/// For each output position: the first input it reads and the weights from there on.
struct Taps {
  int64_t width = 0;  ///< weights a position
  std::vector<int64_t> first, count;
  std::vector<int32_t> weights;
};

Taps make_taps(int64_t in, int64_t out, const Filter& filter) {
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  const double spread = std::max(scale, 1.0);
  const double support = filter.support * spread;
  Taps taps;
  taps.width = static_cast<int64_t>(std::ceil(support)) * 2 + 1;
  taps.weights.resize(static_cast<size_t>(out * taps.width));
  std::vector<double> w(static_cast<size_t>(taps.width));
  for (int64_t o = 0; o < out; ++o) {
    const double center = (static_cast<double>(o) + 0.5) * scale;
    const double inverse = 1.0 / spread;
    const auto from = std::max<int64_t>(static_cast<int64_t>(center - support + 0.5), 0);
    const auto to = std::min<int64_t>(static_cast<int64_t>(center + support + 0.5), in);
    double sum = 0.0;
    for (int64_t i = from; i < to; ++i) {
      const double v = filter.weight((static_cast<double>(i) - center + 0.5) * inverse);
      w[static_cast<size_t>(i - from)] = v;
      sum += v;
    }
    for (int64_t i = 0; i < to - from; ++i) {
      double v = w[static_cast<size_t>(i)];
      if (sum != 0.0) v /= sum;
      const double fixed = v * (1 << kFractionBits);
      taps.weights[static_cast<size_t>(o * taps.width + i)] = static_cast<int32_t>(v < 0 ? fixed - 0.5 : fixed + 0.5);
    }
    taps.first.push_back(from);
    taps.count.push_back(to - from);
  }
  return taps;
}

uint8_t round_pixel(int32_t fixed) { return static_cast<uint8_t>(std::clamp(fixed >> kFractionBits, 0, 255)); }

Image resize_rows(const Image& src, int64_t width, const Filter& filter) {
  Image dst(width, src.height);  // first: it refuses sizes that make no sense
  const Taps taps = make_taps(src.width, width, filter);
  for (int64_t y = 0; y < src.height; ++y) {
    const uint8_t* in = src.row(y);
    uint8_t* out = dst.row(y);
    for (int64_t x = 0; x < width; ++x) {
      const int32_t* w = taps.weights.data() + x * taps.width;
      const uint8_t* p = in + taps.first[static_cast<size_t>(x)] * 3;
      int32_t sum[3] = {1 << (kFractionBits - 1), 1 << (kFractionBits - 1), 1 << (kFractionBits - 1)};
      for (int64_t i = 0; i < taps.count[static_cast<size_t>(x)]; ++i, p += 3) {
        for (int c = 0; c < 3; ++c) sum[c] += p[c] * w[i];
      }
      for (int c = 0; c < 3; ++c) out[x * 3 + c] = round_pixel(sum[c]);
    }
  }
  return dst;
}

Image resize_columns(const Image& src, int64_t height, const Filter& filter) {
  Image dst(src.width, height);
  const Taps taps = make_taps(src.height, height, filter);
  const int64_t line = src.width * 3;
  std::vector<int32_t> sum(static_cast<size_t>(line));
  for (int64_t y = 0; y < height; ++y) {
    std::fill(sum.begin(), sum.end(), 1 << (kFractionBits - 1));
    const int32_t* w = taps.weights.data() + y * taps.width;
    for (int64_t i = 0; i < taps.count[static_cast<size_t>(y)]; ++i) {
      const uint8_t* in = src.row(taps.first[static_cast<size_t>(y)] + i);
      for (int64_t x = 0; x < line; ++x) sum[static_cast<size_t>(x)] += in[x] * w[i];
    }
    uint8_t* out = dst.row(y);
    for (int64_t x = 0; x < line; ++x) out[x] = round_pixel(sum[static_cast<size_t>(x)]);
  }
  return dst;
}

/// Source index of each output position: the running sum of Pillow's affine scaler, not a product, so that ties fall
/// the same way.
std::vector<int64_t> nearest_index(int64_t in, int64_t out) {
  const double step = static_cast<double>(in) / static_cast<double>(out);
  std::vector<int64_t> index;
  double at = step * 0.5;
  for (int64_t o = 0; o < out; ++o, at += step) index.push_back(std::min(static_cast<int64_t>(at), in - 1));
  return index;
}

Image resize_nearest(const Image& src, int64_t width, int64_t height) {
  Image dst(width, height);
  const auto xs = nearest_index(src.width, width), ys = nearest_index(src.height, height);
  for (int64_t y = 0; y < height; ++y) {
    const uint8_t* in = src.row(ys[static_cast<size_t>(y)]);
    uint8_t* out = dst.row(y);
    for (int64_t x = 0; x < width; ++x) std::copy_n(in + xs[static_cast<size_t>(x)] * 3, 3, out + x * 3);
  }
  return dst;
}

}  // namespace

std::string_view to_string(Resample rule) {
  switch (rule) {
    case Resample::kNearest:
      return "nearest";
    case Resample::kLanczos:
      return "lanczos";
    case Resample::kBilinear:
      return "bilinear";
    case Resample::kBicubic:
      return "bicubic";
    case Resample::kBox:
      return "box";
    case Resample::kHamming:
      return "hamming";
    case Resample::kArea:
      return "area";
  }
  return "unknown";
}

Image resize(const Image& image, int64_t width, int64_t height, Resample rule) {
  if (rule == Resample::kArea) return resize_area(image, width, height);
  if (width == image.width && height == image.height) return image;
  if (rule == Resample::kNearest) return resize_nearest(image, width, height);
  const Filter filter = filter_of(rule);
  if (width == image.width) return resize_columns(image, height, filter);
  Image rows = resize_rows(image, width, filter);
  return height == image.height ? rows : resize_columns(rows, height, filter);
}

}  // namespace assay::vision
