#include "engine/program.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/checked.h"

namespace assay {
namespace {

constexpr int64_t kAlignment = 64;

int64_t align_up(int64_t n) { return checked_add<int64_t>(n, kAlignment - 1) / kAlignment * kAlignment; }

class BodyRunner final : public SubgraphRunner {
 public:
  BodyRunner(const Graph& body, Isa isa) : program_(body, isa) {}

  std::vector<Tensor> run(const std::vector<TensorView>& inputs, const std::vector<TensorView>& captured,
                          int threads) const override {
    Frame frame(program_);
    std::vector<Tensor> out;
    for (const TensorView& v : frame.run(inputs, captured, threads, nullptr)) out.push_back(copy_of(v));
    return out;
  }

 private:
  Program program_;
};

}  // namespace

Tensor copy_of(const TensorView& view) {
  if (view.dtype == DType::kString) {
    const auto* s = static_cast<const std::string*>(view.data);
    return Tensor::strings(view.shape, {s, s + view.elements()});
  }
  Tensor t(view.dtype, view.shape);
  if (view.bytes() > 0) std::memcpy(t.mutable_view().data, view.data, static_cast<size_t>(view.bytes()));
  return t;
}

Program::Program(const Graph& graph, Isa isa) : graph_(graph.clone()) {
  const auto make_subgraph = [isa](const Graph& body) -> std::unique_ptr<SubgraphRunner> {
    return std::make_unique<BodyRunner>(body, isa);
  };
  for (const NodeId id : graph_.topological_order()) {
    const Node& node = graph_.node(id);
    const OpFactory factory = find_op(node.domain, node.op_type, node.version);
    if (factory == nullptr)
      throw Error(ErrorCode::kUnsupported, fmt::format("no operator {} at opset {}", node.op_type, node.version))
          .at("node", node.label());
    Step step;
    step.node = id;
    try {
      step.op = factory(OpInit{graph_, node, isa, make_subgraph});
    } catch (Error& e) {
      throw e.at("node", node.label());
    }
    step.inputs = node.inputs;
    step.outputs = node.outputs;
    captured_.push_back(Graph::captured_by(node));
    steps_.push_back(std::move(step));
  }

  // Lives: a buffer starts at the step that writes it and ends at its last reader, through aliases; outputs never end.
  buffer_of_.assign(graph_.value_count(), -1);
  const auto end = static_cast<int32_t>(steps_.size());
  const auto extend = [&](ValueId v, int32_t step) {
    if (v != kNoValue && buffer_of_[static_cast<size_t>(v)] >= 0) {
      auto& last = buffers_[static_cast<size_t>(buffer_of_[static_cast<size_t>(v)])].last;
      last = std::max(last, step);
    }
  };
  for (int32_t s = 0; s < end; ++s) {
    const Step& step = steps_[static_cast<size_t>(s)];
    for (ValueId v : step.inputs) extend(v, s);
    for (ValueId v : captured_[static_cast<size_t>(s)]) extend(v, s);
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      const ValueId v = step.outputs[i];
      if (v == kNoValue) continue;
      const int source = step.op->aliases(i);
      if (source >= 0) {
        buffer_of_[static_cast<size_t>(v)] = buffer_of_[static_cast<size_t>(step.inputs[static_cast<size_t>(source)])];
        extend(v, s);
      } else {
        buffer_of_[static_cast<size_t>(v)] = static_cast<int32_t>(buffers_.size());
        buffers_.push_back({s, s});
      }
    }
  }
  for (ValueId v : graph_.outputs()) extend(v, end);
  for (size_t b = 0; b < buffers_.size(); ++b)
    if (buffers_[b].last < end) steps_[static_cast<size_t>(buffers_[b].last)].dies.push_back(static_cast<int32_t>(b));
  for (int32_t s = 0; s < end; ++s) buffers_.push_back({s, s});  // scratch
}

Program::~Program() = default;

struct Frame::State final : OpContext {
  explicit State(const Program& p)
      : program(p),
        views(p.graph_.value_count()),
        size(p.buffers_.size(), 0),
        offset(p.buffers_.size(), 0),
        overflow(p.buffers_.size()) {
    for (size_t v = 0; v < views.size(); ++v)
      if (const Tensor& t = p.graph_.value(static_cast<ValueId>(v)).constant) views[v] = t.view();
    outputs.resize(p.graph_.outputs().size());
    size_t most = 0;
    for (size_t s = 0; s < p.steps_.size(); ++s)
      most = std::max(most, p.steps_[s].inputs.size() + p.captured_[s].size());
    inputs_.reserve(most);
  }

  const Program& program;
  std::vector<TensorView> views;  // per value
  std::vector<int64_t> size;      // per buffer: the most ever asked for
  std::vector<int64_t> planned;   // per buffer: what the arena gives
  std::vector<int64_t> offset;    // per buffer, in the arena
  std::vector<Tensor> overflow;   // per buffer: heap memory of this run
  std::vector<TensorView> outputs;
  Tensor arena;
  bool grown = true;
  size_t step = 0;

