#include <fmt/ranges.h>

#include <filesystem>

#include "app/command.h"
#include "base/file.h"
#include "formats/onnx_write.h"
#include "formats/registry.h"

namespace assay::app {
namespace {

struct Arguments {
  std::string model, out;
  int opset = 17;
  JsonArgument json;
};

void convert(const Arguments& a, const Environment& env) {
  require_file_target(a.out);
  const LoadedModel loaded = load_model(a.model, {.opset = a.opset});
  require_other_than_weights(a.out, loaded);
  for (const std::string& n : loaded.notes) env.progress.note(n);
  write_onnx(loaded.model, a.out);
  const auto bytes = static_cast<int64_t>(std::filesystem::file_size(a.out));
  a.json.write(
      {{"model", a.model}, {"format", loaded.format}, {"out", a.out}, {"bytes", bytes}, {"notes", loaded.notes}});
  if (!a.json.to_stdout()) print(fmt::format("{} ({}) -> {}, {} bytes\n", a.model, loaded.format, a.out, bytes));
}

}  // namespace

void add_convert(CLI::App& parent, const Environment& env) {
  auto a = std::make_shared<Arguments>();
  CLI::App* c = parent.add_subcommand("convert", "write a model as ONNX");
  c->add_option("MODEL", a->model, "ONNX file, or a folder with config.json and safetensors")->required();
  c->add_option("-o,--output", a->out, "the .onnx file to write")->required();
  c->add_option("--opset", a->opset, "opset of the graph made for a checkpoint")
      ->check(CLI::Range(17, 28))
      ->capture_default_str();
  a->json.declare(*c);
  c->footer("Example:\n  assay convert models/minilm-l6-squad -o squad.onnx");
  c->callback([a, &env] { convert(*a, env); });
}

}  // namespace assay::app
