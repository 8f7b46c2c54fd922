#include "quant/numbers.h"

#include <hwy/highway.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <limits>

#include "base/parallel.h"

namespace assay::quant {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
const hn::ScalableTag<float> kFloats;
constexpr float kMaxFinite = std::numeric_limits<float>::max();

// Lane-wise running minimum and maximum over finite values; lo starts at +max, hi at -max.
void min_max_run(const float* data, int64_t n, float& lo, float& hi, int64_t& bad) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(kFloats));
  const auto largest = hn::Set(kFloats, kMaxFinite);
  auto vlo = largest;
  auto vhi = hn::Neg(largest);
  auto count = hn::Zero(kFloats);
  int64_t i = 0;
  const auto flush = [&] {
    bad += static_cast<int64_t>(hn::GetLane(hn::SumOfLanes(kFloats, count)));
    count = hn::Zero(kFloats);
  };
  const auto one = hn::Set(kFloats, 1.0f);
  for (int64_t since = 0; i + lanes <= n; i += lanes) {
    const auto v = hn::LoadU(kFloats, data + i);
    const auto finite = hn::Le(hn::Abs(v), largest);
    vlo = hn::Min(vlo, hn::IfThenElse(finite, v, vlo));
    vhi = hn::Max(vhi, hn::IfThenElse(finite, v, vhi));
    count = hn::Add(count, hn::IfThenZeroElse(finite, one));
    if (++since == (1 << 20)) {  // counts stay exact in float
      flush();
      since = 0;
    }
  }
  flush();
  lo = std::min(lo, hn::GetLane(hn::MinOfLanes(kFloats, vlo)));
  hi = std::max(hi, hn::GetLane(hn::MaxOfLanes(kFloats, vhi)));
  for (; i < n; ++i) {
    if (std::abs(data[i]) <= kMaxFinite) {
      lo = std::min(lo, data[i]);
      hi = std::max(hi, data[i]);
    } else {
      ++bad;
    }
  }
}

// lo[j], hi[j] over a row added to a running minimum and maximum per column.
void min_max_columns(const float* row, int64_t n, float* lo, float* hi, int64_t& bad) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(kFloats));
  const auto largest = hn::Set(kFloats, kMaxFinite);
  auto count = hn::Zero(kFloats);
  const auto one = hn::Set(kFloats, 1.0f);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::LoadU(kFloats, row + i);
    const auto finite = hn::Le(hn::Abs(v), largest);
    count = hn::Add(count, hn::IfThenZeroElse(finite, one));
    hn::StoreU(hn::Min(hn::LoadU(kFloats, lo + i), v), kFloats, lo + i);
    hn::StoreU(hn::Max(hn::LoadU(kFloats, hi + i), v), kFloats, hi + i);
  }
  bad += static_cast<int64_t>(hn::GetLane(hn::SumOfLanes(kFloats, count)));
  for (; i < n; ++i) {
    if (!(std::abs(row[i]) <= kMaxFinite)) ++bad;
    lo[i] = std::min(lo[i], row[i]);
    hi[i] = std::max(hi[i], row[i]);
  }
}

template <typename Code>
Code encode_one(float x, float scale, int32_t zero_point) {
  constexpr int32_t kLo = std::numeric_limits<Code>::min();
  constexpr int32_t kHi = std::numeric_limits<Code>::max();
  const float t = std::clamp(x / scale, -1024.0f, 1024.0f);  // beyond that every code saturates anyway
  return static_cast<Code>(std::clamp(static_cast<int32_t>(std::nearbyint(t)) + zero_point, kLo, kHi));
}

// Codes of a run of values. `per_value` says whether scales and zero points advance with the values (last axis) or
// stay.
template <typename Code>
void encode_run(const float* x, int64_t n, const float* scales, const int32_t* zero_points, bool per_value, Code* out) {
  const hn::RebindToSigned<decltype(kFloats)> ints;
  const hn::Rebind<Code, decltype(kFloats)> codes;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(kFloats));
  const auto bound = hn::Set(kFloats, 1024.0f);
  auto scale = hn::Set(kFloats, scales[0]);
  auto zero = hn::Set(ints, zero_points[0]);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    if (per_value) {
      scale = hn::LoadU(kFloats, scales + i);
      zero = hn::LoadU(ints, zero_points + i);
    }
    const auto t = hn::Max(hn::Min(hn::Div(hn::LoadU(kFloats, x + i), scale), bound), hn::Neg(bound));
    hn::StoreU(hn::DemoteTo(codes, hn::Add(hn::NearestInt(t), zero)), codes, out + i);
  }
  for (; i < n; ++i) out[i] = encode_one<Code>(x[i], scales[per_value ? i : 0], zero_points[per_value ? i : 0]);
}