  // Greedy by size: each buffer, largest first, at the lowest offset where no buffer alive at the same time lies.
  void plan() {
    const auto& buffers = program.buffers_;
    std::vector<size_t> order(buffers.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return size[a] > size[b]; });
    std::vector<size_t> placed;
    int64_t total = 0;
    for (size_t b : order) {
      if (size[b] == 0) break;
      int64_t at = 0;
      auto where = placed.begin();
      for (; where != placed.end(); ++where) {  // placed is sorted by offset
        const size_t o = *where;
        if (buffers[o].last < buffers[b].first || buffers[b].last < buffers[o].first) continue;
        if (at + size[b] <= offset[o]) break;
        at = std::max(at, offset[o] + size[o]);
      }
      offset[b] = at;
      total = std::max(total, at + size[b]);
      placed.insert(
          std::upper_bound(placed.begin(), placed.end(), b, [&](size_t x, size_t y) { return offset[x] < offset[y]; }),
          b);
    }
    if (!arena || arena.elements() < total) arena = Tensor(DType::kUint8, Shape{total});
    planned = size;
    grown = false;
  }

  void* memory(size_t buffer, int64_t bytes) {
    bytes = align_up(bytes);
    if (bytes <= planned[buffer]) return static_cast<std::byte*>(arena.mutable_view().data) + offset[buffer];
    if (bytes > size[buffer]) {
      size[buffer] = bytes;
      grown = true;
    }
    overflow[buffer] = Tensor(DType::kUint8, Shape{bytes});
    return overflow[buffer].mutable_view().data;
  }

  ValueId out(size_t i) const { return program.steps_[step].outputs[i]; }

  MutableTensorView output(size_t i, DType dtype, const Shape& shape) override {
    MutableTensorView view{dtype, shape, nullptr};
    const ValueId v = i < program.steps_[step].outputs.size() ? out(i) : kNoValue;
    require(v != kNoValue, ErrorCode::kInternal, "output {} is not wanted", i);
    const auto buffer = static_cast<size_t>(program.buffer_of_[static_cast<size_t>(v)]);
    if (dtype == DType::kString) {
      overflow[buffer] = Tensor(DType::kString, shape);
      view.data = overflow[buffer].mutable_view().data;
    } else {
      view.data = memory(buffer, view.bytes());
    }
    views[static_cast<size_t>(v)] = view;
    return view;
  }

  void alias(size_t i, size_t in, const Shape& shape) override {
    TensorView view = input(in);
    require(program.steps_[step].op->aliases(i) == static_cast<int>(in), ErrorCode::kInternal,
            "output {} does not alias input {}", i, in);
    require(shape.elements() == view.elements(), ErrorCode::kInvalidArgument, "shape {} cannot be viewed as {}",
            view.shape.str(), shape.str());
    view.shape = shape;
    views[static_cast<size_t>(out(i))] = view;
  }

  bool wants(size_t i) const override { return i < program.steps_[step].outputs.size() && out(i) != kNoValue; }

  void* scratch(int64_t bytes) override {
    const size_t buffer = program.buffers_.size() - program.steps_.size() + step;
    return memory(buffer, bytes);
  }

  void load_inputs() {
    inputs_.clear();
    for (ValueId v : program.steps_[step].inputs)
      inputs_.push_back(v == kNoValue ? TensorView{} : views[static_cast<size_t>(v)]);
    // Captured outer values follow the node's own inputs; operators with bodies know how many they have of each.
    for (ValueId v : program.captured_[step]) inputs_.push_back(views[static_cast<size_t>(v)]);
  }

  void run(std::span<const TensorView> in, std::span<const TensorView> captured, int n_threads, const Tap* tap) {
    const Graph& g = program.graph_;
    require(in.size() == g.inputs.size(), ErrorCode::kInvalidArgument, "the graph takes {} inputs, {} were given",
            g.inputs.size(), in.size());
    require(captured.size() == g.captures.size(), ErrorCode::kInternal, "the body captures {} values, {} were given",
            g.captures.size(), captured.size());
    threads_ = n_threads;
    for (Tensor& t : overflow) t = Tensor{};
    if (grown) plan();
    for (size_t i = 0; i < in.size(); ++i)
      if (in[i]) views[static_cast<size_t>(g.inputs[i])] = in[i];
    for (size_t i = 0; i < captured.size(); ++i) views[static_cast<size_t>(g.captures[i].inner)] = captured[i];
    for (step = 0; step < program.steps_.size(); ++step) {
      const Program::Step& s = program.steps_[step];
      load_inputs();
      try {
        s.op->run(*this);
      } catch (Error& e) {
        throw e.at("node", g.node(s.node).label());
      }
      if (tap != nullptr)
        for (ValueId v : s.outputs)
          if (v != kNoValue) (*tap)(s.node, v, views[static_cast<size_t>(v)]);
      for (int32_t b : s.dies) overflow[static_cast<size_t>(b)] = Tensor{};
    }
    for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = views[static_cast<size_t>(g.outputs()[i])];
  }
};

Frame::Frame(const Program& program) : state_(std::make_unique<State>(program)) {}
Frame::~Frame() = default;

std::span<const TensorView> Frame::run(std::span<const TensorView> inputs, std::span<const TensorView> captured,
                                       int threads, const Tap* tap) {
  state_->run(inputs, captured, threads, tap);
  return state_->outputs;
}

int64_t Frame::arena_bytes() const { return state_->arena ? state_->arena.bytes() : 0; }

std::vector<Tensor> ProgramEvaluator::evaluate(const Graph& graph, const std::vector<Tensor>& inputs) const {
  const Program program(graph, isa_);
  Frame frame(program);
  std::vector<TensorView> views(inputs.begin(), inputs.end());
  std::vector<Tensor> out;
  for (const TensorView& v : frame.run(views, {}, 1, nullptr)) out.push_back(copy_of(v));
  return out;
}

}  // namespace assay
