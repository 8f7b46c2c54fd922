// Multi-head attention in one operator, on padded [batch, seq, heads*dim] or packed [tokens, heads*dim] inputs.
#include "kernels/kernels.h"
#include "ops/op.h"

namespace assay {
namespace {

/// assay.Attention: inputs q, k, v (k and v absent: q holds the three side by side), row_splits int64 [batch+1] when
/// packed, bias float32 broadcastable to [batch, heads, seq, seq] added to the scores. Attributes heads, scale, causal.
/// Output: q's leading sizes and heads * head_dim.
class Attention final : public Op {
 public:
  explicit Attention(const OpInit& init)
      : isa_(init.isa),
        heads_(static_cast<int>(init.node.get_int("heads", 1))),
        scale_(init.node.get_float("scale", 1.0f)),
        causal_(init.node.get_int("causal", 0) != 0) {}

  void run(OpContext& ctx) const override {
    const TensorView& q = ctx.input(0);
    const bool merged = !ctx.has_input(1);
    const int rank = q.shape.rank();
    const int64_t width = q.shape[rank - 1];
    const int64_t hidden = merged ? width / 3 : width;
    require(hidden % heads_ == 0, ErrorCode::kInvalidArgument, "{} features do not split into {} heads", hidden,
            heads_);

    kernels::Attention a;
    a.heads = a.kv_heads = heads_;
    a.head_dim = a.value_dim = hidden / heads_;
    a.scale = scale_;
    a.causal = causal_;
    a.q = q.as<float>();
    a.q_stride = width;
    if (merged) {
      a.k = a.q + hidden;
      a.v = a.q + 2 * hidden;
      a.k_stride = a.v_stride = width;
    } else {
      require(ctx.input(1).shape == q.shape && ctx.input(2).shape == q.shape, ErrorCode::kInvalidArgument,
              "queries {}, keys {} and values {} differ in shape", q.shape.str(), ctx.input(1).shape.str(),
              ctx.input(2).shape.str());
      a.k = ctx.input(1).as<float>();
      a.v = ctx.input(2).as<float>();
      a.k_stride = a.v_stride = width;
    }
    Shape out = q.shape;
    out[rank - 1] = hidden;
    a.dst = ctx.output(0, DType::kFloat32, out).as<float>();
    a.dst_stride = hidden;

    int64_t longest = 0;
    int64_t splits_bytes = 0;
    if (ctx.has_input(3)) {
      const auto splits = ctx.input(3).values<int64_t>();
      a.batch = static_cast<int64_t>(splits.size()) - 1;
      a.query_splits = splits.data();
      for (size_t i = 1; i < splits.size(); ++i) longest = std::max(longest, splits[i] - splits[i - 1]);
    } else {
      require(rank == 3, ErrorCode::kInvalidArgument, "padded attention takes [batch, seq, features], not {}",
              q.shape.str());
      a.batch = q.shape[0];
      longest = q.shape[1];
      splits_bytes = (a.batch + 1) * 8;
      splits_bytes = (splits_bytes + 63) / 64 * 64;
    }
    const auto kernel_bytes =
        static_cast<int64_t>(kernels::attention_scratch_bytes(isa_, longest, a.head_dim, a.value_dim, ctx.threads()));
    auto* memory = static_cast<std::byte*>(ctx.scratch(splits_bytes + kernel_bytes));
    if (a.query_splits == nullptr) {
      auto* splits = reinterpret_cast<int64_t*>(memory);
      for (int64_t i = 0; i <= a.batch; ++i) splits[i] = i * longest;
      a.query_splits = splits;
    }
    if (const TensorView& bias = ctx.input(4)) set_bias(a, bias, longest);
    kernels::attention_f32(isa_, a, longest, memory + splits_bytes, ctx.threads());
  }

  std::string_view kernel() const override { return "attention_f32"; }

 private:
  void set_bias(kernels::Attention& a, const TensorView& bias, int64_t seq) const {
    Shape full;  // padded with leading ones to rank 4
    for (int i = bias.shape.rank(); i < 4; ++i) full.push_back(1);
    for (int64_t d : bias.shape) full.push_back(d);
    const auto fits = [&](int i, int64_t d) { return full[i] == 1 || full[i] == d; };
    require(full.rank() == 4 && fits(0, a.batch) && fits(1, heads_) && fits(2, seq) && full[3] == seq,
            ErrorCode::kInvalidArgument, "an attention bias {} does not fit batch {}, heads {}, length {}",
            bias.shape.str(), a.batch, heads_, seq);
    a.bias = bias.as<float>();
    a.bias_row = full[2] == 1 ? 0 : seq;
    a.bias_head = full[1] == 1 ? 0 : full[2] * seq;
    a.bias_batch = full[0] == 1 ? 0 : full[1] * full[2] * seq;
  }

  Isa isa_;
  int heads_;
  float scale_;
  bool causal_;
};

const OpRegistration kAttention("assay", "Attention", 1, [](const OpInit& init) -> std::unique_ptr<Op> {
  return std::make_unique<Attention>(init);
});

}  // namespace
}  // namespace assay
