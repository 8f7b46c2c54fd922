#include <algorithm>
#include <filesystem>

#include "app/command.h"
#include "app/scheme_arguments.h"
#include "base/file.h"
#include "formats/onnx_write.h"
#include "formats/registry.h"
#include "quant/calibrator.h"
#include "quant/quantizer.h"
#include "runs/data_split.h"
#include "workloads/evaluate.h"

namespace assay::app {
namespace {

struct Arguments {
  std::string model, out;
  SchemeArguments scheme;
  std::string data, task, tokenizer, preprocess, cache;
  int64_t samples = 100;
  bool moving_average = false;
  EngineArguments engine;
  JsonArgument json;
};

/// The ranges of an earlier run, when it was of this model, data and method and covers this scheme; else nothing, and a
/// note that says what differs. An unreadable file is an error: it may be no cache at all.
std::optional<quant::Calibration> cached_calibration(const std::string& file, const std::string& model,
                                                     const std::string& data, const std::vector<std::string>& tensors,
                                                     Progress& progress) {
  if (file.empty() || !std::filesystem::exists(file)) return std::nullopt;
  quant::Calibration c = quant::load_calibration(file, "", "");
  std::string why;
  if (c.model != model) why = "of another model";
  if (!data.empty() && c.data != data) why = fmt::format("of other data or by another method ({})", c.data);
  for (const std::string& t : tensors)
    if (why.empty() && c.ranges.count(t) == 0) why = fmt::format("without a range of '{}', which this scheme needs", t);
  if (!why.empty()) {
    require(!data.empty(), ErrorCode::kInvalidArgument,
            "'{}' is {}, and without --calibration-data there is nothing to calibrate with", file, why);
    progress.note(fmt::format("{} is {}: calibrating again", file, why));
    return std::nullopt;
  }
  progress.note(fmt::format("ranges taken from {} ({}, {} samples)", file, c.data, c.samples));
  return c;
}

quant::Calibration calibration_of(const Arguments& a, const LoadedModel& loaded, const quant::Quantizer& quantizer,
                                  int threads, Progress& progress) {
  const std::string model = quant::fingerprint(quantizer.float_model());
  const std::vector<std::string> tensors = quantizer.tensors_to_observe();
  if (a.data.empty()) {
    if (auto c = cached_calibration(a.cache, model, "", tensors, progress)) return *c;
    fail(ErrorCode::kInvalidArgument, "static quantization needs --calibration-data");
  }
  workloads::TaskSetup setup;
  setup.info = loaded.info;
  const std::string task_name = a.task.empty() ? loaded.info.task : a.task;
  require(!task_name.empty(), ErrorCode::kInvalidArgument,
          "the model does not say its task; give --task so that the calibration data can be prepared");
  const auto task = workloads::make_task(task_name, setup);
  const size_t cut = a.data.find('[');
  const workloads::Dataset data = runs::read_split(
      a.data.substr(0, cut), cut == std::string::npos ? std::nullopt : std::optional(a.data.substr(cut)));
  const std::string identity = fmt::format("{}, {}, content {}, {} rows, minmax{}", task_name, a.data, data.hash.hex(),
                                           std::min(a.samples, data.size()), a.moving_average ? " moving average" : "");
  if (auto c = cached_calibration(a.cache, model, identity, tensors, progress)) return *c;
  std::vector<Port> ports;
  const Graph& g = quantizer.float_model().graph;
  for (ValueId v : g.inputs) ports.push_back({g.value(v).name, g.value(v).type});
  workloads::SampleStream stream(*task, data, ports, a.samples);
  quant::CalibrationOptions options;
  options.threads = threads;
  options.observer.moving_average = a.moving_average;
  quant::Calibration c = quant::calibrate(
      quantizer.float_model(), tensors, [&](quant::Sample& s) { return stream.next(s); }, options, progress);
  c.data = identity;
  if (!a.cache.empty()) quant::save_calibration(c, a.cache);
  return c;
}

void quantize(const Arguments& a, const Environment& env) {
  const quant::QuantScheme scheme = a.scheme.scheme();
  require_file_target(a.out);
  LoadedModel loaded = load_model(a.model);
  require_other_than_weights(a.out, loaded);
  for (const std::string& n : loaded.notes) env.progress.note(n);
  const SessionOptions options = a.engine.options(env);
  if (!a.tokenizer.empty()) loaded.info.tokenizer = SideFile(a.tokenizer);
  if (!a.preprocess.empty()) loaded.info.preprocessor = SideFile(a.preprocess);
  put_model_info(loaded.info, loaded.model.metadata);
  quant::Quantizer quantizer(loaded.model, scheme);
  Model quantized;
  if (scheme.approach == quant::Approach::kStatic) {
    const quant::Calibration c = calibration_of(a, loaded, quantizer, options.threads, env.progress);
    if (env.progress.interrupted()) return;
    quantized = quantizer.quantize(&c, options.threads);
  } else {
    quantized = quantizer.quantize(nullptr, options.threads);
  }
  const quant::QuantPlan plan = quantizer.plan();
  if (std::none_of(plan.nodes.begin(), plan.nodes.end(), [](const quant::NodePlan& n) { return n.quantized(); }))
    env.progress.note("warning: no node was quantized; the output computes what the input does");
  write_onnx(quantized, a.out);
  const auto bytes = static_cast<int64_t>(std::filesystem::file_size(a.out));
  Json result = {{"model", a.model}, {"out", a.out}, {"bytes", bytes}};
  result["plan"] = quant::to_json(plan);
  a.json.write(result);
  if (!a.json.to_stdout()) print(quant::to_text(plan) + fmt::format("{} -> {}, {} bytes\n", a.model, a.out, bytes));
}

}  // namespace

void add_quantize(CLI::App& parent, const Environment& env) {
  auto a = std::make_shared<Arguments>();
  CLI::App* c =
      parent.add_subcommand("quantize", "write an int8 model as standard ONNX, saying what became of every node");
  c->add_option("MODEL", a->model, "ONNX file or checkpoint folder")->required();
  c->add_option("-o,--output", a->out, "the .onnx file to write")->required();
  a->scheme.declare(*c);
  c->add_option("--calibration-data", a->data, "static: data whose ranges are observed, rows as in train.json[:100]");
  c->add_option("--calibration-samples", a->samples, "static: rows of it")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  c->add_flag("--calibration-moving-average", a->moving_average, "static: average the ranges of samples");
  c->add_option("--calibration-cache", a->cache, "static: file that keeps the ranges for the next run");
  c->add_option("--task", a->task, "how calibration data is prepared (default: the model's task)");
  c->add_option("--tokenizer", a->tokenizer, "tokenizer.json, when it is not beside the model");
  c->add_option("--preprocess", a->preprocess, "preprocessor_config.json, when it is not beside the model");
  a->engine.declare(*c);
  a->json.declare(*c);
  c->footer(
      "Examples:\n  assay quantize models/minilm-l6-squad -o int8.onnx --approach dynamic --per-channel\n"
      "  assay quantize model.onnx -o static.onnx --approach static --operators Add,MatMul --exclude "
      "layernorm,gelu,residual,gather,softmax \\\n"
      "      --calibration-data train.json --calibration-samples 100 --task question-answering --tokenizer "
      "tokenizer.json");
  c->callback([a, &env] { quantize(*a, env); });
}

}  // namespace assay::app
