// Gather, GatherElements, GatherND.

#include "ops/axis_split.h"
#include "ops/index.h"

namespace assay {
namespace {

class Gather final : public Op {
 public:
  explicit Gather(const OpInit& init) : axis_(init.node.get_int("axis", 0)) {}

  void run(OpContext& ctx) const override {
    const TensorView& x = need_input(ctx, 0, "data");
    const TensorView& indices = need_input(ctx, 1, "indices");
    const AxisSplit s(x.shape, axis_);
    Shape shape;
    for (int d = 0; d < s.axis; ++d) shape.push_back(x.shape[d]);
    for (int64_t d : indices.shape) shape.push_back(d);
    for (int d = s.axis + 1; d < x.shape.rank(); ++d) shape.push_back(x.shape[d]);
    const int64_t n = indices.elements();
    const IndexReader at(indices, s.size, s.axis, x.shape);
    const MutableTensorView y = ctx.output(0, x.dtype, shape);
    dispatch_size(x.dtype, "Gather", [&]<typename T>() {
      const T* in = static_cast<const T*>(x.data);
      T* out = static_cast<T*>(y.data);
      for (int64_t o = 0; o < s.outer; ++o)
        for (int64_t i = 0; i < n; ++i)
          copy_elements(in + (o * s.size + at[i]) * s.inner, s.inner, out + (o * n + i) * s.inner);
    });
  }

 private:
  int64_t axis_;
};

class GatherElements final : public Op {
 public:
  explicit GatherElements(const OpInit& init) : axis_(init.node.get_int("axis", 0)) {}

  void run(OpContext& ctx) const override {
    const TensorView& x = need_input(ctx, 0, "data");
    const TensorView& indices = need_input(ctx, 1, "indices");
    const ElementsWalk walk(x.shape, indices.shape, axis_);
    const IndexReader at(indices, x.shape[walk.axis], walk.axis, x.shape);
    const MutableTensorView y = ctx.output(0, x.dtype, indices.shape);
    dispatch_size(x.dtype, "GatherElements", [&]<typename T>() {
      const T* in = static_cast<const T*>(x.data);
      T* out = static_cast<T*>(y.data);
      const int64_t n = indices.elements();
      for (int64_t i = 0; i < n; ++i) out[i] = in[walk.offset(i, at[i])];
    });
  }

 private:
  int64_t axis_;
};

class GatherND final : public Op {
 public:
  explicit GatherND(const OpInit& init) : batch_dims_(init.node.get_int("batch_dims", 0)) {}

  void run(OpContext& ctx) const override {
    const TensorView& x = need_input(ctx, 0, "data");
    const TensorView& indices = need_input(ctx, 1, "indices");
    const TuplesWalk walk(x.shape, indices, batch_dims_);
    Shape shape;
    for (int d = 0; d + 1 < indices.shape.rank(); ++d) shape.push_back(indices.shape[d]);
    for (int d = walk.first_slice_dim; d < x.shape.rank(); ++d) shape.push_back(x.shape[d]);
    const MutableTensorView y = ctx.output(0, x.dtype, shape);
    dispatch_size(x.dtype, "GatherND", [&]<typename T>() {
      const T* in = static_cast<const T*>(x.data);
      T* out = static_cast<T*>(y.data);
      for (int64_t i = 0; i < walk.tuples; ++i) copy_elements(in + walk.offset(i), walk.slice, out + i * walk.slice);
    });
  }

 private:
  int64_t batch_dims_;
};

const OpRegistration kGather{"", "Gather", 1, make_op<Gather>};
const OpRegistration kGatherElements{"", "GatherElements", 11, make_op<GatherElements>};
const OpRegistration kGatherND{"", "GatherND", 11, make_op<GatherND>};

}  // namespace
}  // namespace assay
