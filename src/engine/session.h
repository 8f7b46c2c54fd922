#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/program.h"
#include "graph/graph.h"
#include "graph/rewrite.h"

namespace assay {

struct SessionOptions {
  int threads = 1;
  Isa isa = Isa::kScalar;   ///< the caller picks: best_isa() for what this CPU has
  bool fuse = true;         ///< rewrite into the engine's fused operators; off runs the graph node by node as written
  bool pack_tokens = true;  ///< cut padding where a mask proves it is padding (outputs there are 0); needs `fuse`
};

/// An input or output as the model declares it.
struct Port {
  std::string name;
  TensorType type;
};

/// A model ready to run on the native engine. Immutable once made: share it between threads, give each its own Runner.
class Session {
 public:
  /// Inlines functions, runs the passes, prepares operators (packs weights). Throws Unsupported naming the node.
  Session(Model model, const SessionOptions& options);
  ~Session();

  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }
  const SessionOptions& options() const { return options_; }
  const Program& program() const { return *program_; }
  const std::vector<FusionNote>& fusions() const { return fusions_; }

 private:
  SessionOptions options_;
  std::vector<Port> inputs_, outputs_;
  std::vector<FusionNote> fusions_;
  std::unique_ptr<Program> program_;
};

/// One caller's working memory on a Session. Not for two threads at once.
class Runner {
 public:
  explicit Runner(const Session& session) : session_(session), frame_(session.program()) {}

  /// Runs on inputs in the order of session.inputs() (an empty view leaves a default in place). The views are valid
  /// until the next run. InvalidArgument names the input whose type or rank is not what the model declares.
  std::span<const TensorView> run(std::span<const TensorView> inputs);
  /// Called with every value each step computes, with ids of session.program().graph(). Sees the graph after passes:
  /// use SessionOptions{.fuse = false} to see the model's own values.
  void set_tap(Tap tap) { tap_ = std::move(tap); }
  int64_t arena_bytes() const { return frame_.arena_bytes(); }

 private:
  const Session& session_;
  Frame frame_;
  Tap tap_;
};

}  // namespace assay
