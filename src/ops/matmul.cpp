// MatMul and Gemm. A constant float32 B is packed once for the instruction set; other element types take a plain loop.

#include "kernels/gemm_f32.h"
#include "ops/broadcast.h"
#include "ops/matmul_shape.h"
#include "ops/packed_weights.h"

namespace assay {
namespace {

// dst = a * b + beta * c over plain loops, for the types without a kernel. c is already in dst when `accumulate`.
template <typename T>
void plain_matmul(int64_t m, int64_t n, int64_t k, const T* a, bool trans_a, const T* b, bool trans_b, T* dst) {
  using C = std::conditional_t<std::is_integral_v<T>, uint64_t, std::conditional_t<kIsHalf<T>, double, T>>;
  const auto read = [](T v) { return static_cast<C>(static_cast<Compute<T>>(v)); };
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      C sum = 0;
      for (int64_t p = 0; p < k; ++p)
        sum += read(a[trans_a ? p * m + i : i * k + p]) * read(b[trans_b ? j * k + p : p * n + j]);
      dst[i * n + j] = static_cast<T>(static_cast<Compute<T>>(sum));
    }
}

using PlainTypes = Types<double, Float16, Bfloat16, int32_t, int64_t, uint32_t, uint64_t>;

class MatMul final : public Op {
 public:
  explicit MatMul(const OpInit& init) : isa_(init.isa), packed_(init, 1, false) {}

  void run(OpContext& ctx) const override {
    const TensorView& a = need_input(ctx, 0, "A");
    const TensorView& b = need_input(ctx, 1, "B");
    same_dtype(a, b);
    const MatMulShape s(a.shape, b.shape);
    const MutableTensorView y = ctx.output(0, a.dtype, s.shape);
    if (s.shape.elements() == 0) return;
    if (a.dtype != DType::kFloat32) {
      dispatch(PlainTypes{}, a.dtype, "MatMul", [&]<typename T>() {
        for (int64_t i = 0; i < s.batch; ++i)
          plain_matmul(s.m, s.n, s.k, a.as<T>() + s.a_offset(i), false, b.as<T>() + s.b_offset(i), false,
                       y.as<T>() + i * s.m * s.n);
      });
      return;
    }
    kernels::Epilogue epilogue;
    epilogue.dst = y.data;
    epilogue.dst_stride = s.n;
    if (packed_ && s.b_is_one_matrix) {
      // All rows of all batch items meet the same B.
      const int64_t rows = s.batch * s.m;
      void* scratch = ctx.scratch(
          checked_cast<int64_t>(kernels::gemm_f32_packed_scratch_bytes(isa_, rows, s.n, s.k, ctx.threads())));
      return kernels::gemm_f32_packed(packed_.view(), rows, a.as<float>(), s.k, epilogue, scratch, ctx.threads());
    }
    kernels::GemmF32 g;
    g.batch = s.batch;
    g.m = s.m;
    g.n = s.n;
    g.k = s.k;
    g.a = a.as<float>();
    g.a_stride = s.k;
    g.b = b.as<float>();
    g.b_stride = s.n;
    g.dst_batch = s.m * s.n;
    g.epilogue = epilogue;
    if (s.b_is_one_matrix) {  // one tall product
      g.batch = 1;
      g.m = s.batch * s.m;
    }
    const int64_t table = (g.batch * static_cast<int64_t>(sizeof(int64_t)) + 63) / 64 * 64;
    const auto kernel_bytes = checked_cast<int64_t>(kernels::gemm_f32_scratch_bytes(isa_, g, ctx.threads()));
    auto* memory = static_cast<std::byte*>(ctx.scratch(checked_add(2 * table, kernel_bytes)));
    if (g.batch > 1) {
      auto* a_offsets = static_cast<int64_t*>(static_cast<void*>(memory));
      auto* b_offsets = static_cast<int64_t*>(static_cast<void*>(memory + table));
      for (int64_t i = 0; i < g.batch; ++i) {
        a_offsets[i] = s.a_offset(i);
        b_offsets[i] = s.b_offset(i);
      }
      g.a_offsets = a_offsets;
      g.b_offsets = b_offsets;
    }
    kernels::gemm_f32(isa_, g, memory + 2 * table, ctx.threads());
  }

  std::string_view kernel() const override { return packed_ ? "packed fp32" : "fp32"; }

 private:
  kernels::Isa isa_;
  PackedWeights packed_;
};

// Y = alpha * A' * B' + beta * C, C broadcast to [M,N].
class Gemm final : public Op {
 public:
  explicit Gemm(const OpInit& init)
      : isa_(init.isa),
        trans_a_(init.node.get_int("transA", 0) != 0),
        trans_b_(init.node.get_int("transB", 0) != 0),
        alpha_(init.node.get_float("alpha", 1)),
        beta_(init.node.get_float("beta", 1)),
        packed_(init, 1, trans_b_) {}

