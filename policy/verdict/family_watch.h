// SPDX-License-Identifier: Apache-2.0
// FamilyWatch: kinds of devices of which many cross a limit at the same time.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "common/ids.h"
#include "common/time.h"
#include "policy/evidence.h"
#include "policy/verdict/fleet.h"

namespace fabricd::policy {

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
