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
#include <absl/container/flat_hash_set.h>

#include "common/ids.h"
#include "common/time.h"
#include "policy/evidence.h"
#include "policy/verdict/link_verdict.h"
#include "policy/verdict/verdict_book.h"

namespace fabricd::policy {

// What common causes depend on, of one link: a large fabric has no room for the evidence of all.
struct EndBrief {
  HeldPort port;
  EndRole role = EndRole::kOther;
  DeviceFamily family;
  bool is_fresh = false;
  uint64_t local_errors = 0;   // Within 720 s: made on this link,
  uint64_t marked_errors = 0;  // and on others before (EBP).
  RowMask charged = 0;  // Bits of side a. Strong, and may be a defect of this kind of device.
};
struct LinkBrief {
  EndBrief a, b;
  RowMask raised = 0;
  bool is_up = false, is_with_its_switch = false;
  bool is_frozen = false;  // By FamilyWatch: it may be a defect of its kind of device.
  LinkKey Key() const { return {a.port, b.port}; }
};
LinkBrief BriefOf(const LinkEvidence& link, const LinkVerdict& verdict);

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

// The links of the whole fabric. `standing`: findings of the last assessment; they end where less
// than half of what they began with is left.
FleetReport FindCommonCauses(std::span<const LinkBrief> links, const FleetLimits& limits,
                             std::span<const CommonFinding> standing = {});

// Where ports wait for credits: one finding for each host that returns none, and one for all the
// rest. Explains nothing: links that wait are VICTIM already. Points them at their root.
void AddCongestion(std::span<const CongestionTree> trees, std::span<const LinkBrief> links,
                   const FleetLimits& limits, FleetReport& report);

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

// A port that crossed the limit of a row, as the store keeps it: wall clock.
struct StoredCrossing {
  DeviceFamily family;
  HeldPort port;
  Row row = Row::kSymbolBer;
  Guid peer;
  WallMs at = 0;
  friend auto operator<=>(const StoredCrossing&, const StoredCrossing&) = default;
};

// Which families of devices crossed the limit of one row at many ports within 24 h: a defect of
// firmware, or a limit that does not fit them. Ports that share a peer have that in common, and do
// not suffice. Ports of routers and the like are left out.
class FamilyWatch {
 public:
  static constexpr size_t kMaxPorts = 16'384;  // Of one family.

  void Observe(std::span<const LinkBrief> links, const FleetLimits& limits, Instant now);
  // Of all families. `wall` is `now` on the wall clock.
  std::vector<StoredCrossing> Export(Instant now, WallMs wall) const;
  void Import(const std::vector<StoredCrossing>& stored, Instant now, WallMs wall);
  // No action is taken against devices of it by these rows; bits of side a.
  RowMask FrozenRows(const DeviceFamily& family) const;
  bool IsFrozen(const DeviceFamily& family) const { return FrozenRows(family) != 0; }
  // Whether an end of the link has crossed such a limit within the day: a verdict about it may be
  // about that defect.
  bool Freezes(const LinkBrief& link) const { return Freezes(link.a) || Freezes(link.b); }
  const std::vector<CommonFinding>& findings() const { return findings_; }  // By family.

 private:
  struct Crossings {
    struct Last {
      std::array<Instant, kRows> at;  // By Row - 1; kNever.
      Guid peer;
    };
    absl::flat_hash_map<std::pair<Guid, PortNum>, Last> last;
    size_t ports = 0;  // Of the family.
  };
  bool Freezes(const EndBrief& end) const;
  void Evaluate(const DeviceFamily& family, const Crossings& crossings, const FleetLimits& limits,
                Instant now);
  std::map<DeviceFamily, Crossings> families_;
  std::map<DeviceFamily, RowMask> frozen_;
  std::vector<CommonFinding> findings_;
};

}  // namespace fabricd::policy
