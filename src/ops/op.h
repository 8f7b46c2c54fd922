#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "kernels/isa.h"

namespace assay {

using kernels::Isa;

/// What an operator sees while it runs: its inputs, and where its outputs go. One per node and run; nothing here
/// allocates once the plan has seen the sizes.
class OpContext {
 public:
  virtual ~OpContext() = default;

  const TensorView& input(size_t i) const { return i < inputs_.size() ? inputs_[i] : absent_; }
  size_t input_count() const { return inputs_.size(); }
  /// False for an omitted optional input.
  bool has_input(size_t i) const { return static_cast<bool>(input(i)); }

  /// Memory for output i, uninitialised (strings empty). Call once per output, before writing it.
  virtual MutableTensorView output(size_t i, DType dtype, const Shape& shape) = 0;
  /// Output i is the memory of input `in` under another shape (Reshape, Identity, ...): no copy. Only for an operator
  /// whose aliases() says so.
  virtual void alias(size_t i, size_t in, const Shape& shape) = 0;
  /// Whether anybody wants output i.
  virtual bool wants(size_t i) const = 0;
  /// Working memory until run() returns, 64-byte aligned, uninitialised. Call at most once a run.
  virtual void* scratch(int64_t bytes) = 0;

  int threads() const { return threads_; }

 protected:
  std::vector<TensorView> inputs_;
  int threads_ = 1;

 private:
  TensorView absent_;
};

/// Runs a subgraph (If, Loop, Scan bodies). Made by the engine.
class SubgraphRunner {
 public:
  virtual ~SubgraphRunner() = default;
  /// Outputs of the body for `inputs`; `captured` holds the outer values in the order of body.captures.
  virtual std::vector<Tensor> run(const std::vector<TensorView>& inputs, const std::vector<TensorView>& captured,
                                  int threads) const = 0;
};

/// What an operator is made from. Constant inputs may be packed here, once.
struct OpInit {
  const Graph& graph;
  const Node& node;
  kernels::Isa isa;
  std::function<std::unique_ptr<SubgraphRunner>(const Graph&)> make_subgraph;

  /// The constant behind input i, or nullptr when it is computed or absent.
  const Tensor* constant(size_t i) const { return graph.constant(node.input(i)); }
};

/// A prepared operator: everything that does not depend on the run (parsed attributes, packed weights).
class Op {
 public:
  virtual ~Op() = default;
  /// Reads inputs, asks for outputs, writes them. InvalidArgument names the inputs' shapes or types when they do not
  /// fit.
  virtual void run(OpContext& ctx) const = 0;
  /// The input whose memory output i shares, or -1.
  virtual int aliases(size_t /*i*/) const { return -1; }
  /// Kernel chosen and why, for profiles and `inspect`; empty when there was no choice.
  virtual std::string_view kernel() const { return {}; }
};

using OpFactory = std::unique_ptr<Op> (*)(const OpInit&);

/// Says that `op_type` of `domain` from opset `since` on is made by `factory`. Called by a static OpRegistration.
class OpRegistration {
 public:
  OpRegistration(std::string_view domain, std::string_view op_type, int since, OpFactory factory);
};

/// The factory for a node's operator at its version, or nullptr when there is none.
OpFactory find_op(std::string_view domain, std::string_view op_type, int version);
/// "domain.OpType" of every operator, sorted ("OpType" alone for ONNX's own).
std::vector<std::string> registered_ops();

/// An operator that needs only its node's attributes: `run` is a plain function of node and context.
template <void (*Run)(const Node&, OpContext&)>
std::unique_ptr<Op> make_simple_op(const OpInit& init) {
  class Simple final : public Op {
   public:
    explicit Simple(Node n) : node_(std::move(n)) {}
    void run(OpContext& ctx) const override { Run(node_, ctx); }

   private:
    Node node_;
  };
  return std::make_unique<Simple>(init.node);
}

}  // namespace assay
