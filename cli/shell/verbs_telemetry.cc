// SPDX-License-Identifier: Apache-2.0
// errors, top, history, inventory, job.
#include "cli/shell/grammar.h"
#include "cli/verbs/telemetry_commands.h"

namespace fabricd::cli {
namespace {

constexpr uint32_t kMostTop = 5000;

void AddErrors(Grammar& grammar) {
  struct Words {
    ErrorsOptions options;
    std::string since;
  };
  auto words = std::make_shared<Words>();
  CLI::App* errors =
      grammar.Add("errors", "Show the ports whose error counters grew; exit 1 when there are some");
  errors->add_option("name", words->options.names, "only these ports, nodes and hosts; hostlists")
      ->type_name(kPortValue);
  errors
      ->add_option("--since", words->since,
                   "how far back: 10m, 1h; at most 24h, and no further than the port's epoch (24h)")
      ->type_name(kDurationValue);
  errors->add_option("--counters", words->options.counters, "only these (symbol_errors,…)")
      ->delimiter(',')
      ->type_name(kTextValue);
  errors->add_flag("--refresh", words->options.refresh, "read every port first");
  grammar.OnCall(errors, {"table", "wide", "json", "yaml", "name", "ibqueryerrors"},
                 [&grammar, words](Client& client) -> Result {
                   Result result = ReadTimeout("--since", words->since, &words->options.since);
                   return result.ok() ? Errors(client, grammar.globals(), words->options) : result;
                 });
}

void AddTop(Grammar& grammar) {
  struct Words {
    TopOptions options;
    std::string since;
  };
  auto words = std::make_shared<Words>();
  TopOptions& options = words->options;
  CLI::App* top = grammar.Add("top", "Show what carries, waits for or counts most");
  top->add_option("resource", options.kind, "ports, links, hosts, switches")
      ->required()
      ->type_name("{ports,links,hosts,switches}");
  top->add_option("name", options.names, "only these ports, nodes and hosts; hostlists")
      ->type_name(kPortValue);
  top->add_option("--sort", options.order, "by what")
      ->check(CLI::IsMember({"xmit", "rcv", "util", "wait", "errors", "ber"}))
      ->capture_default_str();
  top->add_option("-n,--limit", options.limit, "so many")
      ->check(CLI::Range(1u, kMostTop))
      ->type_name("NUMBER")
      ->capture_default_str();
  top->add_option("--since", words->since, "how far back errors count: 10m, 24h (1h)")
      ->type_name(kDurationValue);
  top->add_flag("-w,--watch", options.watch, "on a terminal: again every two seconds");
  grammar.OnCall(top, kDocumentForms, [&grammar, words](Client& client) -> Result {
    Result result = ReadTimeout("--since", words->since, &words->options.since);
    return result.ok() ? Top(client, grammar.globals(), words->options) : result;
  });
}

void AddHistory(Grammar& grammar) {
  struct Words {
    HistoryOptions options;
    std::string since;
  };
  auto words = std::make_shared<Words>();
  CLI::App* history =
      grammar.Add("history", "Plot what a port sent, received and waited for in the last hour");
  history->add_option("port", words->options.port, "NODE/PORT or a port GUID")
      ->required()
      ->type_name(kPortValue);
  history->add_option("--since", words->since, "how far back: 10m, 24h; above 1h in longer steps")
      ->type_name(kDurationValue);
  history->add_flag("--ascii", words->options.is_ascii, "without block characters");
  grammar.OnCall(history, kDocumentForms, [&grammar, words](Client& client) -> Result {
    Result result = ReadTimeout("--since", words->since, &words->options.since);
    return result.ok() ? History(client, grammar.globals(), words->options) : result;
  });
}

void AddJob(Grammar& grammar) {
  struct Words {
    JobOptions options;
    std::string since;
  };
  auto words = std::make_shared<Words>();
  CLI::App* job = grammar.Add(
      "job", "Why is a job slow: of its hosts' ports and paths the worst by each measure");
  job->add_option("host", words->options.hosts, "its hosts, hostlists")
      ->required()
      ->type_name(kHostValue);
  job->add_option("--since", words->since, "how far back errors count: 10m, 24h (1h)")
      ->type_name(kDurationValue);
  grammar.OnCall(job, kDocumentForms, [&grammar, words](Client& client) -> Result {
    Result result = ReadTimeout("--since", words->since, &words->options.since);
    return result.ok() ? Job(client, grammar.globals(), words->options) : result;
  });
}

}  // namespace

void AddTelemetryVerbs(Grammar& grammar) {
  AddTop(grammar);
  AddErrors(grammar);
  AddHistory(grammar);
  auto names = std::make_shared<std::vector<std::string>>();
  CLI::App* inventory =
      grammar.Add("inventory", "Show cables and modules: part, serial, length, temperature, FEC");
  inventory->add_option("name", *names, "only of these ports, nodes and hosts; hostlists")
      ->type_name(kPortValue);
  grammar.OnCall(
      inventory, {"table", "wide", "json", "yaml", "name"},
      [&grammar, names](Client& client) { return Inventory(client, grammar.globals(), *names); });
  AddJob(grammar);
}

}  // namespace fabricd::cli
