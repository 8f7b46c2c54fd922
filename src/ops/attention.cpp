// Attention (ONNX opset 23 on) as the standard words it: any mask, cache, softcap, window and precision. Models with
// plain float32 attention are rewritten to the fused operator; this one is for everything else.

#include <cmath>
#include <limits>

#include "ops/convert.h"

namespace assay {
namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();

// [batch, heads, length, size] whether given so or as [batch, length, heads * size].
struct Heads {
  Heads(const TensorView& t, int64_t heads_attribute, std::string_view what) {
    const Shape& s = t.shape;
    flat = s.rank() == 3;
    require(flat || s.rank() == 4, ErrorCode::kInvalidArgument, "{} must have rank 3 or 4, not shape {}", what, s);
    batch = s[0];
    heads = flat ? heads_attribute : s[1];
    require(heads > 0 && (!flat || s[2] % heads == 0), ErrorCode::kInvalidArgument,
            "{} of shape {} does not divide into {} heads (q_num_heads, kv_num_heads)", what, s, heads);
    length = flat ? s[1] : s[2];
    size = flat ? s[2] / heads : s[3];
  }
  // Offset of a row of `size` elements in the tensor's own layout.
  int64_t row(int64_t b, int64_t h, int64_t i) const {
    return flat ? ((b * length + i) * heads + h) * size : ((b * heads + h) * length + i) * size;
  }
  bool flat;
  int64_t batch, heads, length, size;
};

class Attention final : public Op {
 public:
  explicit Attention(const OpInit& init)
      : q_heads_(init.node.get_int("q_num_heads", 0)),
        kv_heads_(init.node.get_int("kv_num_heads", 0)),
        causal_(init.node.get_int("is_causal", 0) != 0),
        has_scale_(init.node.has("scale")),
        scale_(init.node.get_float("scale", 0)),
        softcap_(init.node.get_float("softcap", 0)),
        mode_(init.node.get_int("qk_matmul_output_mode", 0)),
        left_(init.node.get_int("left_window_size", -1)),
        right_(init.node.get_int("right_window_size", -1)) {
    const int64_t precision = init.node.get_int("softmax_precision", 0);
    const auto dtype = dtype_from_onnx(precision);
    require(precision == 0 || (dtype && is_float(*dtype)), ErrorCode::kInvalidArgument,
            "softmax_precision {} is no float type", precision);
    if (dtype) precision_ = *dtype;
  }

  void run(OpContext& ctx) const override {
    const TensorView& q = need_input(ctx, 0, "Q");
    same_dtype(q, need_input(ctx, 1, "K"));
    const Heads qs(q, q_heads_, "Q"), ks(ctx.input(1), kv_heads_, "K"), vs(need_input(ctx, 2, "V"), kv_heads_, "V");
    require(ks.batch == qs.batch && vs.batch == qs.batch && ks.size == qs.size && ks.heads == vs.heads &&
                ks.length == vs.length && qs.heads % ks.heads == 0,
            ErrorCode::kInvalidArgument, "Q {}, K {} and V {} do not fit each other", q.shape, ctx.input(1).shape,
            ctx.input(2).shape);
    require(ctx.has_input(4) == ctx.has_input(5), ErrorCode::kInvalidArgument, "past_key and past_value come together");
    const int64_t past = ctx.has_input(4) ? ctx.input(4).shape[2] : 0;
    for (size_t i : {4, 5}) {
      if (!ctx.has_input(i)) continue;
      const Heads& now = i == 4 ? ks : vs;
      require(ctx.input(i).shape == Shape({now.batch, now.heads, past, now.size}), ErrorCode::kInvalidArgument,
              "{} of shape {} does not fit the new keys and values", i == 4 ? "past_key" : "past_value",
              ctx.input(i).shape);
    }
    dispatch(FloatTypes{}, q.dtype, "Attention", [&]<typename T>() { run_as<T>(ctx, qs, ks, vs, past); });
  }

