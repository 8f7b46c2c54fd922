#include "ops/op_test_context.h"

namespace assay {
namespace {

// microsoft/onnxruntime#18576, #22741: every float type rounds to nearest, ties to even.
TEST(QuantizeLinear, RoundsHalfToEvenForEveryFloatType) {
  run_cases(R"(
    QuantizeLinear | f16[2] 0.0500183 -0.0500183 ; f16[] 0.09997559 ; i8[] 0 -> i8[2] 1 -1
    QuantizeLinear | bf16[4] 0.5 1.5 2.5 -0.5 ; bf16[] 1 ; i8[] 0 -> i8[4] 0 2 2 0
    QuantizeLinear | f16[4] 0.5 1.5 2.5 -0.5 ; f16[] 1 ; u8[] 10 -> u8[4] 10 12 12 10
    QuantizeLinear | f32[6] 0.5 1.5 2.5 -0.5 -1.5 -2.5 ; f32[] 1 ; i8[] 0 -> i8[6] 0 2 2 0 -2 -2
    QuantizeLinear | f32[4] 0.5 1.5 2.5 -0.5 ; f32[] 1 ; i16[] 0 -> i16[4] 0 2 2 0
    QuantizeLinear | f32[4] 0.5 1.5 2.5 -0.5 ; f32[] 1 ; i4[] 0 -> i4[4] 0 2 2 0
    QuantizeLinear | i32[3] 5 7 -5 ; f32[] 2 ; i8[] 0 -> i8[3] 2 4 -2
  )");
}

// microsoft/onnxruntime#3442: saturation reaches the full range of every type.
TEST(QuantizeLinear, SaturatesToTheFullRange) {
  run_cases(R"(
    QuantizeLinear | f32[6] -129 -128 -127 126 127 128 ; f32[] 1 ; i8[] 0 -> i8[6] -128 -128 -127 126 127 127
    QuantizeLinear | f32[4] -1 0 255 256 ; f32[] 1 ; u8[] 0 -> u8[4] 0 0 255 255
    QuantizeLinear | f32[3] -40000 32767 1e30 ; f32[] 1 ; i16[] 0 -> i16[3] -32768 32767 32767
    QuantizeLinear | f32[3] -1 65535 70000 ; f32[] 1 ; u16[] 0 -> u16[3] 0 65535 65535
    QuantizeLinear | f32[4] -9 -8 7 8 ; f32[] 1 ; i4[] 0 -> i4[4] -8 -8 7 7
    QuantizeLinear | f32[3] -1 15 16 ; f32[] 1 ; u4[] 0 -> u4[3] 0 15 15
    QuantizeLinear | f32[3] -3 1 2 ; f32[] 1 ; i2[] 0 -> i2[3] -2 1 1
    QuantizeLinear | f32[3] inf -inf nan ; f32[] 1 ; u8[] 3 -> u8[3] 255 0 3
  )");
}

TEST(QuantizeLinear, AxesBlocksAndTypes) {
  run_cases(R"(
    QuantizeLinear | f32[2,2] 1 2 3 4 ; f32[2] 1 2 ; u8[2] 0 10 -> u8[2,2] 1 11 3 12
    QuantizeLinear axis=0 | f32[2,2] 1 2 3 4 ; f32[2] 1 2 ; u8[2] 0 10 -> u8[2,2] 1 2 12 12
    QuantizeLinear | f32[2] 1 2 ; f32[] 1 -> u8[2] 1 2
    QuantizeLinear output_dtype=5 | f32[2] 1 -2 ; f32[] 1 -> i16[2] 1 -2
    QuantizeLinear axis=1 block_size=2 | f32[1,4] 2 4 8 16 ; f32[1,2] 2 4 ; i8[1,2] 0 1 -> i8[1,4] 1 2 3 5
    QuantizeLinear axis=1 block_size=3 | f32[1,4] 2 4 8 16 ; f32[1,2] 2 4 -> u8[1,4] 1 2 4 4
    QuantizeLinear axis=1 block_size=4 | f32[1,4] 2 4 8 16 ; f32[1,2] 2 4 -> error block of 4 along axis 1 of [1,4]
    QuantizeLinear | f32[2,3] 1 ; f32[2] 1 2 -> error scale holds 2 elements, axis 1 of [2,3] has 3
    QuantizeLinear | f32[2,2] 1 ; f32[2] 1 2 ; u8[3] 0 -> error differ in shape
    QuantizeLinear output_dtype=17 | f32[2] 500 3 ; f32[] 1 -> e4m3[2] 448 3
    QuantizeLinear axis=5 | f32[1] 4 ; f32[1] 2 ; u8[1] 1 -> u8[1] 3
  )");
}

// microsoft/onnxruntime#17718: a scale that fits no axis names the axis and both sizes.
TEST(DequantizeLinear, TypesAxesAndErrors) {
  run_cases(R"(
    DequantizeLinear | u8[3] 0 128 255 ; f32[] 0.5 ; u8[] 128 -> f32[3] -64 0 63.5
    DequantizeLinear | i8[2] -128 127 ; f32[] 2 -> f32[2] -256 254
    DequantizeLinear | i32[2] -7 2147483647 ; f32[] 0.5 -> f32[2] -3.5 1073741824
    DequantizeLinear axis=0 | i8[2,2] 1 2 3 4 ; f32[2] 1 10 ; i8[2] 0 1 -> f32[2,2] 1 2 20 30
    DequantizeLinear | i4[3] -8 7 1 ; f16[] 0.5 ; i4[] 1 -> f16[3] -4.5 3 0
    DequantizeLinear axis=0 block_size=2 | u4[3,1] 15 1 2 ; f32[2,1] 1 0.5 ; u4[2,1] 8 0 -> f32[3,1] 7 -7 1
    DequantizeLinear | e4m3[2] 448 -1.5 ; f32[] 2 -> f32[2] 896 -3
    DequantizeLinear | i16[1] -32768 ; f32[] 1 ; i16[] 32767 -> f32[1] -65535
    DequantizeLinear | i8[2,525,1] 0 ; f32[5] 1 -> error scale holds 5 elements, axis 1 of [2,525,1] has 525
    DequantizeLinear | u8[1] 0 ; f32[] 1 ; i8[] 0 -> error zero point is int8 and x uint8
  )");
}

// microsoft/onnxruntime#12470: ranges without width still give a finite scale and an exact zero.
TEST(DynamicQuantizeLinear, DegenerateRanges) {
  run_cases(R"(
    DynamicQuantizeLinear | f32[4] 0 -> u8[4] 0 ; f32[] 1 ; u8[] 0
    DynamicQuantizeLinear | f32[2] 0.5 -> u8[2] 255 ; f32[] 0.00196078431 ; u8[] 0
    DynamicQuantizeLinear | f32[2] -1 -> u8[2] 0 ; f32[] 0.00392156863 ; u8[] 255
    DynamicQuantizeLinear | f32[6] 0 2 -3 -2.5 1.34 0.5 -> u8[6] 153 255 0 26 221 179 ; f32[] 0.0196078438 ; u8[] 153
  )");
}

// microsoft/onnxruntime#6004: sums of u8 x s8 products are exact on every instruction set.
TEST(MatMulInteger, ExactSumsOnEveryInstructionSet) {
  for (const kernels::Isa isa : kernels::supported_isas())
    for (const int64_t k : {4, 63, 64, 1000}) {
      Tensor a(DType::kUint8, Shape{3, k}), b(DType::kInt8, Shape{k, 5});
      std::fill_n(a.mutable_view().as<uint8_t>(), a.elements(), uint8_t{255});
      std::fill_n(b.mutable_view().as<int8_t>(), b.elements(), int8_t{127});
      for (const bool constants : {false, true}) {
        const Tensor y = run_op("MatMulInteger", 10, {}, {a, b}, 1, constants, "", isa)[0];
        for (const int32_t v : y.values<int32_t>()) ASSERT_EQ(v, 255 * 127 * k) << to_string(isa) << " K " << k;
      }
    }
}

TEST(MatMulInteger, ZeroPointsAndBatches) {
  run_cases(R"(
    MatMulInteger | u8[2,2] 1 2 3 4 ; u8[2,2] 5 6 7 8 -> i32[2,2] 19 22 43 50
    MatMulInteger | u8[2,2] 1 2 3 4 ; i8[2,2] -1 1 2 -2 ; u8[] 1 ; i8[2] 1 -1 -> i32[2,2] 1 -1 -1 1
    MatMulInteger | i8[2,2] 1 2 3 4 ; i8[2,2] 1 0 0 1 ; i8[2] 1 3 -> i32[2,2] 0 1 0 1
    MatMulInteger | u8[2,1,2] 1 2 3 4 ; u8[2,1] 1 1 -> i32[2,1,1] 3 7
    MatMulInteger | u8[2,1,2] 1 2 3 4 ; u8[2,2,1] 1 1 2 0 -> i32[2,1,1] 3 6
    MatMulInteger | u8[2,3] 1 ; u8[2,3] 1 -> error inner sizes 3 and 2 differ
    MatMulInteger | u8[2,3] 1 ; u8[3,1] 1 ; u8[3] 1 -> error A's zero point of shape [3]
    QLinearMatMul | u8[1,2] 10 20 ; f32[] 0.1 ; u8[] 0 ; i8[2,1] 3 4 ; f32[] 0.5 ; i8[] 0 ; f32[] 0.05 ; u8[] 5 -> u8[1,1] 115
    QLinearMatMul | u8[1,2] 10 20 ; f32[] 1 ; u8[] 0 ; i8[2,1] 30 40 ; f32[] 1 ; i8[] 0 ; f32[] 1 ; i8[] 0 -> i8[1,1] 127
  )");
}

// microsoft/onnxruntime#16105, #26324: integer convolution with zero points, padding, strides and odd channel counts.
TEST(IntegerConv, PaddingIsTheZeroPoint) {
  run_cases(R"(
    ConvInteger pads=[1,1,1,1] | u8[1,1,1,1] 255 ; u8[1,1,3,3] 1 ; u8[] 250 -> i32[1,1,1,1] 5
    ConvInteger strides=[2,2] | u8[1,3,3,3] 255 ; i8[1,3,1,1] -127 ; u8[] 1 -> i32[1,1,2,2] -96774
    QLinearConv | u8[1,1,1,2] 255 0 ; f32[] 0.5 ; u8[] 128 ; i8[1,1,1,1] 127 ; f32[1] 0.01 ; i8[] 0 ; f32[] 1 ; u8[] 100 ; i32[1] 10 -> u8[1,1,1,2] 181 19
  )");
}

}  // namespace
}  // namespace assay
