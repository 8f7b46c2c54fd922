#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/record.h"

namespace assay::report {

// What report.md and report.html both say about a record, worked out once.

/// A side's mean latency in ms at a point, when it was timed.
std::optional<double> mean_latency(const std::optional<Timing>& timing);
/// Geometric mean over the cell's time points of baseline mean latency / optimized mean latency; absent when no point
/// has both.
std::optional<double> speed_up(const Cell& cell);
/// optimized - baseline of a metric, when both are known.
std::optional<double> metric_change(const Cell& cell, std::string_view metric);

/// How much of one op type was quantized.
struct OpCoverage {
  std::string op;
  int64_t quantized = 0, total = 0;
  int64_t quantized_weight_bytes = 0, weight_bytes = 0;
};
/// Sorted by weight bytes, then count, falling.
std::vector<OpCoverage> coverage(const Cell& cell);

/// Nodes with one op, one outcome and one reason.
struct NodeGroup {
  std::string op, scheme, reason;
  bool quantized = false;
  std::vector<const NodeDecision*> nodes;
};
/// Quantized groups first, then by falling size.
std::vector<NodeGroup> node_groups(const Cell& cell);
/// The quantized nodes that did most damage, worst first: by metric_drop where any is known, else by rising SQNR.
/// Nodes about which neither is known are left out.
std::vector<const NodeDecision*> worst_nodes(const Cell& cell, size_t most);

/// A remark and the cells it is about (none: the run as a whole).
struct NoteGroup {
  std::string text;
  std::vector<const Cell*> cells;
};
/// All notes of the run and its cells, each text once, in order of appearance.
std::vector<NoteGroup> note_groups(const Record& record);

/// A cell's one-line standing among the others.
struct Highlight {
  std::string label;  ///< "Most accurate", "Fastest", ..., joined when one cell is several
  const Cell* cell = nullptr;
};
/// The cell with the best change of the first metric (of several the fastest) and the one with the highest speed-up,
/// among those that are ok and quantized something; then the fastest of those that lose at most 1 % of the baseline's
/// first metric. Absent ones are left out.
std::vector<Highlight> highlights(const Record& record);

/// {instance_type, supported_instructions, used_instructions, threads} of the machine, those it tells.
Json backend_args(const Record& record);
/// Label and text of what is known of the machine and its noise, in reading order.
std::vector<std::pair<std::string, std::string>> machine_facts(const Record& record);
/// Number of evaluation samples as the card prints it: the count, or "All dataset (612)".
std::string evaluation_samples_text(const Record& record);
/// Seconds per configuration of the time benchmark ("15"), or empty when nothing was timed.
std::string duration_text(const Record& record);

}  // namespace assay::report
