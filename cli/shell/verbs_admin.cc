// SPDX-License-Identifier: Apache-2.0
// sweep, dump, sm, takeover, tech-support, version.
#include "cli/shell/grammar.h"
#include "cli/verbs/commands.h"
#include "cli/verbs/sm_commands.h"
#include "cli/verbs/tech_support.h"

namespace fabricd::cli {
namespace {

void AddSmVerbs(Grammar& grammar) {
  struct SmWords {
    std::string dry_run = "none";
    uint32_t priority = 0;
    SmOptions options;
  };
  CLI::App* sm = grammar.AddGroup("sm", "The daemon's place among the subnet managers");
  const auto add = [&](const char* name, const char* help) {
    auto words = std::make_shared<SmWords>();
    CLI::App* command = grammar.Add(name, help, sm);
    AddDryRun(command, &words->dry_run);
    command->add_option("--reason", words->options.reason, "why; kept in the audit log")
        ->type_name(kTextValue);
    return std::pair(command, words);
  };
  const auto [down, stepping] = add("step-down", "Hand the subnet to the best standby");
  down->add_option("--request-id", stepping->options.request_id, "makes it safe to repeat")
      ->type_name(kTextValue);
  down->add_flag("--for-upgrade", stepping->options.for_upgrade,
                 "only to a fabricd that shares the state (store: etcd) and waits");
  grammar.OnCall(down, {"table", "json", "yaml"}, [&grammar, stepping = stepping](Client& client) {
    stepping->options.dry_run = stepping->dry_run == "server";
    return StepDown(client, grammar.globals(), stepping->options);
  });
  const auto [priority, set] = add("priority", "Give the daemon another priority");
  priority->add_option("priority", set->priority, "0-15; the higher becomes master")
      ->required()
      ->check(CLI::Range(0, 15))
      ->type_name("NUMBER");
  grammar.OnCall(priority, {"table", "json", "yaml"}, [&grammar, set = set](Client& client) {
    set->options.dry_run = set->dry_run == "server";
    return SetPriority(client, grammar.globals(), set->priority, set->options);
  });
}

void AddTakeoverVerbs(Grammar& grammar) {
  CLI::App* takeover =
      grammar.AddGroup("takeover", "Taking over a fabric that another SM has configured");
  CLI::App* plan = grammar.Add("plan", "Show what the daemon would change", takeover);
  grammar.OnCall(plan, {"table", "json", "yaml"},
                 [&grammar](Client& client) { return TakeoverPlan(client, grammar.globals()); });
  struct AcceptWords {
    std::string id, reason;
  };
  auto accepted = std::make_shared<AcceptWords>();
  CLI::App* accept = grammar.Add("accept", "Let the takeover that is held go on", takeover);
  accept->add_option("id", accepted->id, "of the report that was read")
      ->required()
      ->type_name(kTextValue);
  accept->add_option("--reason", accepted->reason, "why; kept in the audit log")
      ->type_name(kTextValue);
  grammar.OnCall(accept, {"table", "json", "yaml"}, [&grammar, accepted](Client& client) {
    return TakeoverAccept(client, grammar.globals(), accepted->id, accepted->reason);
  });
}

}  // namespace

void AddAdminVerbs(Grammar& grammar) {
  struct SweepWords {
    bool heavy = false, wait = false;
  };
  auto swept = std::make_shared<SweepWords>();
  CLI::App* sweep = grammar.Add("sweep", "Start a sweep");
  sweep->add_flag("--heavy", swept->heavy, "read every device again");
  sweep->add_flag("--wait", swept->wait, "until it has ended");
  grammar.OnCall(sweep, kNoForms,
                 [swept](Client& client) { return Sweep(client, swept->heavy, swept->wait); });

  struct DumpWords {
    std::string directory;
    std::vector<std::string> files;
  };
  auto dumped = std::make_shared<DumpWords>();
  CLI::App* dump = grammar.Add("dump", "Write OpenSM's dump files");
  dump->add_option("--dir", dumped->directory, "directory, made if need be")
      ->required()
      ->type_name(kDirectoryValue);
  dump->add_option("file", dumped->files, "only these files")->type_name(kTextValue);
  grammar.OnCall(dump, kNoForms, [dumped](Client& client) {
    return Dump(client, dumped->directory, dumped->files);
  });

  AddSmVerbs(grammar);
  AddTakeoverVerbs(grammar);
  auto archive = std::make_shared<std::string>("fabricctl-tech-support.tar");
  CLI::App* support =
      grammar.Add("tech-support", "Write all that the daemon tells into one archive");
  support->add_option("-f,--filename", *archive, "a tar file")
      ->type_name(kFileValue)
      ->capture_default_str();
  grammar.OnCall(support, kNoForms, [&grammar, archive](Client& client) {
    return TechSupport(client, grammar.globals(), *archive, FABRICD_VERSION);
  });

  CLI::App* version = grammar.Add("version", "Show the versions of fabricctl and fabricd");
  grammar.OnCall(version, kNoForms,
                 [](Client& client) { return Version(client, FABRICD_VERSION); });
}

}  // namespace fabricd::cli
