#include "ops/op_test_context.h"

namespace assay {
namespace {

TEST(ShapeOps, Describe) {
  run_cases(R"(
    Shape | f32[2,0,3] -> i64[3] 2 0 3
    Shape start=-2 end=-1 | f32[2,4,3] 0 -> i64[1] 4
    Shape start=5 | f32[2] 0 -> i64[0]
    Size | f32[2,3] 0 -> i64[] 6
    Reshape | i32[2,3] 1 2 3 4 5 6 ; i64[2] 0 -1 -> i32[2,3] 1 2 3 4 5 6
    Reshape | i32[2,3] 1 2 3 4 5 6 ; i64[1] -1 -> i32[6] 1 2 3 4 5 6
    Reshape allowzero=1 | f32[0,3] ; i64[2] 3 0 -> f32[3,0]
    Reshape | f32[2,3] 0 ; i64[2] 4 -1 -> error do not divide
    Reshape | f32[2,3] 0 ; i64[2] -1 -1 -> error two sizes of -1
    Reshape | f32[2,3] 0 ; i64[3] 2 3 0 -> error size 0 at 2
    Reshape | f32[2,3] 0 ; i64[1] 7 -> error [2,3] cannot become [7]
    Flatten axis=-1 | f32[2,3] 1 2 3 4 5 6 -> f32[2,3] 1 2 3 4 5 6
    Flatten axis=0 | f32[2] 1 2 -> f32[1,2] 1 2
    Squeeze@11 axes=[0] | f32[1,2] 1 2 -> f32[2] 1 2
    Squeeze | f32[1,2,1] 1 2 -> f32[2] 1 2
    Squeeze | f32[1,2] 1 2 ; i64[1] 1 -> error axis 1 of [1,2]
    Unsqueeze@11 axes=[-1,0] | f32[2] 1 2 -> f32[1,2,1] 1 2
    Unsqueeze | f32[2] 1 2 ; i64[2] 0 0 -> error named twice
  )");
}

TEST(ShapeOps, Move) {
  run_cases(R"(
    Transpose | i8[2,3] 1 2 3 4 5 6 -> i8[3,2] 1 4 2 5 3 6
    Transpose perm=[1,0,2] | str[2,2,1] a b c d -> str[2,2,1] a c b d
    Transpose perm=[0,0] | f32[2,2] 1 -> error perm names axis 0 twice
    Expand | f32[2,1] 1 2 ; i64[2] 1 3 -> f32[2,3] 1 1 1 2 2 2
    Concat axis=1 | f32[2,1] 1 2 ; f32[2,2] 3 4 5 6 -> f32[2,3] 1 3 4 2 5 6
    Concat axis=0 | f32[2,1] 1 2 ; f32[2,2] 3 4 5 6 -> error cannot be joined
    Split@11 axis=1 split=[1,2] | f32[1,3] 1 2 3 -> f32[1,1] 1 ; f32[1,2] 2 3
    Split@13 axis=0 | f32[4] 1 2 3 4 ; i64[2] 3 1 -> f32[3] 1 2 3 ; f32[1] 4
    Split num_outputs=2 | f32[3] 1 2 3 -> f32[2] 1 2 ; f32[1] 3
    Split | f32[3] 1 2 3 ; i64[2] 2 2 -> error 2 sizes for 1 outputs
    Split | f32[3] 1 2 3 ; i64[1] 4 -> error size 4 of output 0 does not fit axis 0 of [3]
    Split | f32[3] 1 2 3 ; i64[1] 2 -> error the sizes sum to 2
    Tile | f32[2] 1 2 ; i64[1] 3 -> f32[6] 1 2 1 2 1 2
    Tile | f32[2,1] 1 2 ; i64[2] 1 0 -> f32[2,0]
  )");
}

TEST(ShapeOps, SliceReachesEveryEnd) {
  run_cases(R"(
    Slice@9 starts=[1] ends=[3] | i32[4] 0 1 2 3 -> i32[2] 1 2
    Slice | i32[4] 0 1 2 3 ; i64[1] -1 ; i64[1] -9223372036854775807 ; i64[1] 0 ; i64[1] -1 -> i32[4] 3 2 1 0
    Slice | i32[4] 0 1 2 3 ; i64[1] 0 ; i64[1] 9223372036854775807 ; i64[1] 0 ; i64[1] 3 -> i32[2] 0 3
    Slice | i32[4] 0 1 2 3 ; i64[1] 3 ; i64[1] 1 -> i32[0]
    Slice | i32[4] 0 1 2 3 ; i64[1] 10 ; i64[1] 20 -> i32[0]
    Slice | i32[2,3] 0 1 2 3 4 5 ; i64[2] 0 -2 ; i64[2] 2 3 ; i64[2] 0 -1 -> i32[2,2] 1 2 4 5
    Slice | i32[0] ; i64[1] 0 ; i64[1] -5 ; i64[1] 0 ; i64[1] -1 -> i32[0]
    Slice | i32[4] 0 1 2 3 ; i64[1] 0 ; i64[1] 1 ; i64[1] 0 ; i64[1] 0 -> error step of axis 0 is 0
    Slice | i32[4] 0 1 2 3 ; i64[1] 0 ; i64[1] 1 ; i64[1] 1 -> error axis 1 is outside
  )");
}

TEST(ShapeOps, GatherAndScatter) {
  run_cases(R"(
    Gather | f32[3,2] 1 2 3 4 5 6 ; i64[2] -1 0 -> f32[2,2] 5 6 1 2
    Gather axis=1 | str[1,2] a b ; i32[] 1 -> str[1] b
    Gather | f32[3] 1 2 3 ; i64[1] 3 -> error index 3 is outside axis 0 of [3]
    Gather | f32[3] 1 2 3 ; f32[1] 0 -> error indices must be int64 or int32
    GatherElements axis=1 | f32[2,2] 1 2 3 4 ; i64[2,2] 0 0 1 0 -> f32[2,2] 1 1 4 3
    GatherND | f32[2,2] 1 2 3 4 ; i64[2,2] 0 0 1 -1 -> f32[2] 1 4
    GatherND batch_dims=1 | f32[2,2] 1 2 3 4 ; i64[2,1] 1 0 -> f32[2] 2 3
    GatherND | f32[2,2] 1 2 3 4 ; i64[1,2] 0 2 -> error index 2 is outside axis 1
    ScatterElements axis=0 | f32[3] 1 2 3 ; i64[2] 2 0 ; f32[2] 9 8 -> f32[3] 8 2 9
    ScatterElements axis=0 reduction=add | i64[2] 1 2 ; i64[3] 1 1 1 ; i64[3] 1 1 1 -> i64[2] 1 5
    ScatterElements axis=0 reduction=max | f16[1] 3 ; i64[2] 0 0 ; f16[2] 1 7 -> f16[1] 7
    ScatterND | f32[2,2] 1 2 3 4 ; i64[1,1] 1 ; f32[1,2] 8 9 -> f32[2,2] 1 2 8 9
    ScatterND | f32[2,2] 1 2 3 4 ; i64[1,1] 1 ; f32[1,1] 8 -> error do not fill
  )");
}

TEST(ShapeOps, Pad) {
  run_cases(R"(
    Pad@2 pads=[1,2] value=9.0 | f32[1] 5 -> f32[4] 9 5 9 9
    Pad | i32[2] 1 2 ; i64[2] 1 1 -> i32[4] 0 1 2 0
    Pad | i32[3] 1 2 3 ; i64[2] -1 1 ; i32[] 7 -> i32[3] 2 3 7
    Pad mode=reflect | i32[3] 1 2 3 ; i64[2] 2 3 -> i32[8] 3 2 1 2 3 2 1 2
    Pad mode=edge | i32[2,1] 1 2 ; i64[4] 1 0 0 1 -> i32[3,2] 1 1 1 1 2 2
    Pad mode=wrap | i32[3] 1 2 3 ; i64[2] 1 4 -> i32[8] 3 1 2 3 1 2 3 1
    Pad | i32[2,1] 1 2 ; i64[2] 0 1 ; - ; i64[1] 1 -> i32[2,2] 1 0 2 0
    Pad mode=edge | i32[0] ; i64[2] 1 0 -> error is empty
    Pad | i32[2] 1 2 ; i64[1] 1 -> error 1 pads for 1 axes
    Pad | i32[2] 1 2 ; i64[2] -3 0 -> error crop
  )");
}

TEST(ShapeOps, Generate) {
  run_cases(R"(
    Range | i64[] 3 ; i64[] 9 ; i64[] 3 -> i64[2] 3 6
    Range | i32[] 10 ; i32[] 4 ; i32[] -2 -> i32[3] 10 8 6
    Range | f32[] 0 ; f32[] 1 ; f32[] 0.25 -> f32[4] 0 0.25 0.5 0.75
    Range | i64[] 3 ; i64[] 9 ; i64[] -1 -> i64[0]
    Range | i64[] 3 ; i64[] 9 ; i64[] 0 -> error delta is 0
    ConstantOfShape | i64[2] 1 2 -> f32[1,2] 0 0
    ConstantOfShape | i64[1] -1 -> error negative size
    EyeLike k=1 dtype=7 | f32[2,3] 0 -> i64[2,3] 0 1 0 0 0 1
    OneHot axis=0 | i64[2] 1 -1 ; i64[1] 3 ; f32[2] 0 5 -> f32[3,2] 0 0 5 0 0 5
    Trilu | i64[2,2] 1 2 3 4 -> i64[2,2] 1 2 0 4
    Trilu upper=0 | i64[2,2] 1 2 3 4 ; i64[] -1 -> i64[2,2] 0 0 3 0
  )");
}

TEST(ShapeOps, Resize) {
  run_cases(R"(
    Resize coordinate_transformation_mode=asymmetric nearest_mode=floor | f32[1,1,2] 1 2 ; - ; f32[3] 1 1 2 -> f32[1,1,4] 1 1 2 2
    Resize mode=linear | f32[1,1,2] 1 3 ; - ; - ; i64[3] 1 1 4 -> f32[1,1,4] 1 1.5 2.5 3
    Resize mode=linear coordinate_transformation_mode=align_corners | f32[2] 1 3 ; - ; - ; i64[1] 3 -> f32[3] 1 2 3
    Resize mode=linear antialias=1 | f32[4] 1 2 3 4 ; - ; f32[1] 0.5 -> f32[2] 1.625 3.375
    Resize mode=linear antialias=1 exclude_outside=1 | f32[4] 1 2 3 4 ; - ; f32[1] 0.5 -> f32[2] 1.7142857 3.2857143
    Resize@10 | u8[2] 7 9 ; f32[1] 1.5 -> u8[3] 7 7 9
    Upsample@7 scales=[2.0] | f32[1] 5 -> f32[2] 5 5
    Resize | f32[2] 1 2 -> error neither scales nor sizes
    Resize | f32[2] 1 2 ; - ; f32[2] 1 1 -> error 2 scales or sizes for 1 axes
    Resize mode=best | f32[2] 1 2 ; - ; f32[1] 1 -> error nearest, linear or cubic
  )");
}

TEST(ShapeOps, CropAndScatterWindows) {
  run_cases(R"(
    CenterCropPad axes=[1] | f32[1,4] 1 2 3 4 ; i64[1] 2 -> f32[1,2] 2 3
    CenterCropPad | i32[1] 7 ; i64[1] 4 -> i32[4] 0 7 0 0
    TensorScatter axis=1 mode=circular | f32[1,3] 1 2 3 ; f32[1,2] 8 9 ; i64[1] 2 -> f32[1,3] 9 2 8
    TensorScatter axis=1 | f32[1,3] 1 2 3 ; f32[1,2] 8 9 ; i64[1] 2 -> error passes the cache's 3 rows
    DepthToSpace blocksize=2 | f32[1,4,1,1] 1 2 3 4 -> f32[1,1,2,2] 1 2 3 4
    SpaceToDepth blocksize=2 | f32[1,1,2,2] 1 2 3 4 -> f32[1,4,1,1] 1 2 3 4
    DepthToSpace blocksize=3 | f32[1,4,1,1] 1 -> error do not divide
  )");
}

// Parameters that must be one number and are not: an error, never a read beyond the tensor.
TEST(ShapeOps, EmptyScalarsAreRefused) {
  run_cases(R"(
    CumSum | f32[2] 1 2 ; i64[0] -> error axis must hold one element
    TopK | f32[2] 1 2 ; i64[0] -> error K must hold one element
    Trilu | f32[1,1] 1 ; i64[0] -> error k must hold one element
    OneHot | i64[1] 0 ; i64[0] ; f32[2] 0 1 -> error depth is an empty tensor
    Range | i64[0] ; i64[] 1 ; i64[] 1 -> error must be scalars
    HannWindow | i64[0] -> error size must hold one element
    EyeLike k=9223372036854775807 | f32[1,1] 1 -> f32[1,1] 0
  )");
}

TEST(ShapeOps, DataDependent) {
  run_cases(R"(
    NonZero | f32[2,2] 1 0 0 2 -> i64[2,2] 0 1 0 1
    NonZero | f32[3] 0 -> i64[1,0]
    Compress axis=1 | f32[2,3] 1 2 3 4 5 6 ; bool[2] 0 1 -> f32[2,1] 2 5
    Compress | f32[2,2] 1 2 3 4 ; bool[4] 1 0 0 1 -> f32[2] 1 4
    Unique | i64[5] 3 1 3 2 1 -> i64[3] 1 2 3 ; i64[3] 1 3 0 ; i64[5] 2 0 2 1 0 ; i64[3] 2 1 2
    Unique sorted=0 | i64[4] 3 1 3 2 -> i64[3] 3 1 2 ; i64[3] 0 1 3 ; i64[4] 0 1 0 2 ; i64[3] 2 1 1
    ReverseSequence time_axis=0 batch_axis=1 | f32[3,2] 1 2 3 4 5 6 ; i64[2] 2 3 -> f32[3,2] 3 6 1 4 5 2
    ReverseSequence time_axis=0 batch_axis=1 | f32[1,1] 1 ; i64[1] 2 -> error length 2
  )");
}

}  // namespace
}  // namespace assay
