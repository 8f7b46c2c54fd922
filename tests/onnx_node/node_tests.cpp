// Runs ONNX's backend node tests on the native engine.
//
//   node_tests FOLDER [--verbose] [NAME...]
//
// FOLDER is what generate.py wrote. A test whose operators are all registered must pass, run as written and again with
// the engine's rewrites; one that needs an operator we lack is counted as unsupported, by operator. Exits 0 when no
// supported test failed and at least 60 % of all passed, 77 when FOLDER is not there.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/session.h"
#include "formats/onnx_read.h"
#include "formats/onnx_tensor.h"
#include "kernels/isa.h"
#include "ops/convert.h"
#include "ops/op.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr double kLeastShare = 0.60;

// Tests left out although their operators are registered, each with its reason.
const std::map<std::string, std::string, std::less<>> kExcluded = {
    {"test_attention_4d_causal_fp16_expanded",
     "expects float16 softmax rounded after each of its steps: 0.46948 where exact arithmetic gives 0.46919 and one "
     "rounding 0.46899"}};

struct Limits {
  double relative = 1e-3;
  double absolute = 1e-7;
};

Limits limits_of(const fs::path& folder) {
  Limits limits;
  std::ifstream(folder / "limits.txt") >> limits.relative >> limits.absolute;
  return limits;
}

void collect_missing(const Graph& graph, std::set<std::string>& missing) {
  for (NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    if (find_op(node.domain, node.op_type, node.version) == nullptr)
      missing.insert(node.domain.empty() ? node.op_type : node.domain + "." + node.op_type);
    for (const Graph* body : subgraphs(node)) collect_missing(*body, missing);
  }
  for (size_t v = 0; v < graph.value_count(); ++v)
    if (!graph.value(static_cast<ValueId>(v)).type.other.empty()) missing.insert("(sequence or optional values)");
}

std::string difference(const TensorView& got, const Tensor& wanted, Limits limits) {
  if (got.dtype != wanted.dtype())
    return fmt::format("type {} instead of {}", to_string(got.dtype), to_string(wanted.dtype()));
  if (!(got.shape == wanted.shape())) return fmt::format("shape {} instead of {}", got.shape, wanted.shape());
  const int64_t n = got.elements();
  if (got.dtype == DType::kString) {
    for (int64_t i = 0; i < n; ++i) {
      const std::string& g = static_cast<const std::string*>(got.data)[i];
      if (g != wanted.string_at(i)) return fmt::format("'{}' instead of '{}' at element {}", g, wanted.string_at(i), i);
    }
    return {};
  }
  if (got.dtype == DType::kComplex64 || got.dtype == DType::kComplex128) return "complex results are not compared";
  if (got.dtype == DType::kInt64 || got.dtype == DType::kUint64) {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t g = static_cast<const int64_t*>(got.data)[i], w = static_cast<const int64_t*>(wanted.data())[i];
      if (g != w) return fmt::format("{} instead of {} at element {}", g, w, i);
    }
    return {};
  }
  if (got.dtype == DType::kBfloat16)
    limits.relative = std::max(limits.relative, 0x1p-6);  // two units, as the runner does
  Tensor a(DType::kFloat64, got.shape), b(DType::kFloat64, got.shape);
  convert_elements(got, a.mutable_view(), true);
  convert_elements(wanted, b.mutable_view(), true);
  const bool exact = is_integer(got.dtype) || got.dtype == DType::kBool;
  for (int64_t i = 0; i < n; ++i) {
    const double g = a.values<double>()[static_cast<size_t>(i)], w = b.values<double>()[static_cast<size_t>(i)];
    if (g == w || (std::isnan(g) && std::isnan(w))) continue;
    const double limit = exact ? 0 : limits.absolute + limits.relative * std::fabs(w);
    if (!(std::fabs(g - w) <= limit)) return fmt::format("{} instead of {} at element {}", g, w, i);
  }
  return {};
}

