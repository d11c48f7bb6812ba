// SPDX-License-Identifier: Apache-2.0
// trace, routes, topology.
#include "cli/shell/grammar.h"
#include "cli/verbs/commands.h"

namespace fabricd::cli {

void AddRoutingVerbs(Grammar& grammar) {
  CLI::App* trace =
      grammar.Add("trace", "Follow the forwarding tables; exit 1 when they do not arrive");
  auto ends = std::make_shared<TraceOptions>();
  trace->add_option("source", ends->source, "node, port, GUID or LID")
      ->required()
      ->type_name(kNodeValue);
  trace->add_option("destination", ends->destination, "node, port, GUID or LID")
      ->required()
      ->type_name(kNodeValue);
  trace->add_flag("--all-lids", ends->all_lids, "the paths of all LIDs of the destination");
  grammar.OnCall(
      trace, {"table", "wide", "json", "yaml", "ibtracert"},
      [&grammar, ends](Client& client) { return Trace(client, grammar.globals(), *ends); });

  CLI::App* routes = grammar.Add("routes", "Show the forwarding table of a switch");
  auto table = std::make_shared<RoutesOptions>();
  routes->add_option("switch", table->node, "name, GUID or LID")
      ->required()
      ->type_name(kSwitchValue);
  routes->add_option("--to", table->destination, "only to this node or port")
      ->type_name(kNodeValue);
  routes->add_flag("--balance", table->balance, "LIDs for each egress port");
  grammar.OnCall(
      routes, {"table", "wide", "json", "yaml", "ibroute"},
      [&grammar, table](Client& client) { return Routes(client, grammar.globals(), *table); });

  CLI::App* topology = grammar.Add("topology",
                                   "Write the whole fabric: -o tree, svg, dot, ibnetdiscover, "
                                   "slurm-conf, slurm-yaml, topograph, k8s-labels, json");
  auto keep = std::make_shared<std::string>();
  topology
      ->add_option("--keep", *keep,
                   "Slurm's file in use: hosts that it has and that are away stay in the new one")
      ->type_name(kFileValue);
  grammar.OnCall(
      topology,
      {"tree", "svg", "dot", "ibnetdiscover", "slurm-conf", "slurm-yaml", "topograph", "k8s-labels",
       "json"},
      [&grammar, keep](Client& client) { return Topology(client, grammar.globals(), *keep); });
}

}  // namespace fabricd::cli
