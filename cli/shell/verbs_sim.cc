// SPDX-License-Identifier: Apache-2.0
// sim: faults, counters, traffic and time of a simulated fabric.
#include "cli/shell/grammar.h"
#include "cli/verbs/sim_commands.h"

namespace fabricd::cli {
namespace {

void AddSimCounterVerbs(Grammar& grammar, CLI::App* sim) {
  struct ErrorWords {
    std::string port;
    std::vector<std::string> errors;
  };
  auto set = std::make_shared<ErrorWords>();
  CLI::App* errors = grammar.Add("errors", "Make a port count errors, or clear its counters", sim);
  errors->add_option("port", set->port, "NODE[PORT], NODE/PORT or NODE:PORT")
      ->required()
      ->type_name(kPortValue);
  errors
      ->add_option("errors", set->errors,
                   "COUNTER=N, raw-ber=RATE, effective-ber=RATE, symbol-ber=RATE, "
                   "temperature=CELSIUS, clear")
      ->required()
      ->type_name(kTextValue);
  grammar.OnCall(errors, kNoForms,
                 [set](Client& client) { return SimErrors(client, set->port, set->errors); });

  struct PmaWords {
    std::vector<std::string> words;
    bool all = false;
  };
  auto how = std::make_shared<PmaWords>();
  CLI::App* pma = grammar.Add("pma", "Set how a node answers about its counters", sim);
  pma->add_option("node", how->words, "NODE OPTIONS; with --all only OPTIONS")
      ->required()
      ->expected(1, 2)
      ->type_name(kNodeValue);
  pma->add_flag("--all", how->all, "all nodes");
  grammar.OnCall(pma, kNoForms, [how](Client& client) -> Result {
    if (how->words.size() != (how->all ? 1 : 2)) {
      return {kUsage, "sim pma takes NODE OPTIONS, or --all OPTIONS"};
    }
    return SimPma(client, how->all ? "" : how->words.front(), how->words.back());
  });

  auto rate = std::make_shared<double>(1);
  CLI::App* clock = grammar.Add("clock", "Make time run faster", sim);
  clock->add_option("--rate", *rate, "seconds in a second of real time, 1 to 1000")->required();
  grammar.OnCall(clock, kNoForms, [rate](Client& client) { return SimClock(client, *rate); });
}

void AddSimTrafficVerbs(Grammar& grammar, CLI::App* sim) {
  CLI::App* traffic = sim->add_subcommand("traffic", "Traffic of jobs between hosts");
  traffic->require_subcommand(1);
  traffic->fallthrough();
  auto job = std::make_shared<SimTrafficOptions>();
  CLI::App* start = grammar.Add("start", "Start a job", traffic);
  start->add_option("name", job->name, "of the job")->required()->type_name(kTextValue);
  start->add_option("pattern", job->pattern, "who sends to whom")
      ->required()
      ->type_name("{ring,recursive-doubling,all-to-all,incast}");
  start->add_option("hosts", job->hosts, "hostlists, in the order of the ranks")
      ->required()
      ->type_name(kHostValue);
  start->add_option("--load", job->load, "part of its rate that a port sends at most, to 1")
      ->capture_default_str();
  grammar.OnCall(start, kNoForms, [job](Client& client) { return SimTrafficStart(client, *job); });
  auto name = std::make_shared<std::string>();
  CLI::App* stop = grammar.Add("stop", "End a job", traffic);
  stop->add_option("name", *name, "of the job")->required()->type_name(kTextValue);
  grammar.OnCall(stop, kNoForms, [name](Client& client) { return SimTrafficStop(client, *name); });
  CLI::App* list = grammar.Add("list", "List the jobs", traffic);
  grammar.OnCall(list, {"table", "json", "yaml"},
                 [&grammar](Client& client) { return SimTrafficList(client, grammar.globals()); });
}

}  // namespace

void AddSimVerbs(Grammar& grammar) {
  CLI::App* sim = grammar.AddGroup("sim", "Faults and time of a simulated fabric");
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
  AddSimCounterVerbs(grammar, sim);
  AddSimTrafficVerbs(grammar, sim);
  CLI::App* links = grammar.Add("links", "List all cables", sim);
  grammar.OnCall(links, {"table", "json", "yaml"},
                 [&grammar](Client& client) { return SimLinks(client, grammar.globals()); });
}

}  // namespace fabricd::cli
