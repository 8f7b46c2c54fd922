// Resize of every version and mode, and Upsample. Interpolation is separable: each axis that changes is one pass with a
// table of taps and weights per output position.

#include <cmath>
#include <limits>

#include "ops/axis_split.h"
#include "ops/convert.h"

namespace assay {
namespace {

enum class Interpolation { kNearest, kLinear, kCubic };

Interpolation interpolation_of(const std::string& mode) {
  if (mode == "nearest") return Interpolation::kNearest;
  if (mode == "linear") return Interpolation::kLinear;
  if (mode == "cubic") return Interpolation::kCubic;
  fail(ErrorCode::kInvalidArgument, "mode must be nearest, linear or cubic, not '{}'", mode);
}

struct AxisScale {
  int64_t in = 0, out = 0;
  double scale = 1;
  double roi_begin = 0, roi_end = 1;
};

// Taps of every output position of an axis, `count` each; a weight of NaN on the first marks an extrapolated position.
struct Taps {
  int64_t count = 1;
  int64_t* index = nullptr;
  double* weight = nullptr;
};

class Resize final : public Op {
 public:
  explicit Resize(const OpInit& init)
      : upsample_(init.node.op_type == "Upsample"),
        old_(upsample_ || init.node.version < 11),
        mode_(interpolation_of(init.node.get_string("mode", "nearest"))),
        coordinates_(init.node.get_string("coordinate_transformation_mode", old_ ? "asymmetric" : "half_pixel")),
        nearest_(init.node.get_string("nearest_mode", old_ ? "floor" : "round_prefer_floor")),
        policy_(init.node.get_string("keep_aspect_ratio_policy", "stretch")),
        a_(init.node.get_float("cubic_coeff_a", -0.75f)),
        extrapolation_(init.node.get_float("extrapolation_value", 0)),
        exclude_outside_(init.node.get_int("exclude_outside", 0) != 0),
        antialias_(init.node.get_int("antialias", 0) != 0),
        has_axes_(init.node.has("axes")),
        axes_(small_ints(init.node.get_ints("axes"), "axes")),
        attribute_scales_(init.node.get_floats("scales")) {}

  void run(OpContext& ctx) const override {
    const TensorView& x = need_input(ctx, 0, "X");
    const int rank = x.shape.rank();
    std::array<AxisScale, kMaxRank> axes;
    read_scales(ctx, x.shape, axes);
    Shape shape;
    int64_t largest = x.elements(), taps = 1, positions = 0;
    Shape walk = x.shape;
    for (int d = 0; d < rank; ++d) {
      const AxisScale& s = axes[static_cast<size_t>(d)];
      shape.push_back(s.out);
      walk[d] = s.out;
      largest = std::max(largest, walk.elements());
      taps = std::max(taps, tap_count(s));
      positions = std::max(positions, s.out);
    }
    const MutableTensorView y = ctx.output(0, x.dtype, shape);
    ScratchPlan plan;
    const int64_t first = plan.add_array<double>(largest), second = plan.add_array<double>(largest);
    const int64_t index_at = plan.add_array<int64_t>(checked_mul(positions, taps));
    const int64_t weight_at = plan.add_array<double>(checked_mul(positions, taps));
    plan.take(ctx);
    auto* from = plan.at<double>(first);
    auto* to = plan.at<double>(second);
    convert_elements(x, {DType::kFloat64, x.shape, from}, true);
    walk = x.shape;
    for (int d = 0; d < rank; ++d) {
      const AxisScale& s = axes[static_cast<size_t>(d)];
      if (s.in == s.out && s.scale == 1 && coordinates_ != "tf_crop_and_resize") continue;
      const Taps t = make_taps(s, plan.at<int64_t>(index_at), plan.at<double>(weight_at));
      const AxisSplit split(walk, d);
      pass(split, s, t, from, to, ctx.threads());
      walk[d] = s.out;
      std::swap(from, to);
    }
    convert_elements({DType::kFloat64, shape, from}, y, true);
  }