// A weight seen as [outer, channels, inner]; one channel when per tensor.
struct Cut {
  int64_t outer = 1, channels = 1, inner = 1;
};

Cut cut_of(const Shape& shape, int axis) {
  if (axis < 0) return {1, 1, shape.elements()};
  require(axis < shape.rank(), ErrorCode::kInvalidArgument, "axis {} is beyond a weight of shape {}", axis,
          shape.str());
  return {shape.elements(0, axis), shape[axis], shape.elements(axis + 1, shape.rank())};
}

std::vector<MinMax> channel_ranges(const float* data, const Cut& cut, int threads) {
  std::vector<MinMax> out(static_cast<size_t>(cut.channels));
  if (cut.channels == 1) {
    out[0] = min_max(data, cut.outer * cut.inner, threads);
    return out;
  }
  std::vector<float> lo(out.size(), kMaxFinite), hi(out.size(), -kMaxFinite);
  std::vector<int64_t> bad(out.size(), 0);
  if (cut.inner == 1) {
    parallel_for(threads, cut.channels, 256, [&](int64_t begin, int64_t end) {
      for (int64_t o = 0; o < cut.outer; ++o)
        min_max_columns(data + o * cut.channels + begin, end - begin, &lo[static_cast<size_t>(begin)],
                        &hi[static_cast<size_t>(begin)], bad[static_cast<size_t>(begin)]);
    });
  } else {
    parallel_for(threads, cut.channels, 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c)
        for (int64_t o = 0; o < cut.outer; ++o)
          min_max_run(data + (o * cut.channels + c) * cut.inner, cut.inner, lo[static_cast<size_t>(c)],
                      hi[static_cast<size_t>(c)], bad[static_cast<size_t>(c)]);
    });
  }
  for (size_t c = 0; c < out.size(); ++c)
    out[c] = {std::min(lo[c], 0.0f), std::max(hi[c], 0.0f), cut.outer * cut.inner - bad[c], bad[c]};
  return out;
}

template <typename Code>
void encode(const float* data, const Cut& cut, const QuantizedTensor& q, Code* out, int threads) {
  if (cut.inner == 1 && cut.channels > 1) {
    parallel_for(threads, cut.outer, 16, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o)
        encode_run(data + o * cut.channels, cut.channels, q.scales.data(), q.zero_points.data(), true,
                   out + o * cut.channels);
    });
    return;
  }
  const int64_t rows = cut.outer * cut.channels;
  if (rows == 1) {
    parallel_for(threads, cut.inner, 4096, [&](int64_t begin, int64_t end) {
      encode_run(data + begin, end - begin, q.scales.data(), q.zero_points.data(), false, out + begin);
    });
    return;
  }
  parallel_for(threads, rows, 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const auto c = static_cast<size_t>(r % cut.channels);
      encode_run(data + r * cut.inner, cut.inner, &q.scales[c], &q.zero_points[c], false, out + r * cut.inner);
    }
  });
}

// The weight as float32: itself, or a converted copy that `holder` keeps.
const float* as_floats(const TensorView& weight, Tensor& holder) {
  if (weight.dtype == DType::kFloat32) return weight.as<float>();
  require(is_float(weight.dtype), ErrorCode::kInvalidArgument, "a {} tensor is no weight to quantize",
          to_string(weight.dtype));
  holder = to_float32(weight);
  return holder.values<float>().data();
}

QuantizedTensor encode_with(const float* data, const TensorView& weight, QuantizedTensor q, int threads) {
  q.codes = Tensor(q.spec.dtype, weight.shape);
  const Cut cut = cut_of(weight.shape, q.spec.axis);
  const MutableTensorView out = q.codes.mutable_view();
  if (q.spec.dtype == DType::kInt8)
    encode(data, cut, q, out.as<int8_t>(), threads);
  else
    encode(data, cut, q, out.as<uint8_t>(), threads);
  return q;
}

}  // namespace

CodeRange full_range(DType dtype) {
  if (dtype == DType::kInt8) return {-128, 127};
  if (dtype == DType::kUint8) return {0, 255};
  fail(ErrorCode::kInvalidArgument, "{} is no 8-bit type to quantize to: int8 or uint8", to_string(dtype));
}

CodeRange code_range(DType dtype, bool symmetric, bool reduced) {
  const CodeRange full = full_range(dtype);
  if (reduced) return dtype == DType::kInt8 ? CodeRange{-64, 64} : CodeRange{0, 127};
  if (symmetric && dtype == DType::kInt8) return {-127, 127};
  return full;
}

