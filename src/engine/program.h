#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "graph/evaluator.h"
#include "ops/op.h"

namespace assay {

/// A graph made executable: prepared operators in order, and what is known of every value's life. Immutable; any number
/// of Frames may run it at once.
class Program {
 public:
  /// Throws Unsupported naming the node whose operator is missing; what an operator's constructor throws gains the
  /// node.
  Program(const Graph& graph, Isa isa);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  struct Step {
    NodeId node = kNoNode;
    std::unique_ptr<Op> op;
    std::vector<ValueId> inputs, outputs;
    std::vector<int32_t> dies;  ///< buffers whose last use this step is
  };

  const Graph& graph() const { return graph_; }
  const std::vector<Step>& steps() const { return steps_; }
  /// Values an operator's subgraphs capture, per step (empty for most).
  const std::vector<ValueId>& captured(size_t step) const { return captured_[step]; }

 private:
  friend class Frame;
  struct Buffer {
    int32_t first = 0, last = 0;  ///< steps between which the memory is in use
  };

  Graph graph_;
  std::vector<Step> steps_;
  std::vector<std::vector<ValueId>> captured_;
  std::vector<int32_t> buffer_of_;  ///< per value: index into buffers_, or -1 (inputs, constants, what aliases them)
  std::vector<Buffer> buffers_;     ///< values first, then one scratch buffer a step
};

/// Called after each step with every output it wrote.
using Tap = std::function<void(NodeId, ValueId, const TensorView&)>;

/// The memory of one caller running a Program. Sizes are learned: a run that needs more than the arena holds takes the
/// rest from the heap and the next run starts with an arena that fits, so running sizes seen before allocates nothing.
class Frame {
 public:
  explicit Frame(const Program& program);
  ~Frame();
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  /// Values of the graph's outputs, valid until the next run or the end of `inputs`' memory. `captured` fills
  /// graph.captures.
  std::span<const TensorView> run(std::span<const TensorView> inputs, std::span<const TensorView> captured, int threads,
                                  const Tap* tap);
  int64_t arena_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Evaluates small graphs as they stand (no passes), on the scalar or the given instruction set.
class ProgramEvaluator final : public Evaluator {
 public:
  explicit ProgramEvaluator(Isa isa) : isa_(isa) {}
  std::vector<Tensor> evaluate(const Graph& graph, const std::vector<Tensor>& inputs) const override;

 private:
  Isa isa_;
};

/// A tensor that owns a copy of what the view shows.
Tensor copy_of(const TensorView& view);

}  // namespace assay