 private:
  void read_scales(const OpContext& ctx, const Shape& shape, std::array<AxisScale, kMaxRank>& axes) const {
    const int rank = shape.rank();
    SmallInts named = axes_;
    if (!has_axes_)
      for (named.n = 0; named.n < rank; ++named.n) named[named.n] = named.n;
    for (int d = 0; d < rank; ++d) axes[static_cast<size_t>(d)] = {shape[d], shape[d], 1, 0, 1};
    const size_t scales_in = old_ ? 1 : 2;
    const bool has_sizes = !old_ && ctx.has_input(3) && ctx.input(3).elements() > 0;
    const bool has_scales =
        !attribute_scales_.empty() || (ctx.has_input(scales_in) && ctx.input(scales_in).elements() > 0);
    require(has_sizes || has_scales, ErrorCode::kInvalidArgument, "neither scales nor sizes are given");
    const int64_t given = has_sizes                    ? ctx.input(3).elements()
                          : !attribute_scales_.empty() ? static_cast<int64_t>(attribute_scales_.size())
                                                       : ctx.input(scales_in).elements();
    require(given == named.n, ErrorCode::kInvalidArgument, "{} scales or sizes for {} axes of {}", given, named.n,
            shape);
    double uniform = 0;
    for (int i = 0; i < named.n; ++i) {
      AxisScale& s = axes[static_cast<size_t>(normalize_axis(named[i], rank))];
      if (has_sizes) {
        s.out = read_int(ctx.input(3), i, "sizes");
        require(s.out >= 0 && s.in > 0, ErrorCode::kInvalidArgument, "size {} for axis {} of {}", s.out, named[i],
                shape);
        s.scale = static_cast<double>(s.out) / static_cast<double>(s.in);
      } else {
        s.scale = attribute_scales_.empty() ? static_cast<double>(ctx.input(scales_in).as<float>()[i])
                                            : static_cast<double>(attribute_scales_[static_cast<size_t>(i)]);
        const double out = s.scale * static_cast<double>(s.in);
        require(s.scale > 1e-9 && out < 1e12, ErrorCode::kInvalidArgument, "scale {} for axis {} of {}", s.scale,
                named[i], shape);
        s.out = static_cast<int64_t>(out);
      }
      const bool smaller = policy_ == "not_larger";
      uniform = i == 0 ? s.scale : smaller ? std::min(uniform, s.scale) : std::max(uniform, s.scale);
      if (!old_ && ctx.has_input(1) && ctx.input(1).elements() == 2 * named.n) {
        s.roi_begin = number_at(ctx.input(1), i);
        s.roi_end = number_at(ctx.input(1), i + named.n);
      }
    }
    if (!has_sizes || policy_ == "stretch") return;
    require(policy_ == "not_larger" || policy_ == "not_smaller", ErrorCode::kInvalidArgument,
            "keep_aspect_ratio_policy must be stretch, not_larger or not_smaller, not '{}'", policy_);
    for (int i = 0; i < named.n; ++i) {
      AxisScale& s = axes[static_cast<size_t>(normalize_axis(named[i], rank))];
      s.scale = uniform;
      s.out = static_cast<int64_t>(std::floor(uniform * static_cast<double>(s.in) + 0.5));
    }
  }

  static double number_at(const TensorView& t, int64_t i) {
    return read_number({t.dtype, Shape{}, static_cast<const std::byte*>(t.data) + i * bits_of(t.dtype) / 8}, "roi");
  }

  double support(const AxisScale& s) const {
    const double radius = mode_ == Interpolation::kCubic ? 2 : 1;
    return antialias_ && s.scale < 1 ? radius / s.scale : radius;
  }
  int64_t tap_count(const AxisScale& s) const {
    return mode_ == Interpolation::kNearest ? 1 : 2 * static_cast<int64_t>(std::ceil(support(s))) + 1;
  }

