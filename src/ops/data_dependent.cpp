// Operators whose output size depends on the values: NonZero, Compress, Unique; and ReverseSequence.

#include <numeric>

#include "ops/axis_split.h"

namespace assay {
namespace {

void non_zero(const Node& /*node*/, OpContext& ctx) {
  const TensorView& x = need_input(ctx, 0, "X");
  const int rank = x.shape.rank();
  const int64_t n = x.elements();
  dispatch(Join<NumberTypes, Types<bool>>{}, x.dtype, "NonZero", [&]<typename T>() {
    const T* in = x.as<T>();
    const auto is_set = [&](int64_t i) { return static_cast<Compute<T>>(in[i]) != 0; };
    int64_t count = 0;
    for (int64_t i = 0; i < n; ++i) count += is_set(i) ? 1 : 0;
    int64_t* out = ctx.output(0, DType::kInt64, Shape{rank, count}).as<int64_t>();
    int64_t column = 0;
    for (int64_t i = 0; i < n; ++i) {
      if (!is_set(i)) continue;
      int64_t rest = i;
      for (int d = rank - 1; d >= 0; --d) {
        out[d * count + column] = rest % x.shape[d];
        rest /= x.shape[d];
      }
      ++column;
    }
  });
}

// Without an axis the input is taken flat. A condition shorter than the axis leaves the rest out.
void compress(const Node& node, OpContext& ctx) {
  const TensorView& x = need_input(ctx, 0, "input");
  const auto condition = need_input(ctx, 1, "condition").values<bool>();
  const bool flat = !node.has("axis");
  const Shape view = flat ? Shape{x.elements()} : x.shape;
  const AxisSplit s(view, flat ? 0 : node.get_int("axis", 0));
  const int64_t considered = std::min<int64_t>(s.size, static_cast<int64_t>(condition.size()));
  int64_t count = 0;
  for (int64_t i = 0; i < considered; ++i) count += condition[static_cast<size_t>(i)] ? 1 : 0;
  const MutableTensorView y = ctx.output(0, x.dtype, with_dim(view, s.axis, count));
  dispatch_size(x.dtype, "Compress", [&]<typename T>() {
    const T* in = static_cast<const T*>(x.data);
    T* out = static_cast<T*>(y.data);
    for (int64_t o = 0; o < s.outer; ++o)
      for (int64_t i = 0; i < considered; ++i) {
        if (!condition[static_cast<size_t>(i)]) continue;
        copy_elements(in + (o * s.size + i) * s.inner, s.inner, out);
        out += s.inner;
      }
  });
}

// Slices along an axis (or elements) are ordered by comparison; outputs: values, first positions, inverse, counts.
class Unique final : public Op {
 public:
  explicit Unique(const OpInit& init)
      : flat_(!init.node.has("axis")),
        axis_(init.node.get_int("axis", 0)),
        sorted_(init.node.get_int("sorted", 1) != 0) {}

  void run(OpContext& ctx) const override {
    const TensorView& x = need_input(ctx, 0, "X");
    if (x.dtype == DType::kString) return run_as<std::string>(ctx, static_cast<const std::string*>(x.data));
    dispatch(Join<NumberTypes, Types<bool>>{}, x.dtype, "Unique", [&]<typename T>() { run_as<T>(ctx, x.as<T>()); });
  }

 private:
  template <typename T>
  static auto value(const T& v) {
    if constexpr (std::is_same_v<T, std::string>) {
      return std::string_view(v);
    } else {
      return static_cast<Compute<T>>(v);
    }
  }

  template <typename T>
  void run_as(OpContext& ctx, const T* in) const {
    const TensorView& x = ctx.input(0);
    const Shape view = flat_ ? Shape{x.elements()} : x.shape;
    const AxisSplit s(view, axis_);
    const auto compare = [&](int64_t a, int64_t b) {
      for (int64_t o = 0; o < s.outer; ++o)
        for (int64_t i = 0; i < s.inner; ++i) {
          const auto va = value(in[(o * s.size + a) * s.inner + i]), vb = value(in[(o * s.size + b) * s.inner + i]);
          if (va < vb) return -1;
          if (vb < va) return 1;
        }
      return 0;
    };
    std::vector<int64_t> order(static_cast<size_t>(s.size));
    std::iota(order.begin(), order.end(), int64_t{0});
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return compare(a, b) < 0; });
    struct Group {
      int64_t first, count;
    };
    std::vector<Group> groups;
    std::vector<int64_t> group_of(static_cast<size_t>(s.size));
    for (size_t k = 0; k < order.size(); ++k) {
      if (k == 0 || compare(order[k - 1], order[k]) != 0) groups.push_back({order[k], 0});
      ++groups.back().count;
      group_of[static_cast<size_t>(order[k])] = static_cast<int64_t>(groups.size()) - 1;
    }
    if (!sorted_) by_first_appearance(groups, group_of);
    write(ctx, in, s, view, groups, group_of);
  }

