// SPDX-License-Identifier: Apache-2.0
// cli/verbs: what each verb does, from the question to what is printed.
//
// fabricctl's verbs. Each asks the daemon and prints to stdout; errors come back as Results.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/verbs/globals.h"
#include "cli/verbs/resource.h"

namespace fabricd::cli {

// `if_isolated`: of what can be held also what isolating it would do to the routes.
Result Describe(Client& client, const Globals& globals, Resource resource,
                const std::vector<std::string>& names, bool if_isolated);

struct TraceOptions {
  std::string source, destination;
  bool all_lids = false;
};
Result Trace(Client& client, const Globals& globals, const TraceOptions& options);

struct RoutesOptions {
  std::string node, destination;
  bool balance = false;
};
Result Routes(Client& client, const Globals& globals, const RoutesOptions& options);

// `keep`: Slurm's file of before, whose hosts stay in the new one; may be empty.
Result Topology(Client& client, const Globals& globals, const std::string& keep);
// The whole fabric, from one view.
Result FetchTopology(Client& client, pb::Topology* topology);
Result Sweep(Client& client, bool heavy, bool wait);
Result Dump(Client& client, const std::string& directory, const std::vector<std::string>& files);
// Until `condition` (fields.h) holds of the GetSm answer, or the timeout ends: kUnavailable.
Result WaitSm(Client& client, const std::string& condition, Timeout timeout);
Result Version(Client& client, const std::string& own_version);

}  // namespace fabricd::cli