  double source(const AxisScale& s, int64_t position) const {
    const auto p = static_cast<double>(position), in = static_cast<double>(s.in), out = s.scale * in;
    if (coordinates_ == "half_pixel") return (p + 0.5) / s.scale - 0.5;
    if (coordinates_ == "asymmetric") return p / s.scale;
    if (coordinates_ == "align_corners") return out == 1 ? 0 : p * (in - 1) / (out - 1);
    if (coordinates_ == "pytorch_half_pixel") return out == 1 ? -0.5 : (p + 0.5) / s.scale - 0.5;
    if (coordinates_ == "tf_half_pixel_for_nn") return (p + 0.5) / s.scale;
    if (coordinates_ == "half_pixel_symmetric")
      return in / 2 * (1 - static_cast<double>(s.out) / out) + (p + 0.5) / s.scale - 0.5;
    require(coordinates_ == "tf_crop_and_resize", ErrorCode::kInvalidArgument, "coordinate_transformation_mode '{}'",
            coordinates_);
    const double span = (s.roi_end - s.roi_begin) * (in - 1);
    return s.roi_begin * (in - 1) + (out == 1 ? span / 2 : p * span / (out - 1));
  }

  // Keys 1981 for cubic, the triangle for linear.
  double weight_at(double distance) const {
    const double d = std::fabs(distance), a = a_;
    if (mode_ == Interpolation::kLinear) return d < 1 ? 1 - d : 0;
    if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
    if (d < 2) return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
    return 0;
  }

  double nearest(double x) const {
    if (nearest_ == "round_prefer_floor") return std::ceil(x - 0.5);
    if (nearest_ == "round_prefer_ceil") return std::floor(x + 0.5);
    if (nearest_ == "ceil") return std::ceil(x);
    require(nearest_ == "floor", ErrorCode::kInvalidArgument, "nearest_mode '{}'", nearest_);
    return std::floor(x);
  }

  Taps make_taps(const AxisScale& s, int64_t* index, double* weight) const {
    Taps t{tap_count(s), index, weight};
    const double stretch = antialias_ && s.scale < 1 ? s.scale : 1;
    for (int64_t p = 0; p < s.out; ++p) {
      const double x = source(s, p);
      int64_t* at = index + p * t.count;
      double* w = weight + p * t.count;
      const auto clamped = [&](double v) {
        return static_cast<int64_t>(std::clamp(v, 0.0, static_cast<double>(s.in - 1)));
      };
      if (mode_ == Interpolation::kNearest) {
        *at = clamped(nearest(x));
        *w = 1;
      } else {
        const double first = std::ceil(x - support(s));
        double sum = 0;
        for (int64_t k = 0; k < t.count; ++k) {
          const double tap = first + static_cast<double>(k);
          const bool outside = tap < 0 || tap > static_cast<double>(s.in - 1);
          at[k] = clamped(tap);
          w[k] = exclude_outside_ && outside ? 0 : weight_at((tap - x) * stretch);
          sum += w[k];
        }
        for (int64_t k = 0; k < t.count && sum != 0; ++k) w[k] /= sum;
      }
      if (coordinates_ == "tf_crop_and_resize" && (x < 0 || x > static_cast<double>(s.in - 1)))
        w[0] = std::numeric_limits<double>::quiet_NaN();
    }
    return t;
  }

  void pass(const AxisSplit& split, const AxisScale& s, const Taps& t, const double* from, double* to,
            int threads) const {
    parallel_for(threads, split.outer * s.out, grain_of(split.inner * t.count), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t o = r / s.out, p = r % s.out;
        double* row = to + r * split.inner;
        const double* w = t.weight + p * t.count;
        const bool extrapolated = w[0] != w[0];
        std::fill(row, row + split.inner, extrapolated ? static_cast<double>(extrapolation_) : 0.0);
        for (int64_t k = 0; k < t.count && !extrapolated; ++k) {
          if (w[k] == 0) continue;
          const double* source_row = from + (o * split.size + t.index[p * t.count + k]) * split.inner;
          for (int64_t i = 0; i < split.inner; ++i) row[i] += w[k] * source_row[i];
        }
      }
    });
  }

  bool upsample_, old_;
  Interpolation mode_;
  std::string coordinates_, nearest_, policy_;
  float a_, extrapolation_;
  bool exclude_outside_, antialias_, has_axes_;
  SmallInts axes_;
  std::vector<float> attribute_scales_;
};

const OpRegistration kResize{"", "Resize", 10, make_op<Resize>};
const OpRegistration kUpsample{"", "Upsample", 7, make_op<Resize>};

}  // namespace
}  // namespace assay
