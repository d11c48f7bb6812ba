// SPDX-License-Identifier: Apache-2.0
// Common causes: what verdicts about single links do not see. One finding is made of what many
// links share, and it replaces their own verdicts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <absl/container/flat_hash_set.h>

#include "common/ids.h"
#include "common/time.h"
#include "policy/evidence.h"
#include "policy/verdict/link_brief.h"
#include "policy/verdict/link_verdict.h"
#include "policy/verdict/verdict_book.h"

namespace fabricd::policy {

struct FleetLimits {
  // Of a switch's host links with errors, or without responses: then it is the switch. At least
  // `min_links`.
  double switch_share = 0.25;
  double restart_share = 0.25;   // Of a switch's links that changed at once.
  double blackout_share = 0.25;  // Of all links that are up: stale.
  size_t min_links = 3;
  // And by how many times as often as at all others: else it is not the switch.
  double switch_excess = 5;
  double family_share = 0.02;  // Of a family's ports that crossed one limit within a day. At least
  size_t min_family = 5;       // so many: a small fabric has some bad links of their own.
  double congestion_share = 0.02;  // Of all links: ports that wait for more than they can carry.
  // A common cause that is no longer found is remembered, and nothing is done to its links.
  Duration remembered = std::chrono::minutes(12);
};
std::vector<std::string> Check(const FleetLimits& limits);

enum class CommonCause : uint8_t {
  kBlackout,          // Too much is stale: nothing is known.
  kSwitchRestart,     // One event.
  kSwitch,            // Errors at many of its hosts.
  kUnresponsiveLeaf,  // Many hosts behind it do not respond.
  kHca,               // Errors at all of its ports.
  kPropagation,       // Errors that a link upstream made.
  kFamily,            // Many devices of one kind at once.
  kCongestion,        // Many ports wait for one host, or for links that carry too little.
};
std::string_view CommonCauseName(CommonCause cause);  // "SWITCH_RESTART"

struct CommonFinding {
  CommonCause cause = CommonCause::kBlackout;
  Guid node;            // The switch or HCA.
  LinkKey root;         // Of kPropagation: the link that makes the errors.
                        // Of kCongestion: the link of the host that returns no credits, or none.
  DeviceFamily family;  // Of kFamily.
  size_t affected = 0, of = 0;
  Instant since{};       // Of the finding, without a gap of more than `remembered`.
  bool is_over = false;  // It is not found now, and remembered.
  // The same cause, as of an earlier assessment.
  bool IsSame(const CommonFinding& other) const {
    return cause == other.cause && node == other.node && root == other.root &&
           family == other.family;
  }
};
std::string FindingText(const CommonFinding& finding);

struct FleetReport {
  std::vector<CommonFinding> findings;
  // By link: 1 + the index of the finding that explains it, 0: none does.
  std::vector<uint32_t> explained_by;
  bool is_blackout = false;
};

// Whether an action against the link would be against the wrong thing.
bool ForbidsAction(const FleetReport& report, size_t index);

// What is left of the verdict about the link with that index.
void Apply(const FleetReport& report, size_t index, const LinkBrief& link, LinkVerdict& verdict);

// Common causes over time: each is one finding from when it is first found until it has not been
// found for a while.
class CauseMemory {
 public:
  // Adds what is remembered to the report of `links`. Switches that turned out to have hosts with a
  // defect of their kind are not remembered.
  void Observe(std::span<const LinkBrief> links, const FleetLimits& limits, Instant now,
               FleetReport& report);
  const std::vector<CommonFinding>& standing() const { return standing_; }

 private:
  struct Known {
    CommonFinding finding;
    Instant seen;
    absl::flat_hash_set<LinkKey> links;
  };
  std::vector<Known> known_;
  std::vector<CommonFinding> standing_;  // Those that were found last.
};

}  // namespace fabricd::policy
