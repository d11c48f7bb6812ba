// SPDX-License-Identifier: Apache-2.0
// The verbs about verdicts and congestion: verdicts, congestion, check fabric, and what `get` and
// `describe` show of verdicts.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/verbs/globals.h"
#include "cli/verbs/resource.h"

namespace fabricd::cli {

// For `get verdicts`. kUnavailable where links are not assessed: an empty list would look healthy.
Result FetchVerdicts(Client& client, const GetOptions& options, bool wide,
                     std::unique_ptr<google::protobuf::Message>* answer);
// Prints the listing, then each verdict that changes.
Result WatchVerdicts(Client& client, const Globals& globals, const GetOptions& options);
Result DescribeVerdictOf(Client& client, const Globals& globals, const std::string& port);

struct RemarkOptions {
  std::vector<std::string> ports;
  std::string reason;
  std::optional<Timeout> ttl;  // Of an overrule.
};
Result AckVerdicts(Client& client, const Globals& globals, const RemarkOptions& options);
Result OverruleVerdicts(Client& client, const Globals& globals, const RemarkOptions& options);
Result ReleaseVerdicts(Client& client, const Globals& globals, const RemarkOptions& options);
Result ResetBreaker(Client& client, const std::string& reason);

struct CongestionOptions {
  std::vector<std::string> names;  // Ports, nodes, hosts.
  int victims = 0;                 // Of each root; 0: as many as the daemon gives.
};
Result Congestion(Client& client, const Globals& globals, const CongestionOptions& options);

// As plugins of monitoring programs exit.
struct FabricHealth {
  enum Code { kOk = 0, kWarning = 1, kCritical = 2, kUnknown = 3 } code = kUnknown;
  std::string text;  // One line that sums it up, then some details.
};
// The worst verdict counts. Pure.
FabricHealth EvaluateFabric(const pb::ListVerdictsResponse& verdicts);
// Prints and exits so always, also where nobody answers.
Result CheckFabric(Client& client);

}  // namespace fabricd::cli
