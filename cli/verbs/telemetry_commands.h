// SPDX-License-Identifier: Apache-2.0
// The verbs about counters: errors, top, history, inventory, job, and what `describe port` and
// `describe telemetry` show of them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/verbs/globals.h"
#include "cli/verbs/resource.h"

namespace fabricd::cli {

struct ErrorsOptions {
  std::vector<std::string> names;  // Ports, nodes, hosts, hostlists; empty: all.
  std::vector<std::string> counters;
  std::optional<Timeout> since;
  bool refresh = false;  // Every port is read first.
};
// kFailure, without a message, where there are errors.
Result Errors(Client& client, const Globals& globals, const ErrorsOptions& options);

struct TopOptions {
  std::string kind;            // "ports", "links", "hosts", "switches"
  std::string order = "xmit";  // "xmit", "rcv", "util", "wait", "errors", "ber"
  std::vector<std::string> names;
  uint32_t limit = 20;
  std::optional<Timeout> since;  // Of errors.
  bool watch = false;            // Again and again, on a terminal.
};
Result Top(Client& client, const Globals& globals, const TopOptions& options);

struct HistoryOptions {
  std::string port;
  std::optional<Timeout> since;
  bool is_ascii = false;
};
Result History(Client& client, const Globals& globals, const HistoryOptions& options);

Result Inventory(Client& client, const Globals& globals, const std::vector<std::string>& names);

struct JobOptions {
  std::vector<std::string> hosts;  // Hostlists.
  std::optional<Timeout> since;    // Of errors.
};
Result Job(Client& client, const Globals& globals, const JobOptions& options);

// Of `describe port`, below what the port is.
Result PrintCounters(Client& client, const Globals& globals, const std::string& port);
// As perfquery prints it.
Result PrintPerfquery(Client& client, const std::string& port);
Result DescribeTelemetryOf(Client& client, const Globals& globals);
// For `get telemetry`.
Result FetchTelemetry(Client& client, const GetOptions& options, bool wide,
                      std::unique_ptr<google::protobuf::Message>* answer);

}  // namespace fabricd::cli
