// SPDX-License-Identifier: Apache-2.0
// Common causes: what verdicts about single links do not see. One finding is made of what many
// links share, and it replaces their own verdicts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "common/ids.h"
#include "common/time.h"
#include "policy/evidence.h"
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
  double family_share = 0.02;  // Of a family's ports that crossed a limit within a day.
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
};
std::string_view CommonCauseName(CommonCause cause);  // "SWITCH_RESTART"

struct CommonFinding {
  CommonCause cause = CommonCause::kBlackout;
  Guid node;            // The switch or HCA.
  LinkKey root;         // Of kPropagation: the link that makes the errors.
  DeviceFamily family;  // Of kFamily.
  size_t affected = 0, of = 0;
};
std::string FindingText(const CommonFinding& finding);

// A link and the verdict about it, from the same evidence.
struct LinkAssessment {
  const LinkEvidence* evidence = nullptr;
  const LinkVerdict* verdict = nullptr;
};

struct FleetReport {
  std::vector<CommonFinding> findings;
  // By link: 1 + the index of the finding that explains it, 0: none does.
  std::vector<uint32_t> explained_by;
  bool is_blackout = false;
};

// The links of the whole fabric.
FleetReport FindCommonCauses(std::span<const LinkAssessment> links, const FleetLimits& limits);

// Whether an action against the link would be against the wrong thing.
bool ForbidsAction(const FleetReport& report, size_t index);

// What is left of the verdict about the link with that index.
void Apply(const FleetReport& report, size_t index, const LinkEvidence& link, LinkVerdict& verdict);

// A port that crossed a limit, as the store keeps it: wall clock.
struct StoredCrossing {
  DeviceFamily family;
  HeldPort port;
  Guid peer;
  WallMs at = 0;
  friend auto operator<=>(const StoredCrossing&, const StoredCrossing&) = default;
};

// Which families of devices crossed limits at many ports within 24 h: a defect of firmware, or a
// limit that does not fit them. Ports that share a peer have that in common, and do not suffice.
// Ports of routers and the like are left out.
class FamilyWatch {
 public:
  static constexpr size_t kMaxPorts = 16'384;  // Of one family.

  void Observe(std::span<const LinkAssessment> links, const FleetLimits& limits, Instant now);
  // Of all families. `wall` is `now` on the wall clock.
  std::vector<StoredCrossing> Export(Instant now, WallMs wall) const;
  void Import(const std::vector<StoredCrossing>& stored, Instant now, WallMs wall);
  // No action is taken against devices of it.
  bool IsFrozen(const DeviceFamily& family) const;
  const std::vector<CommonFinding>& findings() const { return findings_; }  // By family.

 private:
  struct Crossings {
    // By port: the last one, and the node at the other end of the link.
    absl::flat_hash_map<std::pair<Guid, PortNum>, std::pair<Instant, Guid>> last;
    size_t ports = 0;  // Of the family.
  };
  std::map<DeviceFamily, Crossings> families_;
  std::vector<CommonFinding> findings_;
};

}  // namespace fabricd::policy