  template <typename Group>
  static void by_first_appearance(std::vector<Group>& groups, std::vector<int64_t>& group_of) {
    std::vector<int64_t> order(groups.size());
    std::iota(order.begin(), order.end(), int64_t{0});
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return groups[static_cast<size_t>(a)].first < groups[static_cast<size_t>(b)].first;
    });
    std::vector<Group> moved;
    std::vector<int64_t> to(groups.size());
    for (int64_t g : order) {
      to[static_cast<size_t>(g)] = static_cast<int64_t>(moved.size());
      moved.push_back(groups[static_cast<size_t>(g)]);
    }
    groups = std::move(moved);
    for (int64_t& g : group_of) g = to[static_cast<size_t>(g)];
  }

  template <typename T, typename Group>
  static void write(OpContext& ctx, const T* in, const AxisSplit& s, const Shape& view,
                    const std::vector<Group>& groups, const std::vector<int64_t>& group_of) {
    const auto n = static_cast<int64_t>(groups.size());
    if (ctx.wants(0)) {
      T* out = static_cast<T*>(ctx.output(0, ctx.input(0).dtype, with_dim(view, s.axis, n)).data);
      for (int64_t o = 0; o < s.outer; ++o)
        for (int64_t g = 0; g < n; ++g)
          copy_elements(in + (o * s.size + groups[static_cast<size_t>(g)].first) * s.inner, s.inner,
                        out + (o * n + g) * s.inner);
    }
    if (ctx.wants(1)) {
      int64_t* first = ctx.output(1, DType::kInt64, Shape{n}).template as<int64_t>();
      for (const Group& g : groups) *first++ = g.first;
    }
    if (ctx.wants(2))
      copy_elements(group_of.data(), s.size, ctx.output(2, DType::kInt64, Shape{s.size}).template as<int64_t>());
    if (ctx.wants(3)) {
      int64_t* count = ctx.output(3, DType::kInt64, Shape{n}).template as<int64_t>();
      for (const Group& g : groups) *count++ = g.count;
    }
  }

  bool flat_;
  int64_t axis_;
  bool sorted_;
};

void reverse_sequence(const Node& node, OpContext& ctx) {
  const TensorView& x = need_input(ctx, 0, "input");
  const TensorView& lengths = need_input(ctx, 1, "sequence_lens");
  const int64_t time = node.get_int("time_axis", 0), batch = node.get_int("batch_axis", 1);
  require(x.shape.rank() >= 2 && time + batch == 1 && time * batch == 0, ErrorCode::kInvalidArgument,
          "time_axis {} and batch_axis {} must be 0 and 1 of {}", time, batch, x.shape);
  const int64_t steps = x.shape[static_cast<int>(time)], items = x.shape[static_cast<int>(batch)];
  require(lengths.elements() == items, ErrorCode::kInvalidArgument, "{} lengths for {} sequences", lengths.elements(),
          items);
  const int64_t inner = x.shape.elements(2, x.shape.rank());
  const MutableTensorView y = ctx.output(0, x.dtype, x.shape);
  dispatch_size(x.dtype, "ReverseSequence", [&]<typename T>() {
    const T* in = static_cast<const T*>(x.data);
    T* out = static_cast<T*>(y.data);
    for (int64_t b = 0; b < items; ++b) {
      const int64_t length = read_int(lengths, b, "sequence_lens");
      require(length >= 0 && length <= steps, ErrorCode::kInvalidArgument, "length {} of sequence {} is outside {}",
              length, b, x.shape);
      for (int64_t t = 0; t < steps; ++t) {
        const int64_t from = t < length ? length - 1 - t : t;
        const auto at = [&](int64_t step) { return (time == 0 ? step * items + b : b * steps + step) * inner; };
        copy_elements(in + at(from), inner, out + at(t));
      }
    }
  });
}

const OpRegistration kNonZero{"", "NonZero", 9, make_simple_op<non_zero>};
const OpRegistration kCompress{"", "Compress", 9, make_simple_op<compress>};
const OpRegistration kUnique{"", "Unique", 11, make_op<Unique>};
const OpRegistration kReverseSequence{"", "ReverseSequence", 10, make_simple_op<reverse_sequence>};

}  // namespace
}  // namespace assay
