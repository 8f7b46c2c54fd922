#include "vision/preprocess.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"

namespace assay::vision {
namespace {

using nlohmann::json;

/// Sizes beyond this are a mistake in the file: a float tensor of that side would hold gigabytes.
constexpr int64_t kMaxSide = 8192;

const json* find(const json& object, const char* key) {
  const auto it = object.find(key);
  return it == object.end() || it->is_null() ? nullptr : &*it;
}

bool read_bool(const json& object, const char* key, bool otherwise) {
  const json* v = find(object, key);
  if (v == nullptr) return otherwise;
  require(v->is_boolean(), ErrorCode::kBadFile, "'{}' should be true or false", key);
  return v->get<bool>();
}

double read_number(const json& v, const std::string& key) {
  require(v.is_number(), ErrorCode::kBadFile, "'{}' should be a number", key);
  const double d = v.get<double>();
  require(std::isfinite(d), ErrorCode::kBadFile, "'{}' is not finite", key);
  return d;
}

int64_t read_side(const json& v, const std::string& key) {
  const double d = read_number(v, key);
  require(d == std::floor(d) && d >= 1 && d <= static_cast<double>(kMaxSide), ErrorCode::kBadFile,
          "'{}' is {}, it should be a whole number from 1 to {}", key, d, kMaxSide);
  return static_cast<int64_t>(d);
}

std::array<double, 3> read_triple(const json& object, const char* key, bool positive) {
  const json* v = find(object, key);
  require(v != nullptr, ErrorCode::kBadFile, "'{}' is absent though do_normalize is on", key);
  std::array<double, 3> out{};
  if (v->is_number()) {
    out.fill(read_number(*v, key));
  } else {
    require(v->is_array() && (v->size() == 3 || v->size() == 1), ErrorCode::kBadFile,
            "'{}' should be one number or a list of three", key);
    for (size_t i = 0; i < 3; ++i) out[i] = read_number((*v)[v->size() == 1 ? 0 : i], key);
  }
  if (positive)
    for (double d : out) require(d > 0, ErrorCode::kBadFile, "'{}' holds {}, every entry should be above 0", key, d);
  return out;
}

Resample read_resample(const json& v) {
  if (v.is_string()) {
    const std::string name = v.get<std::string>();
    for (Resample r : {Resample::kNearest, Resample::kLanczos, Resample::kBilinear, Resample::kBicubic, Resample::kBox,
                       Resample::kHamming, Resample::kArea})
      if (name == to_string(r)) return r;
    fail(ErrorCode::kUnsupported,
         "'resample' is '{}'; known are nearest, lanczos, bilinear, bicubic, box, hamming, area", name);
  }
  require(v.is_number_integer(), ErrorCode::kBadFile, "'resample' should be Pillow's number or a name");
  const auto n = v.get<int64_t>();
  require(n >= 0 && n <= 5, ErrorCode::kUnsupported, "'resample' is {}; Pillow has 0 to 5", n);
  return static_cast<Resample>(n);
}

/// `size` and `crop_size` are a number, {height, width} or {shortest_edge}.
void read_size(const json& v, const std::string& key, int64_t& height, int64_t& width, int64_t* shortest) {
  if (v.is_number()) {
    height = width = read_side(v, key);
    return;
  }
  if (v.is_array() && v.size() == 2) {
    height = read_side(v[0], key);
    width = read_side(v[1], key);
    return;
  }
  require(v.is_object(), ErrorCode::kBadFile, "'{}' should be a number, a pair or an object", key);
  const json* h = find(v, "height");
  const json* w = find(v, "width");
  const json* s = find(v, "shortest_edge");
  if (h != nullptr && w != nullptr) {
    height = read_side(*h, key + ".height");
    width = read_side(*w, key + ".width");
  } else if (s != nullptr && find(v, "longest_edge") == nullptr) {
    const int64_t side = read_side(*s, key + ".shortest_edge");
    if (shortest != nullptr)
      *shortest = side;
    else
      height = width = side;
  } else {
    fail(ErrorCode::kUnsupported, "'{}' should hold height and width, or shortest_edge alone", key);
  }
}

ImagePreprocessing read(const json& j) {
  require(j.is_object(), ErrorCode::kBadFile, "the preprocessor config should be a JSON object");
  ImagePreprocessing p;
  p.do_resize = read_bool(j, "do_resize", find(j, "size") != nullptr);
  p.do_center_crop = read_bool(j, "do_center_crop", false);
  p.crop_before_resize = read_bool(j, "crop_before_resize", false);
  p.do_rescale = read_bool(j, "do_rescale", true);
  p.do_normalize = read_bool(j, "do_normalize", find(j, "image_mean") != nullptr);
  if (const json* v = find(j, "resample")) p.resample = read_resample(*v);
  if (const json* v = find(j, "rescale_factor")) p.rescale_factor = read_number(*v, "rescale_factor");
  if (const json* v = find(j, "size")) read_size(*v, "size", p.height, p.width, &p.shortest_edge);
  if (const json* v = find(j, "crop_size")) read_size(*v, "crop_size", p.crop_height, p.crop_width, nullptr);
  if (const json* v = find(j, "crop_pct")) {
    p.crop_pct = read_number(*v, "crop_pct");
    require(*p.crop_pct > 0 && *p.crop_pct <= 1, ErrorCode::kBadFile, "'crop_pct' is {}, it should be in (0, 1]",
            *p.crop_pct);
  }
  if (p.do_normalize) {
    p.mean = read_triple(j, "image_mean", false);
    p.std = read_triple(j, "image_std", true);
  }
  if (const json* v = find(j, "channel_order")) {
    require(v->is_string() && (*v == "rgb" || *v == "bgr"), ErrorCode::kBadFile,
            "'channel_order' should be \"rgb\" or \"bgr\"");
    p.bgr = *v == "bgr";
  }
  require(!p.do_resize || p.height > 0 || p.shortest_edge > 0, ErrorCode::kBadFile,
          "'size' is absent though do_resize is on");
  require(!p.crop_before_resize || (p.do_resize && p.crop_pct), ErrorCode::kBadFile,
          "crop_before_resize needs crop_pct and do_resize");
  // An older config with a bare number and a centre crop means the shorter side (torchvision's Resize).
  const json* size = find(j, "size");
  if (p.do_center_crop && !p.crop_before_resize && size != nullptr && size->is_number()) p.shortest_edge = p.height;
  if (p.do_center_crop && !p.crop_before_resize && p.crop_height == 0) {
    p.crop_height = p.height > 0 ? p.height : p.shortest_edge;
    p.crop_width = p.width > 0 ? p.width : p.shortest_edge;
    require(p.crop_height > 0, ErrorCode::kBadFile, "'crop_size' is absent though do_center_crop is on");
  }
  return p;
}

/// The shorter side becomes `side`, the longer keeps the shape, rounded down.
Image resize_shortest(const Image& image, int64_t side, Resample rule) {
  const int64_t low = std::min(image.width, image.height), high = std::max(image.width, image.height);
  const int64_t longer = side * high / low;
  return image.width <= image.height ? resize(image, side, longer, rule) : resize(image, longer, side, rule);
}

Image center_crop(const Image& image, int64_t width, int64_t height) {
  // A picture smaller than the crop is centred on black. Division rounds down for negative offsets too.
  const auto half = [](int64_t v) { return v >= 0 ? v / 2 : -((-v + 1) / 2); };
  return crop(image, half(image.width - width), half(image.height - height), width, height);
}

}  // namespace

ImagePreprocessing ImagePreprocessing::parse(std::string_view text) {
  json j;
  try {
    // A callback bounds the depth: these files are two levels deep.
    j = json::parse(text, [](int depth, json::parse_event_t, json&) {
      require(depth <= 32, ErrorCode::kBadFile, "the JSON text nests deeper than 32 levels");
      return true;
    });
  } catch (const json::exception& e) {
    fail(ErrorCode::kBadFile, "{}", e.what());
  }
  return read(j);
}

ImagePreprocessing ImagePreprocessing::load(const std::filesystem::path& path) {
  const auto file = std::filesystem::is_directory(path) ? path / "preprocessor_config.json" : path;
  const std::string text = read_text(file, size_t{1} << 24);
  try {
    return parse(text);
  } catch (Error& e) {
    throw e.at("file", file.string());
  }
}

std::optional<std::array<int64_t, 2>> ImagePreprocessing::output_size() const {
  if (do_center_crop && !crop_before_resize) return {{crop_height, crop_width}};
  if (do_resize && shortest_edge == 0) return {{height, width}};
  return std::nullopt;
}

std::string ImagePreprocessing::describe() const {
  std::string out;
  const auto add = [&out](const std::string& part) { out += (out.empty() ? "" : ", ") + part; };
  if (do_center_crop && crop_before_resize) add(fmt::format("centre crop {}", *crop_pct));
  if (do_resize && shortest_edge > 0) {
    const double side =
        crop_pct ? std::floor(static_cast<double>(shortest_edge) / *crop_pct) : static_cast<double>(shortest_edge);
    add(fmt::format("{} to shorter side {}", to_string(resample), side));
  } else if (do_resize) {
    add(fmt::format("{} to {}x{}", to_string(resample), height, width));
  }
  if (do_center_crop && !crop_before_resize) add(fmt::format("centre crop {}x{}", crop_height, crop_width));
  if (do_rescale) add(fmt::format("x {:.6g}", rescale_factor));
  if (do_normalize)
    add(fmt::format("- [{:.4g} {:.4g} {:.4g}] / [{:.4g} {:.4g} {:.4g}]", mean[0], mean[1], mean[2], std[0], std[1],
                    std[2]));
  add(bgr ? "bgr" : "rgb");
  return out;
}

Image fit(const Image& image, const ImagePreprocessing& c) {
  const bool crop_first = c.do_center_crop && c.crop_before_resize;
  Image current;
  const Image* at = &image;
  if (crop_first) {
    const auto side = std::max<int64_t>(
        static_cast<int64_t>(*c.crop_pct * static_cast<double>(std::min(image.width, image.height))), 1);
    current = center_crop(image, side, side);
    at = &current;
  }
  if (c.do_resize) {
    if (c.shortest_edge > 0) {
      int64_t side = c.shortest_edge;
      if (c.crop_pct && !crop_first) side = static_cast<int64_t>(static_cast<double>(side) / *c.crop_pct);
      current = resize_shortest(*at, side, c.resample);
    } else {
      current = resize(*at, c.width, c.height, c.resample);
    }
    at = &current;
  }
  if (c.do_center_crop && !crop_first) {
    current = center_crop(*at, c.crop_width, c.crop_height);
    at = &current;
  }
  return *at;
}

Tensor to_tensor(const Image& image, const ImagePreprocessing& c) {
  Tensor out(DType::kFloat32, Shape{3, image.height, image.width});
  float* data = out.mutable_view().as<float>();
  const int64_t plane = image.height * image.width;
  for (int channel = 0; channel < 3; ++channel) {
    // All 256 values of a channel: the product in double, rounded, then float arithmetic, as NumPy does it.
    float table[256];
    const auto mean = static_cast<float>(c.mean[static_cast<size_t>(channel)]);
    const auto std = static_cast<float>(c.std[static_cast<size_t>(channel)]);
    for (int v = 0; v < 256; ++v) {
      float f = static_cast<float>(c.do_rescale ? v * c.rescale_factor : v);
      if (c.do_normalize) f = (f - mean) / std;
      table[v] = f;
    }
    // The mean and std of the config follow the channel order of the output.
    const int source = c.bgr ? 2 - channel : channel;
    float* dst = data + channel * plane;
    for (int64_t i = 0; i < plane; ++i) dst[i] = table[image.pixels[static_cast<size_t>(i * 3 + source)]];
  }
  return out;
}

Tensor preprocess(const Image& image, const ImagePreprocessing& config) {
  return to_tensor(fit(image, config), config);
}

}  // namespace assay::vision
