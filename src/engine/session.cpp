#include "engine/session.h"

#include "engine/optimize.h"

namespace assay {

Session::Session(Model model, const SessionOptions& options) : options_(options) {
  require(options.threads >= 1, ErrorCode::kInvalidArgument, "threads must be at least 1, not {}", options.threads);
  for (ValueId v : model.graph.inputs) inputs_.push_back({model.graph.value(v).name, model.graph.value(v).type});
  for (ValueId v : model.graph.outputs()) outputs_.push_back({model.graph.value(v).name, model.graph.value(v).type});
  fusions_ = optimize(model, options);
  program_ = std::make_unique<Program>(model.graph, options.isa);
}

Session::~Session() = default;

std::span<const TensorView> Runner::run(std::span<const TensorView> inputs) {
  const auto& ports = session_.inputs();
  require(inputs.size() == ports.size(), ErrorCode::kInvalidArgument, "the model takes {} inputs, {} were given",
          ports.size(), inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) continue;
    const TensorType& type = ports[i].type;
    if (type.dtype != DType::kUndefined && type.dtype != inputs[i].dtype)
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("takes {}, {} was given", to_string(type.dtype), to_string(inputs[i].dtype)))
          .at("input", ports[i].name);
    if (type.dims && static_cast<int>(type.dims->size()) != inputs[i].shape.rank())
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("takes rank {}, shape {} was given", type.dims->size(), inputs[i].shape.str()))
          .at("input", ports[i].name);
  }
  return frame_.run(inputs, {}, session_.options().threads, tap_ ? &tap_ : nullptr);
}

}  // namespace assay
