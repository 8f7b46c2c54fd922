#pragma once

#include <CLI/App.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/progress.h"
#include "engine/session.h"
#include "formats/registry.h"

namespace assay::app {

using Json = nlohmann::ordered_json;

/// What every subcommand is given: the process's surroundings, read once in main.
struct Environment {
  Progress& progress;
  std::string command_line;  ///< as typed, for records
  std::string forced_isa;    ///< ASSAY_ISA, or empty
};

/// InvalidArgument when writing a model to `out` would overwrite weights that `loaded` is made of.
void require_other_than_weights(const std::string& out, const LoadedModel& loaded);

/// A subcommand declares its options on `parent` and sets its callback. One file each.
using AddCommand = void (*)(CLI::App& parent, const Environment& env);

void add_run(CLI::App& parent, const Environment& env);
void add_quantize(CLI::App& parent, const Environment& env);
void add_eval(CLI::App& parent, const Environment& env);
void add_bench(CLI::App& parent, const Environment& env);
void add_inspect(CLI::App& parent, const Environment& env);
void add_convert(CLI::App& parent, const Environment& env);
void add_report(CLI::App& parent, const Environment& env);
void add_list(CLI::App& parent, const Environment& env);
void add_completion(CLI::App& parent, const Environment& env);

/// --threads and --isa, shared by all commands that run a model.
struct EngineArguments {
  int threads = 0;  ///< 0: the processors this process may use
  std::string isa;

  void declare(CLI::App& command);
  /// InvalidArgument for an unknown level, Unsupported for one this CPU lacks, naming those it has.
  SessionOptions options(const Environment& env) const;
};

/// --json FILE: where the machine-readable result goes; "-" is standard output, and then nothing else is printed there.
struct JsonArgument {
  std::string file;

  void declare(CLI::App& command);
  bool to_stdout() const { return file == "-"; }
  /// Writes the result when it was asked for.
  void write(const Json& result) const;
};

/// Text for a person, on standard output.
void print(std::string_view text);

}  // namespace assay::app
