#include "ops/op_test_context.h"

namespace assay {
namespace {

TEST(Reduce, AxesAsAttributeAndInput) {
  run_cases(R"(
    ReduceSum@11 axes=[1] keepdims=0 | f32[2,3] 1 2 3 4 5 6 -> f32[2] 6 15
    ReduceSum keepdims=0 | f32[2,3] 1 2 3 4 5 6 ; i64[1] 0 -> f32[3] 5 7 9
    ReduceSum | f32[2,3] 1 2 3 4 5 6 -> f32[1,1] 21
    ReduceSum noop_with_empty_axes=1 | f32[2] 1 2 -> f32[2] 1 2
    ReduceSumSquare noop_with_empty_axes=1 | f32[2] 3 2 -> f32[2] 9 4
    ReduceSum keepdims=0 | f32[2,2,2] 1 2 3 4 5 6 7 8 ; i64[2] 0 -1 -> f32[2] 14 22
    ReduceSum keepdims=0 | f32[2,2,2] 1 2 3 4 5 6 7 8 ; i64[1] 1 -> f32[2,2] 4 6 12 14
    ReduceMean keepdims=0 | i32[4] 1 2 3 5 -> i32[] 2
    ReduceMax keepdims=0 | f32[3] 1 nan 2 -> f32[] nan
    ReduceMin keepdims=0 | bool[2] 1 0 -> bool[] 0
    ReduceProd keepdims=0 | i64[3] 2 3 4 -> i64[] 24
    ReduceL1 keepdims=0 | f32[2] -3 4 -> f32[] 7
    ReduceL2 keepdims=0 | f32[2] -3 4 -> f32[] 5
    ReduceLogSumExp keepdims=0 | f32[3] 1000 1000 -1000 -> f32[] 1000.6931
    ReduceLogSum keepdims=0 | f32[2] 1 1 -> f32[] 0.6931472
    ReduceSum | f32[2] 1 2 ; i64[1] 1 -> error axis 1 is outside
    ReduceSum | f32[2,2] 1 ; i64[2] 0 -2 -> error axis 0 is named twice
  )");
}

TEST(Reduce, EmptySetsGiveTheNeutralElement) {
  run_cases(R"(
    ReduceSum keepdims=0 | f32[2,0] ; i64[1] 1 -> f32[2] 0 0
    ReduceProd keepdims=0 | f32[2,0] ; i64[1] 1 -> f32[2] 1 1
    ReduceMax keepdims=0 | f32[2,0] ; i64[1] 1 -> f32[2] -inf -inf
    ReduceMin keepdims=0 | i32[1,0] ; i64[1] 1 -> i32[1] 2147483647
    ReduceMean keepdims=0 | f32[0] -> f32[] nan
    ReduceSum keepdims=0 | f32[0,2] ; i64[1] 1 -> f32[0]
  )");
}

TEST(Reduce, SameBitsOnAnyThreadCount) {
  Tensor x(DType::kFloat32, Shape{37, 129, 65});
  for (int64_t i = 0; i < x.elements(); ++i)
    x.mutable_view().as<float>()[i] = static_cast<float>((i * 7919) % 10007) * 1e-3f - 5.0f;
  for (const std::vector<int64_t>& axes : {std::vector<int64_t>{2}, {0, 2}, {1}, {0, 1, 2}}) {
    const Attributes attributes{{"axes", axes}};
    const auto one = run_op("ReduceSum", 11, attributes, {x}, 1, false, "", kernels::Isa::kScalar, 1)[0];
    const auto two = run_op("ReduceSum", 11, attributes, {x}, 1, false, "", kernels::Isa::kScalar, 2)[0];
    ASSERT_TRUE(std::equal(one.raw().begin(), one.raw().end(), two.raw().begin()));
  }
}

TEST(AxisOps, ArgCumulativeTopK) {
  run_cases(R"(
    ArgMax axis=1 keepdims=0 | f32[2,3] 1 3 3 6 5 4 -> i64[2] 1 0
    ArgMax axis=1 keepdims=0 select_last_index=1 | f32[1,3] 1 3 3 -> i64[1] 2
    ArgMin axis=0 | i32[2,2] 5 1 2 3 -> i64[1,2] 1 0
    ArgMax axis=0 | f32[0,2] -> error is empty
    CumSum | f32[3] 1 2 3 ; i64[] 0 -> f32[3] 1 3 6
    CumSum exclusive=1 reverse=1 | i32[3] 1 2 3 ; i32[] -1 -> i32[3] 5 3 0
    TopK | f32[4] 1 4 4 2 ; i64[1] 3 -> f32[3] 4 4 2 ; i64[3] 1 2 3
    TopK largest=0 axis=0 | i64[3,1] 3 1 2 ; i64[1] 2 -> i64[2,1] 1 2 ; i64[2,1] 1 2
    TopK@1 k=1 | f32[2] nan 5 -> f32[1] nan ; i64[1] 0
    TopK | f32[2] 1 2 ; i64[1] 3 -> error K 3 is outside axis 0 of [2]
  )");
}

}  // namespace
}  // namespace assay