 private:
  // A cache followed by the new rows, as floats [batch, heads, past + length, size].
  static void join_cache(const Heads& s, int64_t past_length, const float* past_values, const float* now_values,
                         float* out) {
    const int64_t total = past_length + s.length;
    for (int64_t b = 0; b < s.batch; ++b)
      for (int64_t h = 0; h < s.heads; ++h) {
        float* to = out + (b * s.heads + h) * total * s.size;
        copy_elements(past_values + (b * s.heads + h) * past_length * s.size, past_length * s.size, to);
        for (int64_t i = 0; i < s.length; ++i)
          copy_elements(now_values + s.row(b, h, i), s.size, to + (past_length + i) * s.size);
      }
  }

  // The additive bias of one score: mask, causal frontier, window, padding.
  struct Bias {
    const TensorView& mask;
    const float* values;  ///< the mask as floats; bool masks as 0 and -infinity
    std::array<int64_t, 4> strides{};
    int64_t mask_keys = 0;

    Bias(const TensorView& m, const float* v, const Shape& scores) : mask(m), values(v) {
      if (!m) return;
      const Shape& s = m.shape;
      require(s.rank() >= 1 && s.rank() <= 4, ErrorCode::kInvalidArgument, "attn_mask of shape {}", s);
      const SmallInts own = strides_of(s);
      for (int d = 0; d < s.rank(); ++d) {
        const int at = 4 - s.rank() + d;
        const bool fits = s[d] == scores[at] || s[d] == 1 || (at == 3 && s[d] <= scores[3]);
        require(fits, ErrorCode::kInvalidArgument, "attn_mask {} does not broadcast to the scores {}", s, scores);
        strides[static_cast<size_t>(at)] = s[d] == 1 && scores[at] != 1 && at != 3 ? 0 : own[d];
      }
      mask_keys = s[s.rank() - 1];
      // One key in the mask serves all when there is no shorter mask to speak of.
      if (mask_keys == 1) strides[3] = 0;
    }
    float at(int64_t b, int64_t h, int64_t i, int64_t j) const {
      if (!mask) return 0;
      if (mask_keys != 1 && j >= mask_keys) return kMasked;
      return values[b * strides[0] + h * strides[1] + i * strides[2] + j * strides[3]];
    }
  };

