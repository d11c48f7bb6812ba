// SPDX-License-Identifier: Apache-2.0
// config …, audit, auth …, completion.
#include "cli/shell/completion.h"
#include "cli/shell/grammar.h"
#include "cli/verbs/config_commands.h"
#include "cli/verbs/context_commands.h"

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

void AddDaemonVerbs(Grammar& grammar, CLI::App* config) {
  CLI::App* view = grammar.Add("view", "Show the daemon's configuration, without secrets", config);
  grammar.OnCall(view, {"yaml", "table", "wide", "json"},
                 [&grammar](Client& client) { return ViewConfig(client, grammar.globals()); });
  const auto add_file = [&](const char* verb, const char* help, auto call) {
    auto path = std::make_shared<std::string>();
    CLI::App* command = grammar.Add(verb, help, config);
    command->add_option("file", *path, "a fabricd.yaml; -: standard input")
        ->required()
        ->type_name(kFileValue);
    grammar.OnCall(command, {"table", "json", "yaml"}, [&grammar, path, call](Client& client) {
      return call(client, grammar.globals(), *path);
    });
  };
  add_file("validate", "Judge a configuration; exit 2 with each of its faults", &ValidateConfig);
  add_file("diff", "Show what a configuration would change; exit 1 when it would", &DiffConfig);
  struct ReloadWords {
    std::string dry_run = "none", reason;
  };
  auto words = std::make_shared<ReloadWords>();
  CLI::App* reload = grammar.Add("reload", "Let the daemon read its file again", config);
  AddDryRun(reload, &words->dry_run);
  reload->add_option("--reason", words->reason, "why; kept in the audit log")
      ->type_name(kTextValue);
  grammar.OnCall(reload, {"table", "json", "yaml"}, [&grammar, words](Client& client) {
    return ReloadConfig(client, grammar.globals(), words->dry_run == "server", words->reason);
  });
  auto import = std::make_shared<ImportOptions>();
  CLI::App* opensm =
      grammar.Add("import-opensm",
                  "Turn OpenSM's configuration into one of fabricd, told line by line", config);
  opensm->add_option("file", import->path, "an opensm.conf; -: standard input")
      ->required()
      ->type_name(kFileValue);
  opensm->add_option("beside", import->files, "partitions.conf, guid2lid, root_guids")
      ->type_name(kFileValue);
  opensm
      ->add_option("--directory", import->directory,
                   "where those are on the daemon's machine (/etc/opensm)")
      ->type_name(kTextValue);
  grammar.OnCall(opensm, {"yaml", "table", "json"}, [&grammar, import](Client& client) {
    return ImportOpensm(client, grammar.globals(), *import);
  });
}

void AddAuditVerbs(Grammar& grammar) {
  struct AuditWords {
    AuditOptions options;
    std::string since;
  };
  auto words = std::make_shared<AuditWords>();
  CLI::App* audit = grammar.Add("audit", "Show who changed what, and what was refused");
  audit->add_option("--since", words->since, "how far back: 10m, 2h, 7d (else the latest 500)")
      ->type_name(kDurationValue);
  audit->add_option("--caller", words->options.caller, "only this caller's: user:alice")
      ->type_name(kTextValue);
  audit->add_option("--method", words->options.method, "only calls of this: CreateHold")
      ->type_name(kTextValue);
  audit->add_option("-n,--last", words->options.last, "only the latest so many")
      ->type_name("NUMBER");
  grammar.OnCall(audit, kDocumentForms, [&grammar, words](Client& client) {
    Result result = ReadTimeout("--since", words->since, &words->options.since);
    return result.ok() ? ShowAudit(client, grammar.globals(), words->options) : result;
  });
  CLI::App* group = grammar.AddGroup("auth", "Who one is to the daemon");
  CLI::App* whoami = grammar.Add("whoami", "Show who fabricd takes you for, and your role", group);
  grammar.OnCall(whoami, {"table", "json", "yaml"},
                 [&grammar](Client& client) { return ShowCaller(client, grammar.globals()); });
}

}  // namespace

void AddConfigVerbs(Grammar& grammar) {
  CLI::App* config =
      grammar.AddGroup("config", "The daemon's configuration, and which daemon is talked to");
  AddContextVerbs(grammar, config);
  AddDaemonVerbs(grammar, config);
  AddAuditVerbs(grammar);
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
