// SPDX-License-Identifier: Apache-2.0
// plan, analyze, validate.
#include "cli/shell/grammar.h"
#include "cli/verbs/plan_commands.h"

namespace fabricd::cli {
namespace {

void AddPlan(Grammar& grammar) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* plan = grammar.Add(
      "plan", "What would follow if things failed, came or were drained; changes nothing");
  plan->add_option("--fail", options->fail, "nodes, hosts, ports with their cables; hostlists")
      ->type_name(kNodeValue);
  plan->add_option("--fail-random", options->fail_random, "so many cables between switches")
      ->type_name("NUMBER");
  plan->add_option("--seed", options->seed, "of that draw")->type_name("NUMBER");
  plan->add_option("--drain", options->drain, "as `drain` takes them")->type_name(kNodeValue);
  plan->add_option("--add-node", options->add_nodes, "NAME:switch|ca:PORTS")->type_name(kTextValue);
  plan->add_option("--add-link", options->add_links,
                   "NODE/PORT=NODE/PORT; of a NODE alone its first free port")
      ->type_name(kTextValue);
  plan->add_option("--engine", options->engines, "these, in this order, in place of the configured")
      ->delimiter(',')
      ->type_name(kTextValue);
  plan->add_option("--lanes", options->lanes, "that they may use")->type_name("NUMBER");
  grammar.OnCall(plan, {"table", "json", "yaml"}, [&grammar, options](Client& client) {
    return Plan(client, grammar.globals(), *options);
  });
}

}  // namespace

void AddPlanVerbs(Grammar& grammar) {
  AddPlan(grammar);
  auto hosts = std::make_shared<std::vector<std::string>>();
  CLI::App* analyze =
      grammar.Add("analyze", "How a job's communication shares the links, pattern by pattern");
  analyze->add_option("host", *hosts, "its hosts in the order of their ranks, hostlists")
      ->required()
      ->type_name(kHostValue);
  grammar.OnCall(analyze, kDocumentForms, [&grammar, hosts](Client& client) {
    return Analyze(client, grammar.globals(), *hosts);
  });
  auto path = std::make_shared<std::string>();
  CLI::App* validate = grammar.Add(
      "validate", "Compare the cables with a topology file, or with the rule of most hosts");
  validate->add_option("-f,--filename", *path, "as ibnetdiscover prints it; -: standard input")
      ->type_name(kFileValue);
  grammar.OnCall(validate, {"table", "json", "yaml"}, [&grammar, path](Client& client) {
    return ValidateWiring(client, grammar.globals(), *path);
  });
}

}  // namespace fabricd::cli
