#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace assay::workloads {

inline Port port(std::string name, DType dtype, std::vector<int64_t> dims) {
  Port p;
  p.name = std::move(name);
  p.type.dtype = dtype;
  p.type.dims.emplace();
  for (int64_t d : dims) p.type.dims->push_back({d, {}});
  return p;
}

/// The usual inputs of a BERT export.
inline std::vector<Port> text_ports(int64_t rows = -1, int64_t length = -1) {
  return {port("input_ids", DType::kInt64, {rows, length}), port("attention_mask", DType::kInt64, {rows, length}),
          port("token_type_ids", DType::kInt64, {rows, length})};
}

/// An engine for tests: outputs are a function of the inputs, and what it was given is kept.
class FakeEngine final : public Engine {
 public:
  using Fn = std::function<std::vector<Tensor>(std::span<const TensorView>)>;
  FakeEngine(std::vector<Port> inputs, std::vector<Port> outputs, Fn fn)
      : inputs_(std::move(inputs)), outputs_(std::move(outputs)), fn_(std::move(fn)) {}

  std::string name() const override { return "fake"; }
  std::string version() const override { return "0"; }
  const std::vector<Port>& inputs() const override { return inputs_; }
  const std::vector<Port>& outputs() const override { return outputs_; }
  bool batch_invariant() const override { return invariant; }
  std::span<const TensorView> run(std::span<const TensorView> in) override {
    shapes.push_back(in[0].shape);
    results_ = fn_(in);
    views_.assign(results_.begin(), results_.end());
    return views_;
  }

  bool invariant = true;
  std::vector<Shape> shapes;  ///< of the first input of every run

 private:
  std::vector<Port> inputs_, outputs_;
  Fn fn_;
  std::vector<Tensor> results_;
  std::vector<TensorView> views_;
};

}  // namespace assay::workloads
