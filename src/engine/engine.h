#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/session.h"

namespace assay {

/// Anything that runs a model: the native engine here, other runtimes behind the same face. Owned by one caller at a
/// time.
class Engine {
 public:
  virtual ~Engine() = default;
  /// "assay", "onnxruntime", ...
  virtual std::string name() const = 0;
  virtual std::string version() const = 0;
  virtual const std::vector<Port>& inputs() const = 0;
  virtual const std::vector<Port>& outputs() const = 0;
  /// Outputs in the order of outputs(), valid until the next run.
  virtual std::span<const TensorView> run(std::span<const TensorView> inputs) = 0;
  /// Whether a sample's result is the same bits whatever stands beside it in the batch.
  virtual bool batch_invariant() const = 0;
};

/// The native engine on a model of its own.
class NativeEngine final : public Engine {
 public:
  NativeEngine(Model model, const SessionOptions& options);

  std::string name() const override { return "assay"; }
  std::string version() const override;
  const std::vector<Port>& inputs() const override { return session_.inputs(); }
  const std::vector<Port>& outputs() const override { return session_.outputs(); }
  std::span<const TensorView> run(std::span<const TensorView> inputs) override { return runner_.run(inputs); }
  bool batch_invariant() const override { return batch_invariant_; }

  const Session& session() const { return session_; }
  Runner& runner() { return runner_; }

 private:
  Session session_;
  Runner runner_;
  bool batch_invariant_;
};

}  // namespace assay
