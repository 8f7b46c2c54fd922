#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "app/command.h"
#include "app/terminal_progress.h"
#include "base/error.h"
#include "base/nearest.h"

namespace {

volatile std::sig_atomic_t stop_requested = 0;

// The first Ctrl-C asks long work to stop between steps; the second ends the process.
void on_interrupt(int) {
  if (stop_requested != 0) _exit(130);
  stop_requested = 1;
}

/// What is wrong with the arguments: the first word that nobody knows, with the nearest that somebody does.
std::string explain(const CLI::App& cli, const CLI::ParseError& error, const std::vector<std::string>& words) {
  std::vector<std::string> commands;
  for (const CLI::App* c : cli.get_subcommands([](const CLI::App*) { return true; })) commands.push_back(c->get_name());
  const auto chosen = cli.get_subcommands();
  if (chosen.empty()) {
    for (const std::string& word : words)
      if (!word.empty() && word[0] != '-')
        return fmt::format("there is no command '{}'{}", word, assay::nearest_hint(word, commands));
    return error.what();
  }
  std::vector<std::string> options;
  for (const CLI::Option* o : chosen[0]->get_options())
    for (const std::string& name : o->get_lnames()) options.push_back("--" + name);
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    if (name.size() > 2 && name[0] == '-' && name[1] == '-' && name != "--quiet" &&
        std::find(options.begin(), options.end(), name) == options.end())
      return fmt::format("{} has no option {}{}", chosen[0]->get_name(), name, assay::nearest_hint(name, options));
  }
  return fmt::format("{}: {}", chosen[0]->get_name(), error.what());
}

}  // namespace

int main(int argc, char** argv) {
  using namespace assay;
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);

  bool quiet = false;
  for (int i = 1; i < argc; ++i) quiet = quiet || std::string_view(argv[i]) == "--quiet";
  app::TerminalProgress progress(isatty(STDERR_FILENO) != 0, quiet, stop_requested);

  std::string command_line = "assay";
  for (int i = 1; i < argc; ++i) command_line += std::string(" ") + argv[i];
  const char* forced = std::getenv("ASSAY_ISA");
  const app::Environment env{progress, command_line, forced != nullptr ? forced : ""};

  CLI::App cli{
      "assay: quantizes a trained model, proves what that cost in accuracy, and races it on this machine's CPU."};
  cli.set_version_flag("--version", "assay " ASSAY_VERSION);
  cli.add_flag("--quiet", quiet, "no progress on standard error");
  cli.require_subcommand(1);
  cli.fallthrough();
  cli.footer(
      "Exit status: 0 done, 1 finished with failed cells, 2 wrong arguments, 3 bad file, 4 unsupported, 5 not found, 6 "
      "numeric, 7 out of "
      "resources, 8 deadline, 70 internal, 130 interrupted.\nEach command's --help has examples.");
  for (const app::AddCommand add : {app::add_run, app::add_quantize, app::add_eval, app::add_bench, app::add_inspect,
                                    app::add_convert, app::add_report, app::add_list, app::add_completion})
    add(cli, env);
  try {
    cli.parse(argc, argv);
    return stop_requested != 0 ? 130 : 0;
  } catch (const CLI::RuntimeError& e) {
    return e.get_exit_code();
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return cli.exit(e);  // --help, --version
    std::fprintf(stderr, "assay: InvalidArgument: %s (--help shows the forms)\n",
                 explain(cli, e, std::vector<std::string>(argv + 1, argv + argc)).c_str());
    return exit_status(ErrorCode::kInvalidArgument);
  } catch (const Error& e) {
    if (stop_requested != 0) {
      std::fprintf(stderr, "assay: interrupted: %s\n", e.what());
      return 130;
    }
    std::fprintf(stderr, "assay: %s: %s\n", std::string(to_string(e.code())).c_str(), e.what());
    return exit_status(e.code());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "assay: ResourceExhausted: out of memory\n");
    return exit_status(ErrorCode::kResourceExhausted);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "assay: Internal: %s\n", e.what());
    return exit_status(ErrorCode::kInternal);
  }
}
