// SPDX-License-Identifier: Apache-2.0
// fabricctl's verbs that ask what would be: plan, analyze, validate.
#pragma once

#include <string>
#include <vector>

#include "cli/verbs/globals.h"
#include "fabric/v1/plan_service.pb.h"

namespace fabricd::cli {

struct PlanOptions {
  std::vector<std::string> fail, drain;  // Hostlists.
  std::vector<std::string> add_nodes;    // NAME:switch|ca:PORTS
  std::vector<std::string> add_links;    // END=END
  std::vector<std::string> engines;
  uint32_t fail_random = 0, seed = 0, lanes = 0;
};
// kFailure: end ports would lose their routes to most others, or no routes are found.
Result Plan(Client& client, const Globals& globals, const PlanOptions& options);
// How the communication of a job on these hosts fares.
Result Analyze(Client& client, const Globals& globals, const std::vector<std::string>& hosts);
// Compares the cables with a topology file; an empty `path`: with the rule that most hosts follow.
// kFailure: something is not as expected.
Result ValidateWiring(Client& client, const Globals& globals, const std::string& path);

// Pure.
std::string PreviewText(const pb::PreviewChangeResponse& preview);
Table LoadTable(const pb::AnalyzeJobResponse& job, bool wide);
Table FindingTable(const pb::ValidateWiringResponse& wiring);

}  // namespace fabricd::cli
