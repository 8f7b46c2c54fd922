#include "quant/numbers.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/parallel.h"

namespace assay::quant {
namespace {

constexpr float kMaxFinite = std::numeric_limits<float>::max();

// Smallest and largest finite value of a run joined to lo and hi; counts the others.
void min_max_run(const float* data, int64_t n, float& lo, float& hi, int64_t& bad) {
  int64_t i = 0;
#ifdef __SSE2__
  // Block by block; one that holds a value that is not finite is walked again, slowly.
  const __m128 largest = _mm_set1_ps(kMaxFinite);
  const __m128 magnitude = _mm_castsi128_ps(_mm_set1_epi32(0x7fffffff));
  constexpr int64_t kBlock = 4096;
  for (; i + kBlock <= n; i += kBlock) {
    __m128 low = largest, high = _mm_sub_ps(_mm_setzero_ps(), largest), low2 = low, high2 = high;
    __m128 all = _mm_castsi128_ps(_mm_set1_epi32(-1));
    for (int64_t b = i; b < i + kBlock; b += 8) {
      const __m128 u = _mm_loadu_ps(data + b), v = _mm_loadu_ps(data + b + 4);
      all = _mm_and_ps(all, _mm_and_ps(_mm_cmple_ps(_mm_and_ps(u, magnitude), largest),
                                       _mm_cmple_ps(_mm_and_ps(v, magnitude), largest)));
      low = _mm_min_ps(low, u);
      high = _mm_max_ps(high, u);
      low2 = _mm_min_ps(low2, v);
      high2 = _mm_max_ps(high2, v);
    }
    if (_mm_movemask_ps(all) == 15) {
      alignas(16) float a[4], b[4];
      _mm_store_ps(a, _mm_min_ps(low, low2));
      _mm_store_ps(b, _mm_max_ps(high, high2));
      for (int lane = 0; lane < 4; ++lane) {
        lo = std::min(lo, a[lane]);
        hi = std::max(hi, b[lane]);
      }
      continue;
    }
    for (int64_t b = i; b < i + kBlock; ++b) {
      if (std::abs(data[b]) <= kMaxFinite) {
        lo = std::min(lo, data[b]);
        hi = std::max(hi, data[b]);
      } else {
        ++bad;
      }
    }
  }
#endif
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
  int64_t i = 0;
#ifdef __SSE2__
  const __m128 largest = _mm_set1_ps(kMaxFinite);
  const __m128 magnitude = _mm_castsi128_ps(_mm_set1_epi32(0x7fffffff));
  __m128 all = _mm_castsi128_ps(_mm_set1_epi32(-1));
  for (; i + 4 <= n; i += 4) {
    const __m128 v = _mm_loadu_ps(row + i);
    all = _mm_and_ps(all, _mm_cmple_ps(_mm_and_ps(v, magnitude), largest));
    _mm_storeu_ps(lo + i, _mm_min_ps(_mm_loadu_ps(lo + i), v));
    _mm_storeu_ps(hi + i, _mm_max_ps(_mm_loadu_ps(hi + i), v));
  }
  if (_mm_movemask_ps(all) != 15)
    bad += std::count_if(row, row + i, [](float x) { return !(std::abs(x) <= kMaxFinite); });
#endif
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

#ifdef __SSE2__
// Four values as int32 codes, not yet saturated to 8 bits: the conversion rounds half to even.
__m128i encode_four(const float* x, __m128 scale, __m128i zero) {
  const __m128 bound = _mm_set1_ps(1024.0f);
  const __m128 t = _mm_div_ps(_mm_loadu_ps(x), scale);
  const __m128 clamped = _mm_max_ps(_mm_min_ps(t, bound), _mm_sub_ps(_mm_setzero_ps(), bound));
  return _mm_add_epi32(_mm_cvtps_epi32(clamped), zero);
}
#endif

// Codes of a run of values. `per_value` says whether scales and zero points advance with the values (last axis) or
// stay.
template <typename Code>
void encode_run(const float* x, int64_t n, const float* scales, const int32_t* zero_points, bool per_value, Code* out) {
  int64_t i = 0;
#ifdef __SSE2__
  const __m128 scale = _mm_set1_ps(scales[0]);
  const __m128i zero = _mm_set1_epi32(zero_points[0]);
  for (; i + 16 <= n; i += 16) {
    __m128i four[4];
    for (int k = 0; k < 4; ++k) {
      const int64_t at = i + 4 * k;
      four[k] = per_value ? encode_four(x + at, _mm_loadu_ps(scales + at),
                                        _mm_loadu_si128(reinterpret_cast<const __m128i*>(zero_points + at)))
                          : encode_four(x + at, scale, zero);
    }
    const __m128i low = _mm_packs_epi32(four[0], four[1]), high = _mm_packs_epi32(four[2], four[3]);
    const __m128i codes = std::is_signed_v<Code> ? _mm_packs_epi16(low, high) : _mm_packus_epi16(low, high);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), codes);
  }
#endif
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
