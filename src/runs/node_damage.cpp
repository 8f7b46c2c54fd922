#include "runs/node_damage.h"

#include <algorithm>
#include <map>
#include <set>

#include "quant/numbers.h"

namespace assay::runs {
namespace {

constexpr int64_t kRows = 4;

struct Energy {
  double signal = 0, noise = 0;
};

Model copy_of_model(const Model& m) {
  Model copy = m;
  copy.graph = m.graph.clone();
  return copy;
}

/// Every float32 value of one run, by name, of the names wanted.
std::map<std::string, Tensor> values_of(Session& session, const std::vector<TensorView>& inputs,
                                        const std::set<std::string>& wanted) {
  Runner runner(session);
  std::map<std::string, Tensor> values;
  runner.set_tap([&](NodeId, ValueId v, const TensorView& view) {
    const std::string& name = session.program().graph().value(v).name;
    if (view.dtype == DType::kFloat32 && wanted.contains(name)) values[name] = copy_of(view);
  });
  runner.run(inputs);
  return values;
}

}  // namespace

void add_node_damage(const Model& original, const Model& quantized, const workloads::Task& task,
                     const workloads::Dataset& data, const SessionOptions& session, report::Cell& cell) {
  std::map<std::string, std::string> output_of;  // node, as the plan calls it -> its first output
  for (const NodeId id : original.graph.topological_order()) {
    const Node& n = original.graph.node(id);
    if (!n.outputs.empty() && n.outputs[0] != kNoValue)
      output_of[n.name.empty() ? n.label() : n.name] = original.graph.value(n.outputs[0]).name;
  }
  std::set<std::string> wanted;
  for (const report::NodeDecision& d : cell.nodes)
    if (const auto it = output_of.find(d.node); it != output_of.end() && !it->second.empty()) wanted.insert(it->second);

  SessionOptions as_written = session;
  as_written.fuse = false;
  Session before(copy_of_model(original), as_written);
  Session after(copy_of_model(quantized), as_written);
  workloads::SampleStream rows(task, data, before.inputs(), std::min<int64_t>(kRows, data.size()));
  std::map<std::string, Energy> energy;
  for (std::vector<Tensor> inputs; rows.next(inputs);) {
    const std::vector<TensorView> views(inputs.begin(), inputs.end());
    const auto x = values_of(before, views, wanted);
    const auto y = values_of(after, views, wanted);
    for (const auto& [name, tensor] : x) {
      const auto it = y.find(name);
      if (it == y.end() || !(it->second.shape() == tensor.shape())) continue;
      const auto a = tensor.values<float>();
      const auto b = it->second.values<float>();
      Energy& e = energy[name];
      for (size_t i = 0; i < a.size(); ++i) {
        e.signal += static_cast<double>(a[i]) * a[i];
        const double d = static_cast<double>(a[i]) - b[i];
        e.noise += d * d;
      }
    }
  }
  for (report::NodeDecision& d : cell.nodes) {
    const auto name = output_of.find(d.node);
    if (name == output_of.end()) continue;
    const auto it = energy.find(name->second);
    // Equal values have no noise to speak of: no figure rather than infinity.
    if (it != energy.end() && it->second.noise > 0 && it->second.signal > 0)
      d.sqnr_db = quant::sqnr_db(it->second.signal, it->second.noise);
  }
}

}  // namespace assay::runs
