// SPDX-License-Identifier: Apache-2.0
// events, wait.
#include <fmt/format.h>

#include "cli/shell/grammar.h"
#include "cli/verbs/commands.h"
#include "cli/verbs/event_commands.h"
#include "cli/verbs/hold_commands.h"

namespace fabricd::cli {
namespace {

constexpr Timeout kWaitTimeout{60'000};

void AddWait(Grammar& grammar) {
  struct Words {
    std::string resource, condition;
    std::vector<std::string> names;
  };
  auto words = std::make_shared<Words>();
  CLI::App* wait = grammar.Add(
      "wait", "Wait until the sm, hosts or holds are in a state; exit 4 when it does not come");
  wait->add_option("resource", words->resource, "sm, host, hold")
      ->required()
      ->check(CLI::IsMember({"sm", "host", "hosts", "hold", "holds"}));
  wait->add_option("name", words->names, "hosts (hostlists) or ids of holds")
      ->type_name(kHostValue);
  wait->add_option("--for", words->condition,
                   "sm: FIELD, FIELD=VALUE or FIELD>=NUMBER of `get sm -o json`; host: ready, "
                   "condition=FabricReady, held, in-effect, released; hold: in-effect, "
                   "acknowledged, deleted")
      ->required()
      ->type_name(kTextValue);
  grammar.OnCall(wait, kNoForms, [&grammar, words](Client& client) -> Result {
    const Timeout timeout = grammar.globals().timeout.value_or(kWaitTimeout);
    if (words->resource == "sm") return WaitSm(client, words->condition, timeout);
    if (words->names.empty()) return {kUsage, "wait needs a NAME"};
    if (words->resource.rfind("host", 0) == 0)
      return WaitHosts(client, words->names, words->condition, timeout);
    return WaitHolds(client, words->names, words->condition, timeout);
  });
}

}  // namespace

void AddEventVerbs(Grammar& grammar) {
  struct Words {
    EventOptions options;
    std::string since;
  };
  auto words = std::make_shared<Words>();
  EventOptions& options = words->options;
  CLI::App* events = grammar.Add("events", "Show what has happened, oldest first");
  events->add_flag("-w,--watch", options.watch, "go on with what happens");
  events->add_option("--since", words->since, "how far back: 10m, 2h, 7d (else the latest 100)")
      ->type_name(kDurationValue);
  events->add_option("--types", options.types, "only these (LinkDown,RerouteCompleted,…)")
      ->delimiter(',')
      ->type_name(kTextValue);
  events->add_option("--node", options.nodes, "only about these nodes or hosts")
      ->delimiter(',')
      ->type_name(kNodeValue);
  events->add_option("--severity", options.severity, "info, warning, error: this or a higher one")
      ->check(CLI::IsMember({"info", "warning", "error"}))
      ->capture_default_str();
  events->add_option("-n,--last", options.last, "only the latest so many")->type_name("NUMBER");
  grammar.OnCall(events, kDocumentForms, [&grammar, words](Client& client) -> Result {
    Result result = ReadTimeout("--since", words->since, &words->options.since);
    return result.ok() ? Events(client, grammar.globals(), words->options) : result;
  });
  AddWait(grammar);
}

}  // namespace fabricd::cli
