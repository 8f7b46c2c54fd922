#pragma once

#include "engine/session.h"
#include "graph/graph.h"
#include "report/record.h"
#include "workloads/evaluate.h"

namespace assay::runs {

/// Fills NodeDecision::sqnr_db of a cell: runs the original and the quantized model side by side on the first
/// evaluation rows, node by node as written, and compares what each node gave. The error is what reaches that point, so
/// a fall from one node to the next shows which one did the damage. Dynamic scales are per tensor here, as the file's
/// operators say.
void add_node_damage(const Model& original, const Model& quantized, const workloads::Task& task,
                     const workloads::Dataset& data, const SessionOptions& session, report::Cell& cell);

}  // namespace assay::runs
