#include <fmt/ranges.h>

#include "app/command.h"
#include "base/nearest.h"
#include "formats/registry.h"
#include "ops/op.h"
#include "runs/run_config.h"

namespace assay::app {
namespace {

struct Arguments {
  std::string what = "all";
  JsonArgument json;
};

const std::vector<std::string> kKinds = {"tasks", "operators", "quantizable", "formats", "isa", "fields"};

Json items(const std::string& kind) {
  Json out = Json::array();
  if (kind == "tasks")
    return {"question-answering", "text-classification", "token-classification", "image-classification"};
  if (kind == "operators") return registered_ops();
  if (kind == "quantizable") {
    return {{"dynamic", quant::known_operators(quant::Approach::kDynamic)},
            {"static", quant::known_operators(quant::Approach::kStatic)}};
  }
  if (kind == "formats")
    for (const Format& f : registered_formats()) out.push_back({{"name", f.name}, {"accepts", f.accepts}});
  if (kind == "isa")
    for (int i = 0; i < kernels::kIsaCount; ++i)
      out.push_back({{"name", kernels::to_string(static_cast<Isa>(i))},
                     {"supported", kernels::isa_supported(static_cast<Isa>(i))}});
  if (kind == "fields")
    for (const auto& [name, help] : runs::run_file_fields()) out.push_back({{"name", name}, {"help", help}});
  return out;
}

std::string line_of(const Json& item) {
  if (item.is_string()) return item.get<std::string>();
  std::string line = item.value("name", "");
  if (item.contains("accepts")) line += ": " + item["accepts"].get<std::string>();
  if (item.contains("help")) line += ": " + item["help"].get<std::string>();
  if (item.contains("supported")) line += item["supported"].get<bool>() ? " (this CPU has it)" : " (not on this CPU)";
  return line;
}

void list(const Arguments& a) {
  Json result;
  for (const std::string& kind : kKinds)
    if (a.what == "all" || a.what == kind) result[kind] = items(kind);
  require(!result.is_null(), ErrorCode::kInvalidArgument, "'{}' cannot be listed{}", a.what,
          nearest_hint(a.what, kKinds));
  a.json.write(result);
  if (a.json.to_stdout()) return;
  std::string text;
  for (const auto& [kind, entries] : result.items()) {
    text += kind + "\n";
    if (entries.is_object())
      for (const auto& [key, names] : entries.items())
        text += fmt::format("  {}: {}\n", key, fmt::join(names.get<std::vector<std::string>>(), ", "));
    else if (kind == "operators")
      text += fmt::format("  {}\n", fmt::join(entries.get<std::vector<std::string>>(), ", "));
    else
      for (const Json& item : entries) text += "  " + line_of(item) + "\n";
  }
  print(text);
}

}  // namespace

void add_list(CLI::App& parent, const Environment&) {
  auto a = std::make_shared<Arguments>();
  CLI::App* c = parent.add_subcommand(
      "list", "what this build knows: tasks, operators, formats, instruction sets, run file fields");
  c->add_option("WHAT", a->what, fmt::format("{}, or all", fmt::join(kKinds, ", ")))->capture_default_str();
  a->json.declare(*c);
  c->footer("Examples:\n  assay list\n  assay list fields\n  assay list operators --json -");
  c->callback([a] { list(*a); });
}

}  // namespace assay::app
