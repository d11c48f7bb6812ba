// SPDX-License-Identifier: Apache-2.0
// get, describe, api-resources, explain.
#include <fmt/format.h>

#include "cli/shell/grammar.h"
#include "cli/verbs/commands.h"
#include "cli/verbs/event_commands.h"
#include "cli/verbs/explain.h"
#include "cli/verbs/listing.h"

namespace fabricd::cli {
namespace {

struct GetWords {
  std::string resource;
  std::vector<std::string> names;
  int chunk_size = kMostOfPage;
  GetOptions options;
};

void AddGetOptions(CLI::App* get, const std::shared_ptr<GetWords>& words) {
  GetOptions& options = words->options;
  get->add_flag("-w,--watch", options.watch, "go on printing what changes");
  get->add_option("-l,--selector", options.labels,
                  "only those with these labels: role=leaf,rail!=3 (--show-labels shows them)")
      ->type_name(kTextValue);
  get->add_option("--field-selector", options.fields,
                  "only those with these fields of `-o json`: peer.node_name=leaf1")
      ->type_name(kTextValue);
  get->add_option("--sort-by", options.sort_by, "a field of `-o json`: .id.node_name")
      ->type_name(kTextValue);
  get->add_option("-L,--label-columns", options.label_columns, "labels as columns: role,rail")
      ->delimiter(',')
      ->type_name(kTextValue);
  get->add_flag("--show-labels", options.show_labels, "all labels in a last column");
  get->add_flag("--ignore-not-found", options.ignore_not_found, "exit 0 where there is none");
  get->add_option("--chunk-size", words->chunk_size, "items that one call asks for")
      ->check(CLI::Range(1, kMostOfPage))
      ->type_name("NUMBER")
      ->capture_default_str();
  get->add_flag("--degraded", options.degraded,
                "ports, links: only those below what both ends support");
  get->add_option("--state", options.states, "ports: only in these states (ACTIVE,INIT,…)")
      ->delimiter(',')
      ->type_name(kTextValue);
  get->add_flag("--damped", options.damped, "links: those that have flapped, with their penalty");
  get->add_option("--owner", options.owner, "holds: only this owner's")->type_name(kTextValue);
  AddVerdictFilters(get, options);
}

Result RunGet(const Grammar& grammar, Client& client, GetWords& words) {
  GetOptions& options = words.options;
  Result result = ReadResource(words.resource, words.names, &options.resource, &options.names);
  if (!result.ok()) return result;
  if (options.resource == Resource::kEvent) {
    EventOptions events;
    events.nodes = options.names;
    events.watch = options.watch;
    return Events(client, grammar.globals(), events);
  }
  if (options.resource != Resource::kLink) options.damped = false;
  if (options.watch && !KindOf(options.resource).watched)
    return {kUsage, fmt::format("{} cannot be watched", words.resource)};
  client.set_page_size(words.chunk_size);
  return options.watch ? Watch(client, grammar.globals(), options)
                       : Get(client, grammar.globals(), options);
}

void AddDescribe(Grammar& grammar) {
  CLI::App* describe = grammar.Add("describe",
                                   "Show all of a node, switch, host, port, link, multicast group, "
                                   "partition, verdict, the sm or telemetry");
  auto words = std::make_shared<GetWords>();
  describe
      ->add_option("resource", words->resource,
                   "node, switch, host, port, link, multicast, partition, verdict, sm, telemetry")
      ->required()
      ->type_name(kResourceValue);
  describe
      ->add_option("name", words->names,
                   "names, GUIDs or LIDs; ports as NODE/PORT; groups by MLID or MGID; "
                   "partitions by P_Key or name")
      ->type_name(kNameValue);
  auto if_isolated = std::make_shared<bool>(false);
  describe->add_flag("--if-isolated", *if_isolated, "also what isolating it would do");
  grammar.OnCall(
      describe, {"table", "json", "yaml", "perfquery"},
      [&grammar, words, if_isolated](Client& client) {
        Resource resource{};
        std::vector<std::string> names;
        const Result result = ReadResource(words->resource, words->names, &resource, &names);
        return result.ok() ? Describe(client, grammar.globals(), resource, names, *if_isolated)
                           : result;
      });
}

}  // namespace

void AddListingVerbs(Grammar& grammar) {
  CLI::App* get = grammar.Add("get", "List nodes, hosts, switches, ports, links, holds, the sm, …");
  auto words = std::make_shared<GetWords>();
  get->add_option("resource", words->resource, "what: fabricctl api-resources lists them")
      ->required()
      ->type_name(kResourceValue);
  get->add_option("name", words->names,
                  "names, GUIDs or LIDs, hostlists; ports as NODE/PORT; holds by id or target; "
                  "records by type, paths with source and destination, all with FIELD=VALUE; "
                  "groups by MLID or MGID")
      ->type_name(kNameValue);
  AddGetOptions(get, words);
  Forms forms = kListingForms;
  forms.push_back("conf");
  grammar.OnCall(get, forms,
                 [&grammar, words](Client& client) { return RunGet(grammar, client, *words); });
  AddDescribe(grammar);
  CLI::App* resources = grammar.Add("api-resources", "List the kinds of things that get lists");
  grammar.OnRun(resources, {"table", "name"},
                [&grammar] { return ShowResources(grammar.globals()); });
  CLI::App* explain = grammar.Add("explain", "Say what the fields of a thing mean");
  auto path = std::make_shared<std::string>();
  explain->add_option("what", *path, "RESOURCE[.FIELD…], for example port.peer")
      ->required()
      ->type_name(kResourceValue);
  grammar.OnRun(explain, kNoForms, [&grammar, path] { return Explain(grammar.globals(), *path); });
}

}  // namespace fabricd::cli
