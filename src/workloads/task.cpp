#include "workloads/task.h"

#include <algorithm>

#include "base/error.h"
#include "base/nearest.h"

namespace assay::workloads {
namespace {

/// Filled before main by the tasks' own files, constant afterwards.
std::vector<TaskKind>& kinds() {
  static std::vector<TaskKind> list;
  return list;
}

const TaskKind& find_kind(std::string_view name) {
  for (const TaskKind& k : kinds())
    if (k.name == name) return k;
  fail(ErrorCode::kInvalidArgument, "there is no task '{}'{}", name, nearest_hint(name, task_names()));
}

constexpr AnswerAlignment kAlignments[] = {AnswerAlignment::kOffsets, AnswerAlignment::kWords, AnswerAlignment::kBert};

}  // namespace

TaskRegistration::TaskRegistration(TaskKind kind) { kinds().push_back(std::move(kind)); }

std::unique_ptr<Task> make_task(std::string_view name, const TaskSetup& setup) {
  const TaskKind& kind = find_kind(name);
  for (const std::string& m : setup.metrics)
    require(std::find(kind.metrics.begin(), kind.metrics.end(), m) != kind.metrics.end(), ErrorCode::kInvalidArgument,
            "{} has no metric '{}'{}", name, m, nearest_hint(m, kind.metrics));
  return kind.make(setup);
}

std::vector<std::string> task_names() {
  std::vector<std::string> names;
  for (const TaskKind& k : kinds()) names.emplace_back(k.name);
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> metric_names(std::string_view task) { return find_kind(task).metrics; }

std::string_view to_string(AnswerAlignment alignment) {
  switch (alignment) {
    case AnswerAlignment::kOffsets:
      return "offsets";
    case AnswerAlignment::kWords:
      return "words";
    case AnswerAlignment::kBert:
      return "bert";
  }
  return "unknown";
}

AnswerAlignment answer_alignment(std::string_view name) {
  std::vector<std::string> names;
  for (AnswerAlignment a : kAlignments) {
    if (name == to_string(a)) return a;
    names.emplace_back(to_string(a));
  }
  fail(ErrorCode::kInvalidArgument, "'{}' is no answer alignment{}", name, nearest_hint(name, names));
}

}  // namespace assay::workloads
