// If, Loop and Scan: subgraphs run by the engine. Values that cross an iteration are copied; captured outer values
// follow the node's own inputs in the context.

#include <limits>

#include "ops/axis_split.h"

namespace assay {
namespace {

struct Body {
  Body(const OpInit& init, std::string_view attribute) {
    const std::shared_ptr<Graph> graph = init.node.get_graph(attribute);
    require(graph != nullptr, ErrorCode::kInvalidArgument, "attribute {} is missing", attribute);
    captures = graph->captures.size();
    inputs = graph->inputs.size();
    outputs = graph->outputs().size();
    runner = init.make_subgraph(*graph);
  }
  size_t captures = 0, inputs = 0, outputs = 0;
  std::unique_ptr<SubgraphRunner> runner;
};

std::vector<TensorView> captured(const OpContext& ctx, size_t first, size_t count) {
  std::vector<TensorView> views;
  for (size_t i = 0; i < count; ++i) views.push_back(ctx.input(first + i));
  return views;
}

void write_output(OpContext& ctx, size_t i, const Tensor& value) {
  if (ctx.wants(i)) copy_tensor(value, ctx.output(i, value.dtype(), value.shape()));
}

// The captures of both branches follow the condition, bodies in the order of their attributes' names.
class If final : public Op {
 public:
  explicit If(const OpInit& init) : then_(init, "then_branch"), else_(init, "else_branch") {
    require(then_.inputs == 0 && else_.inputs == 0, ErrorCode::kInvalidArgument, "a branch has inputs");
  }

  void run(OpContext& ctx) const override {
    const TensorView& condition = need_input(ctx, 0, "cond");
    const bool taken = read_scalar_bool(condition, "cond");
    const Body& body = taken ? then_ : else_;
    const auto results =
        body.runner->run({}, captured(ctx, taken ? 1 + else_.captures : 1, body.captures), ctx.threads());
    for (size_t i = 0; i < results.size(); ++i) write_output(ctx, i, results[i]);
  }

 private:
  Body then_, else_;
};

// Slices gathered over iterations, stacked along a new first axis at the end.
class Stack {
 public:
  void add(Tensor slice) {
    require(slices_.empty() || (slices_[0].shape() == slice.shape() && slices_[0].dtype() == slice.dtype()),
            ErrorCode::kInvalidArgument, "a scan output changed from {} to {} between iterations",
            slices_.empty() ? Shape{} : slices_[0].shape(), slice.shape());
    slices_.push_back(std::move(slice));
  }

  // `axis` is where the new dimension goes; `reversed` puts the last slice first.
  void write(OpContext& ctx, size_t i, int64_t axis_argument, bool reversed) const {
    if (!ctx.wants(i)) return;
    require(!slices_.empty(), ErrorCode::kUnsupported, "scan output {} of a body that never ran", i);
    const Shape& slice = slices_[0].shape();
    const int axis = normalize_axis(axis_argument, slice.rank() + 1);
    Shape shape;
    for (int d = 0; d <= slice.rank(); ++d)
      shape.push_back(d == axis ? static_cast<int64_t>(slices_.size()) : slice[d < axis ? d : d - 1]);
    const AxisSplit s(shape, axis);
    const MutableTensorView y = ctx.output(i, slices_[0].dtype(), shape);
    dispatch_size(y.dtype, "a scan output", [&]<typename T>() {
      for (int64_t k = 0; k < s.size; ++k) {
        const T* in = static_cast<const T*>(slices_[static_cast<size_t>(reversed ? s.size - 1 - k : k)].data());
        for (int64_t o = 0; o < s.outer; ++o)
          copy_elements(in + o * s.inner, s.inner, static_cast<T*>(y.data) + (o * s.size + k) * s.inner);
      }
    });
  }

 private:
  std::vector<Tensor> slices_;
};

// Inputs: M?, cond?, carried values. Body: iteration, cond, carried -> cond, carried, scan outputs.
class Loop final : public Op {
 public:
  explicit Loop(const OpInit& init) : own_inputs_(init.node.inputs.size()), body_(init, "body") {
    require(own_inputs_ >= 2 && body_.inputs == own_inputs_ && body_.outputs + 1 >= body_.inputs,
            ErrorCode::kInvalidArgument, "the body has {} inputs and {} outputs for {} inputs of the loop",
            body_.inputs, body_.outputs, own_inputs_);
  }

  void run(OpContext& ctx) const override {
    const size_t carried_count = own_inputs_ - 2;
    const int64_t limit = ctx.has_input(0) ? read_scalar_int(ctx.input(0), "M") : std::numeric_limits<int64_t>::max();
    bool condition = !ctx.has_input(1) || read_scalar_bool(ctx.input(1), "cond");
    const auto outer = captured(ctx, own_inputs_, body_.captures);
    std::vector<Tensor> carried;  // empty before the first iteration: then the inputs themselves
    std::vector<Stack> scans(body_.outputs - 1 - carried_count);
    for (int64_t iteration = 0; iteration < limit && condition; ++iteration) {
      const Tensor number = Tensor::scalar(iteration), flag = Tensor::scalar(condition);
      std::vector<TensorView> inputs{number.view(), flag.view()};
      for (size_t i = 0; i < carried_count; ++i)
        inputs.push_back(carried.empty() ? ctx.input(2 + i) : carried[i].view());
      std::vector<Tensor> results = body_.runner->run(inputs, outer, ctx.threads());
      require(results[0].dtype() == DType::kBool && results[0].elements() == 1, ErrorCode::kInvalidArgument,
              "the body's condition is {} {}", to_string(results[0].dtype()), results[0].shape());
      condition = *results[0].values<bool>().data();
      for (size_t i = 0; i < scans.size(); ++i) scans[i].add(std::move(results[1 + carried_count + i]));
      carried.assign(std::make_move_iterator(results.begin() + 1),
                     std::make_move_iterator(results.begin() + 1 + static_cast<std::ptrdiff_t>(carried_count)));
    }
    for (size_t i = 0; i < carried_count; ++i) {
      if (!carried.empty()) {
        write_output(ctx, i, carried[i]);
      } else if (ctx.wants(i)) {
        const TensorView& x = ctx.input(2 + i);
        copy_tensor(x, ctx.output(i, x.dtype, x.shape));
      }
    }
    for (size_t i = 0; i < scans.size(); ++i) scans[i].write(ctx, carried_count + i, 0, false);
  }

