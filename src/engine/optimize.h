#pragma once

#include <vector>

#include "engine/session.h"

namespace assay {

/// Rewrites the model's graph for the native engine, in the one order of the list in optimize.cpp. Returns what each
/// pass matched and nearly matched.
std::vector<FusionNote> optimize(Model& model, const SessionOptions& options);

}  // namespace assay