std::string run_once(const fs::path& folder, const Model& model, bool fuse) {
  SessionOptions options;
  options.isa = kernels::best_isa();
  options.fuse = fuse;
  options.threads = 2;
  Model copy;
  copy.graph = model.graph.clone();
  copy.functions = model.functions;
  copy.opsets = model.opsets;
  copy.ir_version = model.ir_version;
  const Session session(std::move(copy), options);
  Runner runner(session);
  std::vector<Tensor> inputs;
  std::vector<TensorView> views;
  for (size_t i = 0; i < session.inputs().size(); ++i) {
    const fs::path file = folder / fmt::format("input_{}.pb", i);
    inputs.push_back(fs::exists(file) ? read_tensor_proto(file) : Tensor{});
    views.push_back(inputs.back() ? inputs.back().view() : TensorView{});
  }
  // The second run uses the planned arena.
  for (int round = 0; round < 2; ++round) {
    const auto outputs = runner.run(views);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Tensor wanted = read_tensor_proto(folder / fmt::format("output_{}.pb", i));
      const std::string text = difference(outputs[i], wanted, limits_of(folder));
      if (!text.empty()) return fmt::format("output {}: {}", i, text);
    }
  }
  return {};
}

enum class Outcome { kPassed, kFailed, kUnsupported };

struct Result {
  Outcome outcome = Outcome::kPassed;
  std::string text;  ///< what failed, or the missing operators
};

Result run_test(const fs::path& folder) {
  try {
    const Model model = read_onnx(folder / "model.onnx");
    std::set<std::string> missing;
    collect_missing(model.graph, missing);
    for (const Function& f : model.functions) collect_missing(f.body, missing);
    if (!missing.empty()) return {Outcome::kUnsupported, fmt::format("{}", fmt::join(missing, " "))};
    for (const bool fuse : {false, true}) {
      const std::string text = run_once(folder, model, fuse);
      if (!text.empty()) return {Outcome::kFailed, fuse ? "rewritten: " + text : text};
    }
    return {};
  } catch (const Error& e) {
    const bool unsupported = e.code() == ErrorCode::kUnsupported;
    return {unsupported ? Outcome::kUnsupported : Outcome::kFailed, e.what()};
  } catch (const std::exception& e) {
    return {Outcome::kFailed, std::string("not an assay::Error: ") + e.what()};
  }
}

int run_all(const fs::path& root, const std::vector<std::string>& names, bool verbose) {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(root))
    if (entry.is_directory() &&
        (names.empty() || std::find(names.begin(), names.end(), entry.path().filename()) != names.end()))
      folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  int passed = 0, failed = 0, excluded = 0;
  std::map<std::string, std::vector<std::string>> unsupported;
  for (const fs::path& folder : folders) {
    const std::string name = folder.filename();
    if (const auto it = kExcluded.find(name); it != kExcluded.end()) {
      ++excluded;
      fmt::print("excluded {}: {}\n", name, it->second);
      continue;
    }
    if (verbose) {
      fmt::print("{}\n", name);
      std::fflush(stdout);
    }
    const Result r = run_test(folder);
    switch (r.outcome) {
      case Outcome::kPassed:
        ++passed;
        break;
      case Outcome::kFailed:
        ++failed;
        fmt::print("FAILED {}: {}\n", name, r.text);
        break;
      case Outcome::kUnsupported:
        unsupported[r.text].push_back(name);
        break;
    }
  }
  size_t not_run = 0;
  fmt::print("unsupported, by what is missing:\n");
  for (const auto& [what, tests] : unsupported) {
    not_run += tests.size();
    fmt::print("  {} ({}): {}\n", what, tests.size(), fmt::join(tests, " "));
  }
  const double share = folders.empty() ? 0 : static_cast<double>(passed) / static_cast<double>(folders.size());
  fmt::print("{} node tests: {} passed ({:.1f} %), {} failed, {} unsupported, {} excluded\n", folders.size(), passed,
             100 * share, failed, not_run, excluded);
  if (failed > 0) return 1;
  if (names.empty() && share < kLeastShare) {
    fmt::print("fewer than {:.0f} % passed\n", 100 * kLeastShare);
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: node_tests FOLDER [--verbose] [NAME...]\n");
    return 2;
  }
  if (!std::filesystem::exists(std::filesystem::path(argv[1]) / "complete")) {
    fmt::print("skipped: {} holds no node tests (generate.py needs the onnx wheel in ASSAY_VENV)\n", argv[1]);
    return 77;
  }
  std::vector<std::string> names;
  bool verbose = false;
  for (int i = 2; i < argc; ++i) {
    if (std::string(argv[i]) == "--verbose") {
      verbose = true;
    } else {
      names.emplace_back(argv[i]);
    }
  }
  return assay::run_all(argv[1], names, verbose);
}
