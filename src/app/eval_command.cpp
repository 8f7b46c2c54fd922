#include <fmt/ranges.h>

#include <fstream>

#include "app/command.h"
#include "base/file.h"
#include "base/nearest.h"
#include "engine/engine.h"
#include "formats/registry.h"
#include "runs/data_split.h"
#include "workloads/evaluate.h"

namespace assay::app {
namespace {

struct Arguments {
  std::string model, task, data;
  std::string format = "auto";
  std::string tokenizer, preprocess, labels_from;
  std::vector<std::string> metrics, data_keys, ref_keys, columns;
  std::string predictions;
  int64_t max_samples = 0, max_length = 0;
  bool regression = false, max_context = false;
  int64_t batch = 0;
  std::string alignment = "offsets";
  EngineArguments engine;
  JsonArgument json;
};

workloads::DataKeys keys_of(const Arguments& a) {
  workloads::DataKeys keys;
  for (const std::string& pair : a.data_keys) {
    const size_t cut = pair.find('=');
    require(cut != std::string::npos, ErrorCode::kInvalidArgument, "--data-keys takes role=column, not '{}'", pair);
    keys.data[pair.substr(0, cut)] = pair.substr(cut + 1);
  }
  keys.ref = a.ref_keys;
  return keys;
}

std::string task_of(const Arguments& a, const ModelInfo& info) {
  std::string task = a.task.empty() ? info.task : a.task;
  require(!task.empty(), ErrorCode::kInvalidArgument, "the model does not say its task; give --task, one of {}",
          fmt::join(workloads::task_names(), ", "));
  return task;
}

void eval(const Arguments& a, const Environment& env) {
  LoadedModel loaded = load_model(a.model);
  for (const std::string& n : loaded.notes) env.progress.note(n);
  workloads::TaskSetup setup;
  setup.info = loaded.info;
  if (!a.tokenizer.empty()) setup.info.tokenizer = SideFile(a.tokenizer);
  if (!a.preprocess.empty()) setup.info.preprocessor = SideFile(a.preprocess);
  setup.keys = keys_of(a);
  setup.metrics = a.metrics;
  if (a.max_length > 0) setup.max_length = a.max_length;
  if (a.regression) setup.is_regression = true;
  setup.question_answering.max_context = a.max_context;
  setup.question_answering.alignment = workloads::answer_alignment(a.alignment);
  const auto task = workloads::make_task(task_of(a, loaded.info), setup);
  workloads::ReadOptions read;
  read.format = workloads::data_format(a.format);
  read.columns = a.columns;
  const workloads::Dataset data = runs::read_split(
      runs::parse_split(a.data).file,
      [&]() -> std::optional<std::string> {
        const size_t cut = a.data.find('[');
        return cut == std::string::npos ? std::nullopt : std::optional(a.data.substr(cut));
      }(),
      read);
  for (const std::string& n : data.notes) env.progress.note(n);

  const SessionOptions options = a.engine.options(env);
  NativeEngine engine(std::move(loaded.model), options);
  workloads::EvalOptions eval_options;
  eval_options.max_samples = a.max_samples;
  if (a.batch > 0) eval_options.batch_rows = a.batch;
  eval_options.threads = options.threads;
  const SteadyClock clock;
  const workloads::EvalResult r = workloads::evaluate(*task, data, engine, eval_options, clock, env.progress);
  for (const std::string& n : r.notes) env.progress.note(n);

  if (!a.predictions.empty())
    write_atomically(a.predictions, [&](std::ostream& out) { workloads::write_predictions(r, out); });
  Json result;
  result["model"] = a.model;
  result["task"] = r.task;
  result["data"] = {{"source", data.source}, {"hash", data.hash.hex()}};
  result["metrics"] = Json::object();
  for (const workloads::Metric& m : r.metrics) result["metrics"][m.name] = m.value;
  result["samples"] = r.samples;
  result["samples_per_s"] = r.samples_per_s;
  result["features"] = r.features;
  result["tokens"] = r.tokens;
  result["padding_tokens"] = r.padding_tokens;
  result["seconds"] = r.seconds;
  result["engine_seconds"] = r.engine_seconds;
  result["interrupted"] = r.interrupted;
  result["threads"] = options.threads;
  result["isa"] = kernels::to_string(options.isa);
  result["definition"] = r.definition;
  result["notes"] = r.notes;
  a.json.write(result);
  if (!a.json.to_stdout()) {
    std::string text;
    for (const workloads::Metric& m : r.metrics) text += fmt::format("{:<20} {:.4f}\n", m.name, m.value);
    text += fmt::format("{:<20} {}\n{:<20} {:.2f}\n", "samples", r.samples, "samples/s", r.samples_per_s);
    print(text);
  }
}

}  // namespace

void add_eval(CLI::App& parent, const Environment& env) {
  auto a = std::make_shared<Arguments>();
  CLI::App* c = parent.add_subcommand("eval", "measure a model's answers on a data set");
  c->add_option("MODEL", a->model, "ONNX file or checkpoint folder (tokenizer.json beside it, or --tokenizer)")
      ->required();
  c->add_option(
      "--task", a->task,
      "question-answering, text-classification, token-classification or image-classification (default: the model's)");
  c->add_option("--data", a->data,
                "SQuAD JSON, CSV, TSV, JSON lines, CoNLL, or a folder of pictures; rows as in dev.json[:100]")
      ->required();
  c->add_option("--data-format", a->format, "auto, squad, csv, tsv, json, jsonl, conll or images")
      ->capture_default_str();
  c->add_option("--columns", a->columns, "names of a headerless file's columns, comma separated")->delimiter(',');
  c->add_option("--data-keys", a->data_keys, "role=column, e.g. primary=sentence")->delimiter(',');
  c->add_option("--ref-keys", a->ref_keys, "the column of references")->delimiter(',');
  c->add_option("--metrics", a->metrics, "names of metrics (default: the task's)")->delimiter(',');
  c->add_option("--max-samples", a->max_samples, "only the first N rows")->check(CLI::PositiveNumber);
  c->add_option("--max-length", a->max_length, "tokens of one model input")->check(CLI::PositiveNumber);
  c->add_option("--tokenizer", a->tokenizer, "tokenizer.json, when it is not beside the model");
  c->add_option("--preprocess", a->preprocess, "preprocessor_config.json, when it is not beside the model");
  c->add_option("--alignment", a->alignment,
                "question answering: how an answer is cut from the text: offsets, words or bert")
      ->capture_default_str();
  c->add_option(
       "--batch", a->batch,
       "model inputs of one forward pass at most (default: as many as 2,048 tokens hold, 32 at most); counts where "
       "a file scales activations per tensor")
      ->check(CLI::PositiveNumber);
  c->add_flag("--max-context", a->max_context,
              "question answering: a start counts only in the window that gives it most context (MLPerf)");
  c->add_flag("--regression", a->regression, "text classification: the label is a number");
  c->add_option("--predictions", a->predictions, "also write every sample's prediction as JSON");
  a->engine.declare(*c);
  a->json.declare(*c);
  c->footer(
      "Examples:\n  assay eval models/minilm-l6-squad --task question-answering --data examples/data/questions.json\n"
      "  assay eval int8.onnx --tokenizer models/minilm-l6-squad/tokenizer.json --task question-answering --data "
      "dev.json --max-samples 100 --json -");
  c->callback([a, &env] { eval(*a, env); });
}

}  // namespace assay::app
