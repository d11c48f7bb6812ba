// SPDX-License-Identifier: Apache-2.0
// sweep, dump, sm, version, and the faults of a simulated fabric.
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
  const auto [down, told] = add("step-down", "Hand the subnet to the best standby");
  down->add_option("--request-id", told->options.request_id, "makes it safe to repeat")
      ->type_name(kTextValue);
  grammar.OnCall(down, {"table", "json", "yaml"}, [&grammar, told = told](Client& client) {
    told->options.dry_run = told->dry_run == "server";
    return StepDown(client, grammar.globals(), told->options);
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

void AddSimVerbs(Grammar& grammar) {
  CLI::App* sim = grammar.AddGroup("sim", "Pull and plug cables of a simulated fabric");
  const auto add = [&](const char* name, const char* help, const char* what, auto call) {
    auto word = std::make_shared<std::string>();
    CLI::App* command = grammar.Add(name, help, sim);
    command->add_option(what, *word, "NODE[PORT], NODE/PORT or NODE:PORT")
        ->required()
        ->type_name(std::string(what) == "node" ? kNodeValue : kPortValue);
    grammar.OnCall(command, kNoForms, [word, call](Client& client) { return call(client, *word); });
  };
  add("unlink", "Pull the cable at a port", "port", &SimUnlink);
  add("link", "Plug the cable of a port in again", "port", &SimLink);
  add("reboot", "Restart a node", "node", &SimReboot);
  auto ends = std::make_shared<std::vector<std::string>>();
  CLI::App* connect = grammar.Add("connect", "Join two free ports by a new cable", sim);
  connect->add_option("ports", *ends, "NODE[PORT] of both ends")
      ->required()
      ->expected(2)
      ->type_name(kPortValue);
  grammar.OnCall(connect, kNoForms,
                 [ends](Client& client) { return SimConnect(client, (*ends)[0], (*ends)[1]); });
  CLI::App* links = grammar.Add("links", "List all cables", sim);
  grammar.OnCall(links, {"table", "json", "yaml"},
                 [&grammar](Client& client) { return SimLinks(client, grammar.globals()); });
}

}  // namespace fabricd::cli