  template <typename T>
  void run_as(OpContext& ctx, const Heads& qs, const Heads& ks, const Heads& vs, int64_t past) const {
    // What the standard's function body would round, since each of its steps is a tensor of T.
    const auto round = [](double v) {
      return static_cast<float>(static_cast<Compute<T>>(static_cast<T>(static_cast<Compute<T>>(v))));
    };
    const int64_t total = past + ks.length;
    const Shape score_shape{qs.batch, qs.heads, qs.length, total};
    ScratchPlan plan;
    std::array<int64_t, 6> copies{};
    for (size_t i = 0; i < 6; ++i) copies[i] = plan.add_array<float>(ctx.has_input(i) ? ctx.input(i).elements() : 0);
    const int64_t keys_at = plan.add_array<float>(ks.batch * ks.heads * total * ks.size);
    const int64_t values_at = plan.add_array<float>(vs.batch * vs.heads * total * vs.size);
    const int64_t scores_at = plan.add_array<float>(score_shape.elements());
    const int64_t shown_at = plan.add_array<float>(score_shape.elements());
    const int64_t result_at = plan.add_array<float>(qs.batch * qs.heads * qs.length * vs.size);
    plan.take(ctx);
    for (size_t i = 0; i < 6; ++i) {
      const TensorView& t = ctx.input(i);
      if (!t) continue;
      auto* f = plan.at<float>(copies[i]);
      convert_elements(t, {DType::kFloat32, t.shape, f}, true);
      if (t.dtype == DType::kBool)
        for (int64_t k = 0; k < t.elements(); ++k) f[k] = f[k] != 0 ? 0.0f : kMasked;
    }
    auto* keys = plan.at<float>(keys_at);
    auto* values = plan.at<float>(values_at);
    join_cache(ks, past, plan.at<float>(copies[4]), plan.at<float>(copies[1]), keys);
    join_cache(vs, past, plan.at<float>(copies[5]), plan.at<float>(copies[2]), values);
    if (ctx.wants(1)) write(ctx, 1, keys, {ks.batch, ks.heads, total, ks.size});
    if (ctx.wants(2)) write(ctx, 2, values, {vs.batch, vs.heads, total, vs.size});

    const double scale = has_scale_ ? static_cast<double>(scale_) : 1 / std::sqrt(static_cast<double>(qs.size));
    const double root = round(std::sqrt(scale));
    auto* queries = plan.at<float>(copies[0]);
    for (int64_t i = 0; i < ctx.input(0).elements(); ++i) queries[i] = round(queries[i] * root);
    for (int64_t i = 0; i < ks.batch * ks.heads * total * ks.size; ++i) keys[i] = round(keys[i] * root);

    const Bias bias(ctx.input(3), plan.at<float>(copies[3]), score_shape);
    auto* scores = plan.at<float>(scores_at);
    auto* shown = plan.at<float>(shown_at);
    auto* result = plan.at<float>(result_at);
    const bool show = ctx.wants(3);
    const int64_t group = qs.heads / ks.heads;
    for (int64_t b = 0; b < qs.batch; ++b) {
      int64_t valid = total, offset = past;
      if (ctx.has_input(6)) {
        require(ctx.input(6).elements() == qs.batch || ctx.input(6).elements() == 1, ErrorCode::kInvalidArgument,
                "nonpad_kv_seqlen {} must hold one length per batch item of {}", ctx.input(6).shape, qs.batch);
        valid = read_int(ctx.input(6), ctx.input(6).elements() == 1 ? 0 : b, "nonpad_kv_seqlen");
        if (past == 0) offset = valid - qs.length;
      }
      parallel_for(ctx.threads(), qs.heads * qs.length, grain_of(total * (ks.size + vs.size)),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t r = begin; r < end; ++r) {
                       const int64_t h = r / qs.length, i = r % qs.length;
                       const int64_t at = ((b * qs.heads + h) * qs.length + i) * total;
                       float* row = scores + at;
                       const float* query = queries + qs.row(b, h, i);
                       const float* head_keys = keys + (b * ks.heads + h / group) * total * ks.size;
                       bool all_masked = true;
                       for (int64_t j = 0; j < total; ++j) {
                         double dot = 0;
                         for (int64_t c = 0; c < ks.size; ++c)
                           dot += static_cast<double>(query[c]) * head_keys[j * ks.size + c];
                         float s = round(dot);
                         if (mode_ == 0) shown[at + j] = s;
                         if (softcap_ > 0) s = round(round(std::tanh(round(s / softcap_))) * softcap_);
                         if (mode_ == 1) shown[at + j] = s;
                         float extra = bias.at(b, h, i, j);
                         if ((causal_ && j > i + offset) || (left_ >= 0 && i + offset - j > left_) ||
                             (right_ >= 0 && j - i - offset > right_) || j >= valid)
                           extra = kMasked;
                         all_masked = all_masked && extra == kMasked;
                         row[j] = round(s + extra);
                         if (mode_ == 2) shown[at + j] = row[j];
                       }
                       softmax(row, total, all_masked, round);
                       if (mode_ == 3) copy_elements(row, total, shown + at);
                       const float* head_values = values + (b * vs.heads + h / group) * total * vs.size;
                       float* out = result + (qs.flat ? ((b * qs.length + i) * qs.heads + h) * vs.size
                                                      : ((b * qs.heads + h) * qs.length + i) * vs.size);
                       for (int64_t c = 0; c < vs.size; ++c) {
                         double sum = 0;
                         for (int64_t j = 0; j < total; ++j)
                           sum += static_cast<double>(row[j]) * head_values[j * vs.size + c];
                         out[c] = round(sum);
                       }
                     }
                   });
    }
    write(ctx, 0, result,
          qs.flat ? Shape{qs.batch, qs.length, qs.heads * vs.size} : Shape{qs.batch, qs.heads, qs.length, vs.size});
    if (show) write(ctx, 3, shown, score_shape);
  }

  // A row whose every key is masked gives zeros. Each step is rounded to T unless softmax_precision says otherwise.
  template <typename Round>
  void softmax(float* row, int64_t n, bool all_masked, const Round& round) const {
    const bool exact = precision_ == DType::kFloat32 || precision_ == DType::kFloat64;
    const auto step = [&](double v) { return exact ? v : static_cast<double>(round(v)); };
    float max = kMasked;
    for (int64_t j = 0; j < n; ++j) max = std::max(max, row[j]);
    if (all_masked || max == kMasked) {
      std::fill(row, row + n, 0.0f);
      return;
    }
    double sum = 0;
    for (int64_t j = 0; j < n; ++j) {
      row[j] = static_cast<float>(step(std::exp(step(static_cast<double>(row[j]) - max))));
      sum += row[j];
    }
    sum = step(sum);
    for (int64_t j = 0; j < n; ++j) row[j] = round(row[j] / sum);
  }

  static void write(OpContext& ctx, size_t i, const float* values, const Shape& shape) {
    convert_elements({DType::kFloat32, shape, values}, ctx.output(i, ctx.input(0).dtype, shape), true);
  }

  int64_t q_heads_, kv_heads_;
  bool causal_, has_scale_;
  float scale_, softcap_;
  int64_t mode_, left_, right_;
  DType precision_ = DType::kUndefined;
};

