#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "app/command.h"
#include "app/terminal_progress.h"
#include "base/error.h"

namespace {

volatile std::sig_atomic_t stop_requested = 0;

// The first Ctrl-C asks long work to stop between steps; the second ends the process.
void on_interrupt(int) {
  if (stop_requested != 0) _exit(130);
  stop_requested = 1;
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
    const int code = cli.exit(e);
    return code == 0 ? 0 : exit_status(ErrorCode::kInvalidArgument);
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
