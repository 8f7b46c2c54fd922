#include <algorithm>

#include "engine/engine.h"

namespace assay {
namespace {

/// One range over a whole tensor couples the samples of a batch.
bool couples_samples(const Program& program) {
  return std::any_of(program.steps().begin(), program.steps().end(), [&](const Program::Step& s) {
    const Node& n = program.graph().node(s.node);
    return n.is("DynamicQuantizeLinear") ||
           (n.is("LinearInt8", "assay") && n.get_string("activation_scale", "") == "tensor");
  });
}

}  // namespace

NativeEngine::NativeEngine(Model model, const SessionOptions& options)
    : session_(std::move(model), options), runner_(session_), batch_invariant_(!couples_samples(session_.program())) {}

std::string NativeEngine::version() const { return ASSAY_VERSION; }

}  // namespace assay