// Su et al. 2021. Input [batch, heads, length, size] or [batch, length, heads * size]; the first rotary_embedding_dim
// elements of each head are rotated in pairs: halves, or neighbours when interleaved.
class RotaryEmbedding final : public Op {
 public:
  explicit RotaryEmbedding(const OpInit& init)
      : heads_(init.node.get_int("num_heads", 0)),
        dim_(init.node.get_int("rotary_embedding_dim", 0)),
        interleaved_(init.node.get_int("interleaved", 0) != 0) {}

  void run(OpContext& ctx) const override {
    const TensorView& x = need_input(ctx, 0, "X");
    const TensorView& cos = need_input(ctx, 1, "cos_cache");
    const TensorView& sin = need_input(ctx, 2, "sin_cache");
    same_dtype(x, cos);
    same_dtype(x, sin);
    const Heads s(x, heads_, "X");
    const int64_t rotated = dim_ > 0 ? dim_ : s.size, half = rotated / 2;
    require(
        rotated <= s.size && cos.shape == sin.shape && cos.shape.rank() >= 1 && cos.shape[cos.shape.rank() - 1] == half,
        ErrorCode::kInvalidArgument, "caches of shapes {} and {} do not rotate {} of X {}", cos.shape, sin.shape,
        rotated, x.shape);
    const bool by_position = ctx.has_input(3);
    const int64_t rows = half == 0 ? 0 : cos.elements() / half;
    require(by_position ? ctx.input(3).elements() == s.batch * s.length : rows == s.batch * s.length,
            ErrorCode::kInvalidArgument, "caches {} or position_ids do not cover X {}", cos.shape, x.shape);
    dispatch(FloatTypes{}, x.dtype, "RotaryEmbedding", [&]<typename T>() {
      using C = Compute<T>;
      const T* in = x.as<T>();
      T* out = ctx.output(0, x.dtype, x.shape).template as<T>();
      for (int64_t b = 0; b < s.batch; ++b)
        for (int64_t i = 0; i < s.length; ++i) {
          int64_t row = b * s.length + i;
          if (by_position) {
            row = read_int(ctx.input(3), row, "position_ids");
            require(row >= 0 && row < rows, ErrorCode::kInvalidArgument, "position {} is outside the caches {}", row,
                    cos.shape);
          }
          const T* c = cos.as<T>() + row * half;
          const T* n = sin.as<T>() + row * half;
          for (int64_t h = 0; h < s.heads; ++h) {
            const int64_t at = s.row(b, h, i);
            copy_elements(in + at, s.size, out + at);
            for (int64_t k = 0; k < half; ++k) {
              const int64_t first = at + (interleaved_ ? 2 * k : k),
                            second = at + (interleaved_ ? 2 * k + 1 : k + half);
              const C x1 = static_cast<C>(in[first]), x2 = static_cast<C>(in[second]);
              const C co = static_cast<C>(c[k]), si = static_cast<C>(n[k]);
              out[first] = static_cast<T>(co * x1 - si * x2);
              out[second] = static_cast<T>(si * x1 + co * x2);
            }
          }
        }
    });
  }

 private:
  int64_t heads_, dim_;
  bool interleaved_;
};

const OpRegistration kAttention{"", "Attention", 23, make_op<Attention>};
const OpRegistration kRotary{"", "RotaryEmbedding", 23, make_op<RotaryEmbedding>};

}  // namespace
}  // namespace assay