  void run(OpContext& ctx) const override {
    const TensorView& a = need_input(ctx, 0, "A");
    const TensorView& b = need_input(ctx, 1, "B");
    same_dtype(a, b);
    require(a.shape.rank() == 2 && b.shape.rank() == 2, ErrorCode::kInvalidArgument, "A {} and B {} must be matrices",
            a.shape, b.shape);
    const int64_t m = a.shape[trans_a_ ? 1 : 0], k = a.shape[trans_a_ ? 0 : 1];
    const int64_t n = b.shape[trans_b_ ? 0 : 1];
    require(b.shape[trans_b_ ? 1 : 0] == k, ErrorCode::kInvalidArgument, "A {}{} and B {}{} do not fit", a.shape,
            trans_a_ ? " transposed" : "", b.shape, trans_b_ ? " transposed" : "");
    const Shape shape{m, n};
    const MutableTensorView y = ctx.output(0, a.dtype, shape);
    if (a.dtype == DType::kFloat32) {
      multiply(ctx, y, m, n, k);
    } else {
      dispatch(PlainTypes{}, a.dtype, "Gemm",
               [&]<typename T>() { plain_matmul(m, n, k, a.as<T>(), trans_a_, b.as<T>(), trans_b_, y.as<T>()); });
    }
    finish(ctx, y, shape);
  }

  std::string_view kernel() const override { return packed_ ? "packed fp32" : "fp32"; }

 private:
  void multiply(OpContext& ctx, const MutableTensorView& y, int64_t m, int64_t n, int64_t k) const {
    const TensorView& a = ctx.input(0);
    const TensorView& b = ctx.input(1);
    if (m == 0 || n == 0) return;
    kernels::Epilogue epilogue;
    epilogue.dst = y.data;
    epilogue.dst_stride = n;
    if (packed_ && !trans_a_) {
      void* scratch =
          ctx.scratch(checked_cast<int64_t>(kernels::gemm_f32_packed_scratch_bytes(isa_, m, n, k, ctx.threads())));
      return kernels::gemm_f32_packed(packed_.view(), m, a.as<float>(), k, epilogue, scratch, ctx.threads());
    }
    kernels::GemmF32 g;
    g.m = m;
    g.n = n;
    g.k = k;
    g.a = a.as<float>();
    g.trans_a = trans_a_;
    g.a_stride = trans_a_ ? m : k;
    g.b = b.as<float>();
    g.trans_b = trans_b_;
    g.b_stride = trans_b_ ? k : n;
    g.epilogue = epilogue;
    void* scratch = ctx.scratch(checked_cast<int64_t>(kernels::gemm_f32_scratch_bytes(isa_, g, ctx.threads())));
    kernels::gemm_f32(isa_, g, scratch, ctx.threads());
  }

  void finish(OpContext& ctx, const MutableTensorView& y, const Shape& shape) const {
    const bool has_c = ctx.has_input(2) && beta_ != 0;
    if (!has_c && alpha_ == 1) return;
    const TensorView none;
    const TensorView& c = has_c ? ctx.input(2) : none;
    if (has_c) {
      same_dtype(ctx.input(0), c);
      require(broadcast(c.shape, shape) == shape, ErrorCode::kInvalidArgument, "C {} does not broadcast to {}", c.shape,
              shape);
    }
    dispatch(Join<Types<float>, PlainTypes>{}, y.dtype, "Gemm", [&]<typename T>() {
      using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
      T* out = y.as<T>();
      const C alpha = alpha_, beta = beta_;
      const auto read = [](T v) { return static_cast<C>(static_cast<Compute<T>>(v)); };
      if (!has_c) {
        for (int64_t i = 0; i < shape.elements(); ++i) out[i] = static_cast<T>(alpha * read(out[i]));
        return;
      }
      const T* in = c.as<T>();
      const Broadcast plan({&shape, &c.shape});
      const bool moves = plan.inner_stride(1) != 0;
      for (int64_t r = 0; r < plan.rows(); ++r) {
        const T* row = in + plan.row_offset(1, r);
        T* o = out + r * plan.inner();
        for (int64_t i = 0; i < plan.inner(); ++i)
          o[i] = static_cast<T>(alpha * read(o[i]) + beta * read(row[moves ? i : 0]));
      }
    });
  }

  kernels::Isa isa_;
  bool trans_a_, trans_b_;
  float alpha_, beta_;
  PackedWeights packed_;
};

const OpRegistration kMatMul{"", "MatMul", 1, make_op<MatMul>};
const OpRegistration kGemm{"", "Gemm", 7, make_op<Gemm>};

}  // namespace
}  // namespace assay
