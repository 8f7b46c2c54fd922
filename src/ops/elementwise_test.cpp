#include "ops/op_test_context.h"

namespace assay {
namespace {

TEST(Elementwise, ArithmeticBroadcastsAndWraps) {
  run_cases(R"(
    Add | f32[2,3] 1 2 3 4 5 6 ; f32[3] 10 20 30 -> f32[2,3] 11 22 33 14 25 36
    Add | f32[2,1] 1 2 ; f32[1,3] 10 20 30 -> f32[2,3] 11 21 31 12 22 32
    Add | f32[2,1,2] 1 2 3 4 ; f32[3,1] 10 20 30 -> f32[2,3,2] 11 12 21 22 31 32 13 14 23 24 33 34
    Add | f32[] 1 ; f32[] 2 -> f32[] 3
    Add | f32[0,3] ; f32[3] 1 2 3 -> f32[0,3]
    Add | i8[2] 127 -128 ; i8[2] 1 -1 -> i8[2] -128 127
    Mul | u16[1] 65535 ; u16[1] 65535 -> u16[1] 1
    Sub | u8[1] 3 ; u8[1] 5 -> u8[1] 254
    Sub | i64[2] 5 7 ; i64[] 2 -> i64[2] 3 5
    Div | i32[4] 7 -7 5 -2147483648 ; i32[4] 2 2 0 -1 -> i32[4] 3 -3 0 -2147483648
    Div | f32[2] 1 -1 ; f32[] 0 -> f32[2] inf -inf
    Add | f16[2] 1 2 ; f16[2] 0.5 0.25 -> f16[2] 1.5 2.25
    Mul | bf16[2] 3 2 ; bf16[] 2 -> bf16[2] 6 4
    Add | f32[2] 1 2 ; f32[3] 1 2 3 -> error [2] and [3]
    Add | f32[2] 1 2 ; f64[2] 1 2 -> error float64 [2] must have one type
    Add | f32[2] 1 2 ; - -> error input 1
    Add | str[1] a ; str[1] b -> error Add does not take string
  )");
}

TEST(Elementwise, LargeBroadcastsAgreeWithIndexing) {
  // Long enough for several threads and every inner loop.
  for (const Shape& other : {Shape{300, 257}, Shape{257}, Shape{300, 1}, Shape{}}) {
    Tensor a(DType::kFloat32, Shape{300, 257}), b(DType::kFloat32, other);
    float* pa = a.mutable_view().as<float>();
    float* pb = b.mutable_view().as<float>();
    for (int64_t i = 0; i < a.elements(); ++i) pa[i] = static_cast<float>(i % 1013);
    for (int64_t i = 0; i < b.elements(); ++i) pb[i] = static_cast<float>(i % 911) * 0.5f;
    const Tensor y = run_op("Sub", 14, {}, {a, b}, 1, false, "", kernels::Isa::kScalar, 2)[0];
    for (int64_t r = 0; r < 300; ++r)
      for (int64_t c = 0; c < 257; ++c) {
        const int64_t k = other.rank() == 0 ? 0 : other.rank() == 1 ? c : other[1] == 1 ? r : r * 257 + c;
        ASSERT_EQ(y.values<float>()[static_cast<size_t>(r * 257 + c)], pa[r * 257 + c] - pb[k]) << r << "," << c;
      }
  }
}

TEST(Elementwise, VariadicTakesNanAndAnyCount) {
  run_cases(R"(
    Max | f32[3] 1 nan 3 ; f32[3] 2 5 nan -> f32[3] 2 nan nan
    Min | i64[2] 1 5 ; i64[2] 3 2 ; i64[] 4 -> i64[2] 1 2
    Sum | f32[2] 1 2 -> f32[2] 1 2
    Sum | f32[1] 1 ; f32[2] 1 2 ; f32[2,1] 10 20 -> f32[2,2] 12 13 22 23
    Mean | f32[2] 1 2 ; f32[2] 3 4 ; f32[2] 5 9 -> f32[2] 3 5
  )");
}

TEST(Elementwise, PowerAndRemainder) {
  run_cases(R"(
    Pow | f32[3] 2 3 -2 ; f32[] 2 -> f32[3] 4 9 4
    Pow | f32[2] 4 9 ; i64[] 2 -> f32[2] 16 81
    Pow | i32[3] 2 -1 0 ; i64[3] 10 -3 -1 -> i32[3] 1024 -1 0
    Pow | i64[2] 2 3 ; f32[2] 0.5 2 -> i64[2] 1 9
    Mod | i32[4] -4 7 5 1 ; i32[4] 3 -3 0 -1 -> i32[4] 2 -2 0 0
    Mod fmod=1 | i32[2] -4 7 ; i32[2] 3 -3 -> i32[2] -1 1
    Mod fmod=1 | f32[2] -4.3 7.5 ; f32[2] 2 -2 -> f32[2] -0.3 1.5
  )");
}

TEST(Elementwise, ComparisonAndLogic) {
  run_cases(R"(
    Equal | str[2] ab c ; str[] c -> bool[2] 0 1
    Equal | f32[2] nan 1 ; f32[2] nan 1 -> bool[2] 0 1
    LessOrEqual@16 | i64[3] 1 2 3 ; i64[] 2 -> bool[3] 1 1 0
    And | bool[2,1] 1 0 ; bool[2] 1 0 -> bool[2,2] 1 0 0 0
    BitShift direction=LEFT | u8[3] 16 1 255 ; u8[3] 4 8 1 -> u8[3] 0 0 254
    BitShift direction=RIGHT | u32[2] 16 1 ; u32[2] 2 32 -> u32[2] 4 0
    BitShift direction=UP | u8[1] 1 ; u8[1] 1 -> error LEFT or RIGHT
    Where | bool[2,1] 1 0 ; i64[2] 1 2 ; i64[] 9 -> i64[2,2] 1 2 9 9
    Where | bool[2] 1 0 ; str[2] a b ; str[1] z -> str[2] a z
  )");
}

TEST(Elementwise, UnaryAndActivations) {
  run_cases(R"(
    Abs | i8[2] -128 5 -> i8[2] -128 5
    Round | f32[4] 0.5 1.5 2.5 -0.5 -> f32[4] 0 2 2 0
    Sign | f32[3] -2 0 3 -> f32[3] -1 0 1
    Sigmoid | f32[3] -100 0 100 -> f32[3] 0 0.5 1
    Softplus | f32[2] 100 -100 -> f32[2] 100 0
    Gelu | f32[2] 1 -1 -> f32[2] 0.8413447 -0.1586553
    Gelu approximate=tanh | f64[1] 1 -> f64[1] 0.8411920
    Relu | f32[2] -1 2 -> f32[2] 0 2
    PRelu | f32[2,2] -1 2 -3 4 ; f32[2] 0.5 0.25 -> f32[2,2] -0.5 2 -1.5 4
    Clip@6 min=0.0 max=1.0 | f32[3] -1 0.5 2 -> f32[3] 0 0.5 1
    Clip | i64[3] -5 0 5 ; i64[] -1 ; - -> i64[3] -1 0 5
    Clip | f32[2] 1 2 ; f32[2] 0 1 -> error min must be a scalar
    Dropout | f32[2] 1 2 -> f32[2] 1 2 ; bool[2] 1 1
  )");
}

TEST(Cast, EveryKindOfPair) {
  run_cases(R"(
    Cast to=7 | f32[4] 1.9 -1.9 nan 1e20 -> i64[4] 1 -1 0 9223372036854775807
    Cast to=3 | i32[2] 300 -129 -> i8[2] 44 127
    Cast to=9 | f32[3] 0 0.1 nan -> bool[3] 0 1 1
    Cast to=10 | f32[2] 65519 65520 -> f16[2] 65504 inf
    Cast to=10 | f64[1] 1.00048828125000001 -> f16[1] 1
    Cast to=16 | f32[1] 1.00390625 -> bf16[1] 1
    Cast to=8 | f32[3] 1.5 2 nan -> str[3] 1.5 2.0 nan
    Cast to=7 | str[1] 9007199254740993 -> i64[1] 9007199254740993
    Cast to=1 | str[2] 1e3 -inf -> f32[2] 1000 -inf
    Cast to=1 | str[1] abc -> error 'abc' at element 0 is not a number
    Cast to=22 | i32[3] 7 -8 9 -> i4[3] 7 -8 -7
    Cast to=1 | u4[3] 15 0 8 -> f32[3] 15 0 8
    Cast to=17 saturate=0 | f32[3] 448 465 -1000 -> e4m3[3] 448 nan nan
    Cast to=17 | f32[3] 448 465 -1000 -> e4m3[3] 448 448 -448
    Cast to=19 | f32[3] 57344 1e6 0.0000152587890625 -> e5m2[3] 57344 57344 0.0000152587890625
    Cast to=99 | f32[1] 1 -> error 'to' holds 99
    CastLike | f32[1] 2.5 ; i32[1] 0 -> i32[1] 2
  )");
}

}  // namespace
}  // namespace assay