ScaleZero scale_zero(float lo, float hi, CodeRange codes, bool symmetric) {
  require(std::isfinite(lo) && std::isfinite(hi), ErrorCode::kNumeric, "range [{}, {}] is not finite", lo, hi);
  double low = std::min(lo, 0.0f);
  double high = std::max(hi, 0.0f);
  if (symmetric) {
    high = std::max(-low, high);
    low = -high;
  }
  const double scale = (high - low) / (static_cast<double>(codes.hi) - codes.lo);
  if (scale < static_cast<double>(std::numeric_limits<float>::min())) return {};
  ScaleZero out;
  out.scale = static_cast<float>(scale);
  const double zero = symmetric ? (codes.lo + codes.hi) / 2.0 : codes.lo - low / scale;
  out.zero_point = static_cast<int32_t>(std::nearbyint(zero));
  return out;
}

MinMax min_max(const float* data, int64_t n, int threads) {
  constexpr int64_t kBlock = 1 << 16;
  const int64_t blocks = (n + kBlock - 1) / kBlock;
  std::vector<MinMax> part(static_cast<size_t>(blocks), MinMax{kMaxFinite, -kMaxFinite, 0, 0});
  parallel_for(threads, blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      MinMax& p = part[static_cast<size_t>(b)];
      min_max_run(data + b * kBlock, std::min(kBlock, n - b * kBlock), p.lo, p.hi, p.not_finite);
    }
  });
  MinMax all{kMaxFinite, -kMaxFinite, 0, 0};
  for (const MinMax& p : part) {
    all.lo = std::min(all.lo, p.lo);
    all.hi = std::max(all.hi, p.hi);
    all.not_finite += p.not_finite;
  }
  all.finite = n - all.not_finite;
  if (all.finite == 0) all.lo = all.hi = 0.0f;
  return all;
}

QuantizedTensor quantize_tensor(const TensorView& weight, const WeightSpec& spec, int threads,
                                const std::vector<float>& min_scales) {
  Tensor holder;
  const float* data = as_floats(weight, holder);
  const CodeRange codes = code_range(spec.dtype, spec.symmetric, spec.reduced);
  QuantizedTensor q;
  q.spec = spec;
  for (const MinMax& m : channel_ranges(data, cut_of(weight.shape, spec.axis), threads)) {
    require(m.not_finite == 0, ErrorCode::kNumeric, "{} of the weight's values are NaN or infinite", m.not_finite);
    ScaleZero p = scale_zero(m.lo, m.hi, codes, spec.symmetric);
    if (!min_scales.empty()) p.scale = std::max(p.scale, min_scales[min_scales.size() == 1 ? 0 : q.scales.size()]);
    q.scales.push_back(p.scale);
    q.zero_points.push_back(p.zero_point);
  }
  return encode_with(data, weight, std::move(q), threads);
}

QuantizedTensor quantize_tensor(const TensorView& weight, const WeightSpec& spec, const std::vector<ScaleZero>& params,
                                int threads) {
  Tensor holder;
  const float* data = as_floats(weight, holder);
  QuantizedTensor q;
  q.spec = spec;
  require(static_cast<int64_t>(params.size()) == cut_of(weight.shape, spec.axis).channels, ErrorCode::kInvalidArgument,
          "{} scales do not fit axis {} of shape {}", params.size(), spec.axis, weight.shape.str());
  for (const ScaleZero& p : params) {
    q.scales.push_back(p.scale);
    q.zero_points.push_back(p.zero_point);
  }
  return encode_with(data, weight, std::move(q), threads);
}

Tensor dequantize(const QuantizedTensor& q) {
  Tensor out(DType::kFloat32, q.codes.shape());
  float* to = out.mutable_view().as<float>();
  const Cut cut = cut_of(q.codes.shape(), q.spec.axis);
  const auto fill = [&](const auto* codes) {
    for (int64_t r = 0; r < cut.outer * cut.channels; ++r) {
      const auto c = static_cast<size_t>(r % cut.channels);
      for (int64_t i = r * cut.inner; i < (r + 1) * cut.inner; ++i)
        to[i] = static_cast<float>(static_cast<int32_t>(codes[i]) - q.zero_points[c]) * q.scales[c];
    }
  };
  if (q.spec.dtype == DType::kInt8)
    fill(q.codes.values<int8_t>().data());
  else
    fill(q.codes.values<uint8_t>().data());
  return out;
}

double sqnr_db(double signal_energy, double noise_energy) {
  if (noise_energy <= 0.0) return std::numeric_limits<double>::infinity();
  if (signal_energy <= 0.0) return 0.0;
  return 10.0 * std::log10(signal_energy / noise_energy);
}

double sqnr_db(const float* x, const float* y, int64_t n) {
  double signal = 0.0, noise = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    const double d = static_cast<double>(x[i]) - static_cast<double>(y[i]);
    signal += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    noise += d * d;
  }
  return sqnr_db(signal, noise);
}

}  // namespace assay::quant
