#include "app/command.h"

#include <fmt/ranges.h>
#include <omp.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/file.h"
#include "base/nearest.h"

namespace assay::app {

void EngineArguments::declare(CLI::App& command) {
  command.add_option("--threads", threads, "threads (default: the processors this process may use)")
      ->check(CLI::Range(1, 1024));
  command.add_option(
      "--isa", isa,
      "force an instruction set level: scalar, avx2, avx2_vnni, avx512_vnni, avx512_bf16 (also ASSAY_ISA)");
}

SessionOptions EngineArguments::options(const Environment& env) const {
  SessionOptions o;
  o.threads = threads > 0 ? threads : omp_get_num_procs();
  if (o.threads > omp_get_num_procs()) {
    env.progress.note(fmt::format("{} threads were asked for, this process may use {} processors: {} threads",
                                  o.threads, omp_get_num_procs(), omp_get_num_procs()));
    o.threads = omp_get_num_procs();
  }
  o.isa = kernels::best_isa();
  const std::string& wanted = isa.empty() ? env.forced_isa : isa;
  if (!wanted.empty()) {
    std::vector<std::string> names;
    names.reserve(kernels::kIsaCount);
    for (int i = 0; i < kernels::kIsaCount; ++i) names.emplace_back(kernels::to_string(static_cast<Isa>(i)));
    const auto level = kernels::isa_from_string(wanted);
    require(level.has_value(), ErrorCode::kInvalidArgument, "'{}' is no instruction set level{}", wanted,
            nearest_hint(wanted, names));
    std::vector<std::string_view> here;
    for (Isa i : kernels::supported_isas()) here.push_back(kernels::to_string(i));
    require(kernels::isa_supported(*level), ErrorCode::kUnsupported, "this CPU has no {}; it has {}", wanted,
            fmt::join(here, ", "));
    o.isa = *level;
  }
  return o;
}

void require_other_than_weights(const std::string& out, const LoadedModel& loaded) {
  std::error_code ec;
  for (const auto& file : loaded.data_files)
    for (const std::string& target : {out, out + ".data"})
      require(!std::filesystem::equivalent(target, file, ec), ErrorCode::kInvalidArgument,
              "writing '{}' would overwrite the weights of the model itself; give another name", target);
}

void JsonArgument::declare(CLI::App& command) {
  command.add_option("--json", file, "write the result as JSON to FILE, - for standard output")->type_name("FILE");
}

void JsonArgument::write(const Json& result) const {
  if (file.empty()) return;
  const std::string text = result.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  if (to_stdout())
    print(text);
  else
    write_text(file, text);
}

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace assay::app