 private:
  size_t own_inputs_;
  Body body_;
};

// Opset 9 on. Inputs: states, then sequences cut along scan_input_axes. Body: states, slices -> states, output slices.
class Scan final : public Op {
 public:
  explicit Scan(const OpInit& init)
      : own_inputs_(init.node.inputs.size()),
        body_(init, "body"),
        sequences_(static_cast<size_t>(init.node.get_int("num_scan_inputs", 0))),
        input_axes_(init.node.get_ints("scan_input_axes")),
        input_directions_(init.node.get_ints("scan_input_directions")),
        output_axes_(init.node.get_ints("scan_output_axes")),
        output_directions_(init.node.get_ints("scan_output_directions")) {
    require(sequences_ >= 1 && sequences_ <= own_inputs_ && body_.inputs == own_inputs_, ErrorCode::kInvalidArgument,
            "num_scan_inputs {} does not fit {} inputs", sequences_, own_inputs_);
    states_ = own_inputs_ - sequences_;
    require(body_.outputs >= states_, ErrorCode::kInvalidArgument, "the body has {} outputs for {} states",
            body_.outputs, states_);
  }

  void run(OpContext& ctx) const override {
    std::vector<Tensor> states;
    int64_t length = -1;
    for (size_t i = 0; i < sequences_; ++i) {
      const TensorView& x = ctx.input(states_ + i);
      const int64_t n = x.shape[normalize_axis(at(input_axes_, i), x.shape.rank())];
      require(length < 0 || n == length, ErrorCode::kInvalidArgument, "scan inputs of lengths {} and {}", length, n);
      length = n;
    }
    const auto outer = captured(ctx, own_inputs_, body_.captures);
    std::vector<Stack> stacks(body_.outputs - states_);
    for (int64_t t = 0; t < length; ++t) {
      std::vector<Tensor> slices;
      for (size_t i = 0; i < sequences_; ++i)
        slices.push_back(
            slice(ctx.input(states_ + i), at(input_axes_, i), at(input_directions_, i) != 0 ? length - 1 - t : t));
      std::vector<TensorView> inputs;
      for (size_t i = 0; i < states_; ++i) inputs.push_back(states.empty() ? ctx.input(i) : states[i].view());
      for (const Tensor& s : slices) inputs.push_back(s.view());
      std::vector<Tensor> results = body_.runner->run(inputs, outer, ctx.threads());
      for (size_t i = 0; i < stacks.size(); ++i) stacks[i].add(std::move(results[states_ + i]));
      states.assign(std::make_move_iterator(results.begin()),
                    std::make_move_iterator(results.begin() + static_cast<std::ptrdiff_t>(states_)));
    }
    for (size_t i = 0; i < states_; ++i) {
      if (!states.empty()) {
        write_output(ctx, i, states[i]);
      } else if (ctx.wants(i)) {
        copy_tensor(ctx.input(i), ctx.output(i, ctx.input(i).dtype, ctx.input(i).shape));
      }
    }
    for (size_t i = 0; i < stacks.size(); ++i)
      stacks[i].write(ctx, states_ + i, at(output_axes_, i), at(output_directions_, i) != 0);
  }

 private:
  static int64_t at(const std::vector<int64_t>& v, size_t i) { return i < v.size() ? v[i] : 0; }

  static Tensor slice(const TensorView& x, int64_t axis, int64_t index) {
    const AxisSplit s(x.shape, axis);
    Shape shape;
    for (int d = 0; d < x.shape.rank(); ++d)
      if (d != s.axis) shape.push_back(x.shape[d]);
    Tensor out(x.dtype, shape);
    dispatch_size(x.dtype, "a scan input", [&]<typename T>() {
      auto* to = static_cast<T*>(out.mutable_view().data);
      for (int64_t o = 0; o < s.outer; ++o)
        copy_elements(static_cast<const T*>(x.data) + (o * s.size + index) * s.inner, s.inner, to + o * s.inner);
    });
    return out;
  }

  size_t own_inputs_;
  Body body_;
  size_t sequences_, states_ = 0;
  std::vector<int64_t> input_axes_, input_directions_, output_axes_, output_directions_;
};

const OpRegistration kIf{"", "If", 1, make_op<If>};
const OpRegistration kLoop{"", "Loop", 1, make_op<Loop>};
const OpRegistration kScan{"", "Scan", 9, make_op<Scan>};

}  // namespace
}  // namespace assay
