// Integer operators against the standard's formulas written out, over all that can vary, on every instruction set.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/rng.h"
#include "ops/convert.h"
#include "ops/op_test_context.h"

namespace assay {
namespace {

int32_t code_at(const Tensor& t, int64_t i) {
  if (bits_of(t.dtype()) < 8) return read_packed(t.data(), t.dtype(), i);
  const auto at = static_cast<size_t>(i);
  switch (t.dtype()) {
    case DType::kInt8:
      return t.values<int8_t>()[at];
    case DType::kUint8:
      return t.values<uint8_t>()[at];
    case DType::kInt16:
      return t.values<int16_t>()[at];
    case DType::kUint16:
      return t.values<uint16_t>()[at];
    default:
      return t.values<int32_t>()[at];
  }
}

std::pair<double, double> range_of(DType type) {
  const double codes = std::exp2(bits_of(type));
  return is_signed(type) ? std::pair(-codes / 2, codes / 2 - 1) : std::pair(0.0, codes - 1);
}

Tensor as_type(const Tensor& t, DType type) {
  Tensor out(type, t.shape());
  convert_elements(t, out.mutable_view(), true);
  return out;
}

// microsoft/onnxruntime#18576, #22741, #3442: every value of float16 and bfloat16, and float32 beside them, to every
// integer type, zero points of either parity: round-half-even(x / scale) + zero point, saturated to the whole type.
TEST(QuantizeLinearKind, EveryFloatToEveryIntegerType) {
  for (const DType from : {DType::kFloat16, DType::kBfloat16, DType::kFloat32}) {
    Tensor x(from, Shape{1 << 16});
    for (int64_t i = 0; i < x.elements(); ++i) {
      const auto bits = static_cast<uint16_t>(i);
      auto* to = static_cast<std::byte*>(x.mutable_view().data);
      if (from != DType::kFloat32) {
        std::memcpy(to + 2 * i, &bits, 2);
      } else {  // halves of whole numbers, around each of which a rounding could go wrong
        static_cast<float*>(x.mutable_view().data)[i] = static_cast<float>(i - 32768) / 2;
      }
    }
    const Tensor real = to_float32(x);
    for (const DType to : {DType::kInt8, DType::kUint8, DType::kInt16, DType::kUint16, DType::kInt4, DType::kUint4})
      for (const float scale : {1.0f, 0.5f, 0.09997559f})
        for (const int zero : {0, 1, 6}) {
          const Tensor s = as_type(Tensor::scalar<float>(scale), from == DType::kFloat32 ? DType::kFloat32 : from);
          Tensor z(to, Shape{});
          if (bits_of(to) < 8)
            write_packed(z.mutable_view().data, to, 0, zero);
          else
            convert_elements(Tensor::scalar<int32_t>(zero), z.mutable_view(), true);
          const float divisor = to_float32(s).values<float>()[0];
          const auto [low, high] = range_of(to);
          const Tensor y = run_op("QuantizeLinear", 21, {}, {x, s, z})[0];
          ASSERT_EQ(y.dtype(), to);
          for (int64_t i = 0; i < x.elements(); ++i) {
            const float v = real.values<float>()[static_cast<size_t>(i)];
            const double want =
                std::isnan(v) ? zero : std::clamp(std::nearbyint(static_cast<double>(v / divisor)) + zero, low, high);
            ASSERT_EQ(code_at(y, i), want)
                << to_string(from) << " " << v << " / " << divisor << " + " << zero << " to " << to_string(to);
          }
        }
  }
}

// A convolution with all that may vary, and random codes that lie near the ends of their types.
struct ConvCase {
  int64_t batch, group, in, out, height, width, kh, kw;  // channels are per group
  std::vector<int64_t> strides, dilations, pads;
  DType x_type, w_type;
  int x_zero, w_zero;
  bool per_channel;
};

struct ConvData {
  Tensor x, w;
  std::vector<int32_t> w_zeros;
  Attributes attributes;
  int64_t out_height, out_width;
};

Tensor extreme(Rng& rng, DType type, const Shape& shape) {
  Tensor t(type, shape);
  auto* to = static_cast<uint8_t*>(t.mutable_view().data);
  const int low = type == DType::kInt8 ? -128 : 0, high = type == DType::kInt8 ? 127 : 255;
  for (int64_t i = 0; i < t.elements(); ++i) {
    const int near = static_cast<int>(rng.below(4));
    to[i] = static_cast<uint8_t>(rng.below(3) == 0 ? low + near : high - near);
  }
  return t;
}

ConvData data_of(const ConvCase& c, Rng& rng) {
  ConvData d;
  d.x = extreme(rng, c.x_type, {c.batch, c.group * c.in, c.height, c.width});
  d.w = extreme(rng, c.w_type, {c.group * c.out, c.in, c.kh, c.kw});
  for (int64_t i = 0; i < c.group * c.out; ++i)
    d.w_zeros.push_back(c.w_zero + (c.per_channel ? static_cast<int>(i % 3) : 0));
  d.attributes = {{"strides", c.strides}, {"dilations", c.dilations}, {"pads", c.pads}, {"group", c.group}};
  d.out_height = (c.height + c.pads[0] + c.pads[2] - c.dilations[0] * (c.kh - 1) - 1) / c.strides[0] + 1;
  d.out_width = (c.width + c.pads[1] + c.pads[3] - c.dilations[1] * (c.kw - 1) - 1) / c.strides[1] + 1;
  return d;
}

std::vector<int32_t> plain(const ConvCase& c, const ConvData& d) {
  std::vector<int32_t> out;
  for (int64_t n = 0; n < c.batch; ++n)
    for (int64_t m = 0; m < c.group * c.out; ++m)
      for (int64_t oh = 0; oh < d.out_height; ++oh)
        for (int64_t ow = 0; ow < d.out_width; ++ow) {
          int32_t sum = 0;
          for (int64_t k = 0; k < c.in; ++k)
            for (int64_t i = 0; i < c.kh; ++i)
              for (int64_t j = 0; j < c.kw; ++j) {
                const int64_t h = oh * c.strides[0] - c.pads[0] + i * c.dilations[0];
                const int64_t w = ow * c.strides[1] - c.pads[1] + j * c.dilations[1];
                if (h < 0 || h >= c.height || w < 0 || w >= c.width) continue;
                const int64_t channel = m / c.out * c.in + k;
                const int32_t x =
                    code_at(d.x, ((n * c.group * c.in + channel) * c.height + h) * c.width + w) - c.x_zero;
                const int32_t weight = code_at(d.w, ((m * c.in + k) * c.kh + i) * c.kw + j);
                sum += x * (weight - d.w_zeros[static_cast<size_t>(m)]);
              }
          out.push_back(sum);
        }
  return out;
}

Tensor zero_tensor(DType type, std::vector<int32_t> values, bool scalar) {
  if (scalar) values.resize(1);
  const auto n = static_cast<int64_t>(values.size());
  return as_type(Tensor::from<int32_t>(scalar ? Shape{} : Shape{n}, std::span<const int32_t>(values)), type);
}

// microsoft/onnxruntime#16105, #26324, #6004, uxlfoundation/oneDNN#717: ConvInteger and QLinearConv are bit-equal to a
// plain loop on every level: 1x1 and 3x3, channel counts that fill no tile, groups and depthwise, strides, dilations,
// uneven padding, zero points, codes at the ends of their types.
TEST(IntegerConvKind, BitEqualToAPlainLoopOnEveryLevel) {
  Rng rng(16105);
  for (int round = 0; round < 60; ++round) {
    const auto pick = [&](std::initializer_list<int64_t> of) { return of.begin()[rng.below(of.size())]; };
    ConvCase c{};
    c.batch = pick({1, 2});
    c.group = pick({1, 1, 2, 5});
    c.in = c.group > 2 ? 1 : pick({1, 3, 5, 17, 67});
    c.out = c.group > 2 ? pick({1, 2}) : pick({1, 3, 16, 35});
    c.height = pick({3, 5, 8});
    c.width = pick({4, 7});
    c.kh = c.kw = pick({1, 3});
    if (rng.below(4) == 0) c.kw = 2;
    c.strides = {pick({1, 2}), pick({1, 2})};
    c.dilations = {c.kh > 1 && c.height > 3 ? pick({1, 2}) : 1, 1};
    c.pads = {pick({0, 1}), pick({0, 1}), pick({0, 1}), pick({0, 2})};
    c.x_type = rng.below(3) == 0 ? DType::kInt8 : DType::kUint8;
    c.w_type = rng.below(3) == 0 ? DType::kUint8 : DType::kInt8;
    c.x_zero = static_cast<int>(pick({0, 1, 100, 127}));
    c.w_zero = c.w_type == DType::kInt8 ? static_cast<int>(pick({0, -2})) : 128;
    c.per_channel = rng.below(2) != 0;
    const ConvData d = data_of(c, rng);
    const auto sums = plain(c, d);
    const Tensor x_zero = zero_tensor(c.x_type, {c.x_zero}, true);
    const Tensor w_zero = zero_tensor(c.w_type, d.w_zeros, !c.per_channel);
    const int64_t outputs = c.group * c.out, plane = d.out_height * d.out_width;
    Tensor w_scale(DType::kFloat32, c.per_channel ? Shape{outputs} : Shape{}), bias(DType::kInt32, Shape{outputs});
    for (float& v : w_scale.mutable_view().values<float>()) v = 0.001f + 0.0001f * static_cast<float>(rng.below(100));
    for (int32_t& v : bias.mutable_view().values<int32_t>()) v = static_cast<int32_t>(rng.below(20000)) - 10000;
    const float x_scale = 0.02f, y_scale = 0.7f;
    const int y_zero = 3;
    for (const kernels::Isa isa : kernels::supported_isas())
      for (const bool constants : {false, true}) {
        SCOPED_TRACE(testing::Message() << "round " << round << " " << to_string(isa) << " constants " << constants);
        const Tensor got =
            run_op("ConvInteger", 10, d.attributes, {d.x, d.w, x_zero, w_zero}, 1, constants, "", isa, 2)[0];
        ASSERT_EQ(got.shape().str(), (Shape{c.batch, outputs, d.out_height, d.out_width}).str());
        ASSERT_TRUE(std::equal(sums.begin(), sums.end(), got.values<int32_t>().begin()));
        for (const DType y_type : {DType::kUint8, DType::kInt8}) {
          const Tensor q = run_op("QLinearConv", 10, d.attributes,
                                  {d.x, Tensor::scalar<float>(x_scale), x_zero, d.w, w_scale, w_zero,
                                   Tensor::scalar<float>(y_scale), zero_tensor(y_type, {y_zero}, true), bias},
                                  1, constants, "", isa, 2)[0];
          const auto [low, high] = range_of(y_type);
          for (int64_t i = 0; i < q.elements(); ++i) {
            const auto m = static_cast<size_t>(i / plane % outputs);
            const int32_t sum = sums[static_cast<size_t>(i)] + bias.values<int32_t>()[m];
            const float scale = x_scale * w_scale.values<float>()[c.per_channel ? m : 0];
            const double real = static_cast<double>(static_cast<float>(sum) * scale / y_scale);
            ASSERT_EQ(code_at(q, i), std::clamp(std::nearbyint(real) + y_zero, low, high)) << i;
          }
        }
      }
  }
}

// microsoft/onnxruntime#6004, #5849, #14642: the same for products, QLinearMatMul's rounding included: rows all 255
// against columns all 127 or -128, every depth around the widths of vectors.
TEST(IntegerProductKind, BitEqualToAPlainLoopOnEveryLevel) {
  for (const int64_t k : {1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 1000})
    for (const int weight : {127, -128, 1})
      for (const DType a_type : {DType::kUint8, DType::kInt8}) {
        Tensor a(a_type, Shape{3, k}), b(DType::kInt8, Shape{k, 5});
        const int top = a_type == DType::kUint8 ? 255 : -128;
        std::fill_n(static_cast<uint8_t*>(a.mutable_view().data), a.elements(), static_cast<uint8_t>(top));
        std::fill_n(static_cast<uint8_t*>(b.mutable_view().data), b.elements(), static_cast<uint8_t>(weight));
        const int a_zero = a_type == DType::kUint8 ? 7 : -7;
        const int64_t sum = k * (top - a_zero) * weight;
        for (const kernels::Isa isa : kernels::supported_isas())
          for (const bool constants : {false, true}) {
            const Tensor zero = zero_tensor(a_type, {a_zero}, true), none = zero_tensor(DType::kInt8, {0}, true);
            const Tensor y = run_op("MatMulInteger", 10, {}, {a, b, zero}, 1, constants, "", isa)[0];
            for (const int32_t v : y.values<int32_t>()) ASSERT_EQ(v, sum) << to_string(isa) << " K " << k;
            const float scale = 3e-6f;
            const Tensor q = run_op("QLinearMatMul", 10, {},
                                    {a, Tensor::scalar<float>(scale), zero, b, Tensor::scalar<float>(1), none,
                                     Tensor::scalar<float>(0.5f), none},
                                    1, constants, "", isa)[0];
            const double want = std::nearbyint(static_cast<double>(static_cast<float>(sum) * scale / 0.5f));
            for (int64_t i = 0; i < q.elements(); ++i)
              ASSERT_EQ(code_at(q, i), std::clamp(want, -128.0, 127.0)) << to_string(isa) << " K " << k;
          }
      }
}

// microsoft/onnxruntime#12470: DynamicQuantizeLinear of tensors without width, at any length and on every level: the
// scale is finite and > 0, and zero comes back as zero.
TEST(DynamicQuantizeLinearKind, RangesWithoutWidth) {
  for (const float v : {0.0f, 0.5f, -0.5f, 1e-38f, -1e-38f, 1e-45f, 1e38f, -3.4e38f})
    for (const int64_t n : {1, 16, 33, 5000})
      for (const kernels::Isa isa : kernels::supported_isas()) {
        SCOPED_TRACE(testing::Message() << v << " x " << n << " " << to_string(isa));
        Tensor x(DType::kFloat32, Shape{n});
        std::fill_n(x.mutable_view().as<float>(), n, v);
        const auto out = run_op("DynamicQuantizeLinear", 11, {}, {x}, 3, false, "", isa, 2);
        const float scale = out[1].values<float>()[0];
        const int zero = out[2].values<uint8_t>()[0];
        ASSERT_TRUE(std::isfinite(scale) && scale > 0.0f);
        for (const uint8_t code : out[0].values<uint8_t>()) {
          const float back = static_cast<float>(code - zero) * scale;
          ASSERT_TRUE(v != 0.0f || back == 0.0f);
          ASSERT_LE(std::fabs(back - v), std::max(0.5001f * scale, 1e-37f));
        }
      }
}

}  // namespace
}  // namespace assay
