#include "ops/op_test_context.h"

namespace assay {
namespace {

TEST(MatMul, PromotesAndBroadcasts) {
  run_cases(R"(
    MatMul | f32[2,2] 1 2 3 4 ; f32[2,2] 5 6 7 8 -> f32[2,2] 19 22 43 50
    MatMul | f32[2] 1 2 ; f32[2] 3 4 -> f32[] 11
    MatMul | f32[2] 1 2 ; f32[2,2] 1 2 3 4 -> f32[2] 7 10
    MatMul | f32[2,1,2] 1 2 3 4 ; f32[2] 1 1 -> f32[2,1] 3 7
    MatMul | f32[2,1,1,2] 1 2 3 4 ; f32[3,2,1] 1 0 0 1 1 1 -> f32[2,3,1,1] 1 2 3 3 4 7
    MatMul | f64[1,2] 1 2 ; f64[2,1] 3 4 -> f64[1,1] 11
    MatMul | f16[1,2] 1 2 ; f16[2,1] 3 4 -> f16[1,1] 11
    MatMul | i64[1,2] 1 2 ; i64[2,1] 3 4 -> i64[1,1] 11
    MatMul | f32[2,0] ; f32[0,2] -> f32[2,2] 0
    MatMul | f32[0,2] ; f32[2,2] 1 -> f32[0,2]
    MatMul | f32[2,3] 1 ; f32[2,3] 1 -> error [2,3] and [2,3]: inner sizes 3 and 2 differ
    MatMul | f32[] 1 ; f32[1] 1 -> error a scalar
  )");
}

TEST(Gemm, TransposesScalesAndBias) {
  run_cases(R"(
    Gemm | f32[1,2] 1 2 ; f32[2,2] 1 2 3 4 ; f32[2] 10 20 -> f32[1,2] 17 30
    Gemm transB=1 | f32[1,2] 1 2 ; f32[2,2] 1 2 3 4 -> f32[1,2] 5 11
    Gemm transA=1 alpha=0.5 beta=2.0 | f32[2,1] 1 2 ; f32[2,2] 1 2 3 4 ; f32[1,1] 1 -> f32[1,2] 5.5 7
    Gemm | f64[1,2] 1 2 ; f64[2,1] 3 4 ; f64[] 1 -> f64[1,1] 12
    Gemm | i32[1,2] 1 2 ; i32[2,1] 3 4 ; i32[] 1 -> i32[1,1] 12
    Gemm | f32[1,2] 1 2 ; f32[2,2] 1 2 3 4 ; f32[3] 1 2 3 -> error do
    Gemm | f32[2,2] 1 ; f32[3,2] 1 -> error do not fit
  )");
}

TEST(Einsum, ProductsDiagonalsAndEllipses) {
  run_cases(R"(
    Einsum equation=ij,jk->ik | f32[2,2] 1 2 3 4 ; f32[2,2] 5 6 7 8 -> f32[2,2] 19 22 43 50
    Einsum equation=ij,kj->ik | f32[2,2] 1 2 3 4 ; f32[2,2] 5 6 7 8 -> f32[2,2] 17 23 39 53
    Einsum equation=bij,bjk->bik | f32[2,1,2] 1 2 3 4 ; f32[2,2,1] 1 1 2 0 -> f32[2,1,1] 3 6
    Einsum equation=ii->i | f32[2,2] 1 2 3 4 -> f32[2] 1 4
    Einsum equation=...ii->...i | f64[1,2,2] 1 2 3 4 -> f64[1,2] 1 4
    Einsum equation=ij | i64[2,2] 1 2 3 4 -> i64[2,2] 1 2 3 4
    Einsum equation=ij->j | f32[2,2] 1 2 3 4 -> f32[2] 4 6
    Einsum equation=i,j->ij | f32[2] 1 2 ; f32[2] 3 4 -> f32[2,2] 3 4 6 8
    Einsum equation=i,i | f32[2] 1 2 ; f32[2] 3 4 -> f32[] 11
    Einsum equation=ij,jk->ik | f32[2,2] 1 ; f32[3,2] 1 -> error dimension 0 of input 1
    Einsum equation=ij->x | f32[2,2] 1 -> error output label 'x'
    Einsum equation=i->i | f32[2,2] 1 -> error has 1 labels
  )");
}

TEST(Normalisation, RowsAndChannels) {
  run_cases(R"(
    LayerNormalization | f32[2,2] 1 3 2 6 ; f32[2] 1 2 ; f32[2] 0 10 -> f32[2,2] -0.999995 11.99999 -0.9999988 11.9999975
    LayerNormalization epsilon=0.0 | f64[1,2] 1 3 ; f64[2] 1 1 -> f64[1,2] -1 1 ; f32[1,1] 2 ; f32[1,1] 1
    LayerNormalization axis=0 epsilon=0.0 | f32[2,2] 1 3 1 3 ; f32[2] 1 2 -> f32[2,2] -1 2 -1 2
    RMSNormalization epsilon=0.0 | f32[1,2] 3 4 ; f32[2] 1 1 -> f32[1,2] 0.8485281 1.1313708
    BatchNormalization epsilon=0.0 | f32[1,2,1] 3 4 ; f32[2] 2 1 ; f32[2] 1 0 ; f32[2] 1 2 ; f32[2] 4 1 -> f32[1,2,1] 3 2
    InstanceNormalization epsilon=0.0 | f32[1,1,2] 1 3 ; f32[1] 2 ; f32[1] 1 -> f32[1,1,2] -1 3
    GroupNormalization@18 num_groups=2 epsilon=0.0 | f32[1,4] 1 3 2 6 ; f32[2] 1 2 ; f32[2] 0 1 -> f32[1,4] -1 1 -1 3
    GroupNormalization num_groups=2 epsilon=0.0 | f32[1,4] 1 3 2 6 ; f32[4] 1 2 3 4 ; f32[4] 0 -> f32[1,4] -1 2 -3 4
    LpNormalization axis=1 | f32[2,2] 3 4 0 0 -> f32[2,2] 0.6 0.8 0 0
    LayerNormalization | f32[2,2] 1 ; f32[3] 1 -> error do
    GroupNormalization num_groups=3 | f32[1,4] 1 ; f32[4] 1 ; f32[4] 1 -> error 4 channels do not divide into 3 groups
  )");
}

TEST(Softmax, AxisMeaningChangedAtOpset13) {
  run_cases(R"(
    Softmax | f32[2,2] 0 0 0 1000 -> f32[2,2] 0.5 0.5 0 1
    Softmax@11 axis=1 | f32[1,2,2] 0 -> f32[1,2,2] 0.25
    Softmax axis=1 | f32[1,2,2] 0 -> f32[1,2,2] 0.5
    LogSoftmax | f32[1,2] 0 0 -> f32[1,2] -0.6931472 -0.6931472
    Hardmax | f32[1,3] 1 3 3 -> f32[1,3] 0 1 0
    Softmax axis=2 | f32[2,2] 0 -> error axis 2 is outside
  )");
}

TEST(Window, ConvolutionAndPools) {
  run_cases(R"(
    Conv | f32[1,1,2,2] 1 2 3 4 ; f32[1,1,2,2] 1 0 0 1 ; f32[1] 10 -> f32[1,1,1,1] 15
    Conv group=2 | f32[1,2,2] 1 2 3 4 ; f32[2,1,1] 10 100 -> f32[1,2,2] 10 20 300 400
    Conv pads=[1,1] dilations=[2] | f32[1,1,3] 1 2 3 ; f32[1,1,2] 1 1 -> f32[1,1,3] 2 4 2
    Conv auto_pad=SAME_UPPER strides=[2] | f32[1,1,3] 1 2 3 ; f32[1,1,3] 1 1 1 -> f32[1,1,2] 3 5
    Conv | f32[1,1,2] 1 ; f32[1,1,3] 1 -> error a window of 3 does not fit
    Conv | f32[1,3,2] 1 ; f32[1,2,1] 1 -> error do not fit 1 groups
    ConvTranspose strides=[2] | f32[1,1,2] 1 2 ; f32[1,1,2] 1 10 -> f32[1,1,4] 1 10 2 20
    MaxPool kernel_shape=[2] strides=[2] ceil_mode=1 | f32[1,1,3] 1 2 3 -> f32[1,1,2] 2 3 ; i64[1,1,2] 1 2
    AveragePool kernel_shape=[2] pads=[1,0] | f32[1,1,2] 2 4 -> f32[1,1,2] 2 3
    AveragePool kernel_shape=[2] pads=[1,0] count_include_pad=1 | f32[1,1,2] 2 4 -> f32[1,1,2] 1 3
    GlobalAveragePool | f32[1,2,2] 1 3 5 7 -> f32[1,2,1] 2 6
    LpPool kernel_shape=[2] | f32[1,1,2] 3 4 -> f32[1,1,1] 5
  )");
}

TEST(Attention, MaskedRowsAndCaches) {
  run_cases(R"(
    Attention | f32[1,1,1,1] 0 ; f32[1,1,2,1] 1 ; f32[1,1,2,1] 2 4 -> f32[1,1,1,1] 3
    Attention | f32[1,1,1,1] 0 ; f32[1,1,2,1] 1 ; f32[1,1,2,1] 2 4 ; bool[1,2] 0 1 -> f32[1,1,1,1] 4
    Attention | f32[1,1,1,1] 0 ; f32[1,1,2,1] 1 ; f32[1,1,2,1] 2 4 ; bool[1,2] 0 0 -> f32[1,1,1,1] 0
    Attention is_causal=1 | f32[1,1,2,1] 0 ; f32[1,1,2,1] 1 ; f32[1,1,2,1] 2 4 -> f32[1,1,2,1] 2 3
    Attention q_num_heads=2 kv_num_heads=1 | f32[1,1,2] 0 ; f32[1,1,1] 1 ; f32[1,1,1] 5 -> f32[1,1,2] 5 5
    Attention | f32[1,1,1,1] 0 ; f32[1,1,1,1] 1 ; f32[1,1,1,1] 4 ; - ; f32[1,1,1,1] 1 ; f32[1,1,1,1] 2 -> f32[1,1,1,1] 3
    Attention | f32[1,3,1,1] 0 ; f32[1,2,1,1] 1 ; f32[1,2,1,1] 4 -> error do not fit each other
    RotaryEmbedding | f32[1,1,1,2] 1 2 ; f32[1,1,1] 0 ; f32[1,1,1] 1 -> f32[1,1,1,2] -2 1
  )");
}

}  // namespace
}  // namespace assay
