// SPDX-License-Identifier: Apache-2.0
// Holds: cordon, drain, isolate, disable, their inverses, and what schedulers ask.
#include "cli/shell/grammar.h"
#include "cli/verbs/check_command.h"
#include "cli/verbs/hold_commands.h"
#include "cli/verbs/listing.h"
#include "cli/verbs/verdict_commands.h"

namespace fabricd::cli {
namespace {

CLI::App* AddWords(CLI::App* command, std::vector<std::string>& words) {
  command
      ->add_option("target", words,
                   "[host|hca|switch|port|link] NAME…; hostlists such as node[01-16]")
      ->required()
      ->type_name(kTargetValue);
  return command;
}

struct MakingWords {
  HoldOptions options;
  std::string ttl, mode = "hard", dry_run = "none";
};

// What every verb has that makes a hold.
void AddMakingOptions(CLI::App* make, MakingWords& words) {
  HoldOptions& options = words.options;
  make->add_option("--reason", options.reason, "why; shown wherever the hold is")
      ->required()
      ->type_name(kTextValue);
  make->add_option("--owner", options.owner, "in whose name; else your own")->type_name(kTextValue);
  make->add_flag("--force", options.force, "let it pass the guards");
  AddDryRun(make, &words.dry_run);
}

void AddMaking(Grammar& grammar, const HoldVerb& verb) {
  auto words = std::make_shared<MakingWords>();
  HoldOptions& options = words->options;
  CLI::App* make = AddWords(grammar.Add(verb.verb, verb.help), options.words);
  AddMakingOptions(make, *words);
  make->add_option("--for", words->ttl, "it ends by itself after this long: 30m, 2h, 7d")
      ->type_name(kDurationValue);
  make->add_option("--request-id", options.request_id, "makes a repeated command safe")
      ->type_name(kTextValue);
  make->add_flag("--wait", options.wait, "until it is in effect; exit 4 at --timeout");
  if (verb.kind == pb::HOLD_KIND_DRAIN) {
    make->add_option("--mode", words->mode,
                     "hard: no route uses it; soft: only where nothing is left")
        ->check(CLI::IsMember({"hard", "soft"}))
        ->capture_default_str();
  }
  grammar.OnCall(make, kChangeForms, [&grammar, &verb, words](Client& client) -> Result {
    HoldOptions& made = words->options;
    if (Result result = ReadTimeout("--for", words->ttl, &made.ttl); !result.ok()) return result;
    made.soft = words->mode == "soft";
    made.dry_run = words->dry_run == "server";
    return MakeHolds(client, grammar.globals(), verb, made);
  });
}

void AddLifting(Grammar& grammar, const HoldVerb& verb) {
  auto options = std::make_shared<UnholdOptions>();
  CLI::App* lift = AddWords(grammar.Add(verb.inverse, verb.inverse_help), options->words);
  lift->add_option("--owner", options->owner, "this owner's instead of your own")
      ->type_name(kTextValue);
  lift->add_flag("--all-owners", options->all_owners, "whoever's they are");
  lift->add_flag("--ignore-not-found", options->ignore_not_found, "exit 0 where there is none");
  lift->add_flag("--wait", options->wait, "until routes and ports have followed");
  grammar.OnCall(lift, kChangeForms, [&grammar, &verb, options](Client& client) {
    return LiftHolds(client, grammar.globals(), verb, *options);
  });
}

void AddReset(Grammar& grammar) {
  auto words = std::make_shared<MakingWords>();
  CLI::App* reset = AddWords(
      grammar.Add("reset", "Take a port or link down and let it up again, and wait for it"),
      words->options.words);
  AddMakingOptions(reset, *words);
  grammar.OnCall(reset, kChangeForms, [&grammar, words](Client& client) {
    words->options.dry_run = words->dry_run == "server";
    return ResetPorts(client, grammar.globals(), words->options);
  });
}

void AddClear(Grammar& grammar) {
  struct Words {
    ClearOptions options;
    std::string dry_run = "none";
  };
  auto words = std::make_shared<Words>();
  CLI::App* group = grammar.AddGroup("clear", "Forget what only time would end");
  CLI::App* damping = grammar.Add(
      "damping", "Forget that links have flapped: routes may use them again at once", group);
  damping->add_option("port", words->options.ports, "either end; hostlists")
      ->required()
      ->type_name(kPortValue);
  damping->add_option("--reason", words->options.reason, "why; for the audit log")
      ->required()
      ->type_name(kTextValue);
  AddDryRun(damping, &words->dry_run);
  grammar.OnCall(damping, kChangeForms, [&grammar, words](Client& client) {
    words->options.dry_run = words->dry_run == "server";
    return ClearDamping(client, grammar.globals(), words->options);
  });
}

void AddCheck(Grammar& grammar) {
  struct Words {
    CheckOptions options;
    std::string exit_code = "fabricctl";
  };
  auto words = std::make_shared<Words>();
  CLI::App* group = grammar.AddGroup("check", "One line and an exit code for health checks");
  CLI::App* check = grammar.Add("node", "Whether jobs can use a host; exit 1 when not", group);
  check->add_option("host", words->options.host, "the host")->required()->type_name(kHostValue);
  check
      ->add_option("--exit-code", words->exit_code,
                   "npd: 0 well, 1 not well, 2 unknown, as node-problem-detector wants them")
      ->check(CLI::IsMember({"fabricctl", "npd"}))
      ->capture_default_str();
  check->add_flag("--allow-degraded", words->options.allow_degraded,
                  "well, too, is what can be used although something is wrong with it");
  grammar.OnCall(check, kNoForms, [words](Client& client) {
    words->options.problem_detector = words->exit_code == "npd";
    return Check(client, words->options);
  });
  CLI::App* fabric =
      grammar.Add("fabric",
                  "The worst verdict about a link: exit 0 none, 1 SUSPECT or VICTIM, "
                  "2 a bad one, 3 nothing is known",
                  group);
  grammar.OnCall(fabric, kNoForms, CheckFabric);
}

}  // namespace

void AddHoldVerbs(Grammar& grammar) {
  for (const HoldVerb& verb : HoldVerbs()) {
    AddMaking(grammar, verb);
    AddLifting(grammar, verb);
  }
  AddReset(grammar);
  AddClear(grammar);
  CLI::App* holds = grammar.Add("holds", "List holds, as `get holds`");
  auto listed = std::make_shared<GetOptions>();
  listed->resource = Resource::kHold;
  holds->add_option("name", listed->names, "ids or targets")->type_name(kHoldValue);
  holds->add_option("--owner", listed->owner, "only this owner's")->type_name(kTextValue);
  holds->add_flag("-w,--watch", listed->watch, "go on printing what changes");
  grammar.OnCall(holds, kListingForms, [&grammar, listed](Client& client) {
    return listed->watch ? Watch(client, grammar.globals(), *listed)
                         : Get(client, grammar.globals(), *listed);
  });
  auto names = std::make_shared<std::vector<std::string>>();
  CLI::App* ack = grammar.Add("ack", "Say that jobs are off what holds are to take away");
  ack->add_option("id", *names, "ids of holds")->required()->type_name(kHoldValue);
  grammar.OnCall(ack, kChangeForms, [&grammar, names](Client& client) {
    return Acknowledge(client, grammar.globals(), *names);
  });
  CLI::App* readiness =
      grammar.Add("readiness", "Show whether hosts can take jobs; exit 1 unless all are READY");
  readiness->add_option("host", *names, "hosts, hostlists; none: all")->type_name(kHostValue);
  auto allow_unseen = std::make_shared<bool>(false);
  readiness->add_flag("--allow-unseen", *allow_unseen,
                      "do not count hosts that were never seen on the fabric");
  grammar.OnCall(readiness, {"table", "wide", "json", "yaml", "name"},
                 [&grammar, names, allow_unseen](Client& client) {
                   return ShowReadiness(client, grammar.globals(), *names, *allow_unseen);
                 });
  AddCheck(grammar);
}

}  // namespace fabricd::cli
