// SPDX-License-Identifier: Apache-2.0
// config …, completion.
#include "cli/completion.h"
#include "cli/context_commands.h"
#include "cli/grammar.h"

namespace fabricd::cli {
namespace {

void AddContextVerbs(Grammar& grammar, CLI::App* config) {
  CLI::App* list = grammar.Add("get-contexts", "List the daemons known by a name", config);
  grammar.OnRun(list, {"table", "name"}, [&grammar] { return ShowContexts(grammar.globals()); });
  CLI::App* current = grammar.Add("current-context", "Show the name in use", config);
  grammar.OnRun(current, kNoForms, [] { return ShowCurrentContext(); });
  auto used = std::make_shared<std::string>();
  CLI::App* use = grammar.Add("use-context", "Talk to this daemon from now on", config);
  use->add_option("name", *used, "a context")->required()->type_name(kContextValue);
  grammar.OnRun(use, kNoForms, [used] { return UseContext(*used); });
  auto gone = std::make_shared<std::string>();
  CLI::App* forget = grammar.Add("delete-context", "Forget a name", config);
  forget->add_option("name", *gone, "a context")->required()->type_name(kContextValue);
  grammar.OnRun(forget, kNoForms, [gone] { return DeleteContext(*gone); });
  auto name = std::make_shared<std::string>();
  CLI::App* set =
      grammar.Add("set-context",
                  "Keep --server, --tls-cert, --tls-key, --tls-ca, --timeout under a name", config);
  set->add_option("name", *name, "new or known")->required()->type_name(kContextValue);
  grammar.OnRun(set, kNoForms, [&grammar, name] { return SetContext(*name, grammar.typed()); });
}

}  // namespace

void AddConfigVerbs(Grammar& grammar) {
  CLI::App* config = grammar.AddGroup("config", "Which daemon is talked to, and how");
  AddContextVerbs(grammar, config);
  auto shell = std::make_shared<std::string>();
  CLI::App* completion =
      grammar.Add("completion", "Print what makes a shell complete commands and live names");
  completion->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  grammar.OnRun(completion, kNoForms, [shell]() -> Result {
    Print(CompletionScript(*shell));
    return {};
  });
}

}  // namespace fabricd::cli
