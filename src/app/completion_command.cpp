#include <CLI/CLI.hpp>

#include "app/command.h"
#include "base/nearest.h"

namespace assay::app {
namespace {

/// Options and subcommands come from the command line's own definition, so that completion cannot fall behind it.
std::string words_of(const CLI::App& app) {
  std::string words;
  for (const CLI::App* sub : app.get_subcommands({})) words += sub->get_name() + " ";
  for (const CLI::Option* o : app.get_options()) {
    for (const std::string& l : o->get_lnames()) words += "--" + l + " ";
    for (const std::string& s : o->get_snames()) words += "-" + s + " ";
  }
  return words;
}

std::string bash(const CLI::App& root) {
  std::string cases;
  for (const CLI::App* sub : root.get_subcommands({}))
    cases += fmt::format("    {}) words=\"{}\" ;;\n", sub->get_name(), words_of(*sub));
  return fmt::format(
      "# bash completion of assay: source <(assay completion bash)\n"
      "_assay() {{\n  local words current=${{COMP_WORDS[COMP_CWORD]}}\n  case ${{COMP_WORDS[1]}} in\n{}    *) "
      "words=\"{}\" ;;\n  esac\n"
      "  ((COMP_CWORD == 1)) && words=\"{}\"\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n  [[ $current == -* || $COMP_CWORD == 1 ]] || "
      "COMPREPLY+=($(compgen -f -- \"$current\"))\n}}\n"
      "complete -o filenames -F _assay assay\n",
      cases, words_of(root), words_of(root));
}

std::string zsh(const CLI::App& root) { return "autoload -U +X bashcompinit && bashcompinit\n" + bash(root); }

std::string fish(const CLI::App& root) {
  std::string out = "# fish completion of assay: assay completion fish | source\n";
  for (const CLI::App* sub : root.get_subcommands({})) {
    out += fmt::format("complete -c assay -n __fish_use_subcommand -a {}\n", sub->get_name());
    for (const CLI::Option* o : sub->get_options())
      for (const std::string& l : o->get_lnames())
        out += fmt::format("complete -c assay -n '__fish_seen_subcommand_from {}' -l {}\n", sub->get_name(), l);
  }
  return out;
}

}  // namespace

void add_completion(CLI::App& parent, const Environment&) {
  auto shell = std::make_shared<std::string>("bash");
  CLI::App* c = parent.add_subcommand("completion", "print a shell completion script");
  c->add_option("SHELL", *shell, "bash, zsh or fish")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->capture_default_str();
  c->footer("Example:\n  source <(assay completion bash)");
  c->callback([shell, &parent] {
    print(*shell == "bash" ? bash(parent) : *shell == "zsh" ? zsh(parent) : fish(parent));
  });
}

}  // namespace assay::app
