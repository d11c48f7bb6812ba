// SPDX-License-Identifier: Apache-2.0
// TakeoverReport: what this SM would change if it took the subnet over as it is now. A value,
// computed by sweep/takeover from the observed and the desired state. An SM that only reads
// computes one after each sweep; a master computes one if the takeover guard stops it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/ids.h"

namespace fabricd::sweep {

// A change that can cut off or open up what runs: a master makes it only once it is accepted, if
// the fabric was last managed by another SM. Observed at ports that are ACTIVE and have a LID.
enum class TakeoverRisk : uint8_t {
  kSubnetPrefix,       // GidPrefix: GIDs of running connections change.
  kLmc,                // LMC: LIDs of running connections end.
  kMKey,               // M_Key: other management software is locked out, or let in.
  kMKeyProtect,        // M_KeyProtectBits.
  kPKeys,              // P_KeyTable: who can talk to whom.
  kUnresponsivePorts,  // Too many ports that are ACTIVE lead to devices that do not respond.
};
// "SubnetPrefix": a constant name, which programs may use too.
std::string_view TakeoverRiskName(TakeoverRisk risk);

// A risky change that `ports` ports have in common. Without secrets: of M_Keys only whether they
// are 0, and whether they are equal.
struct TakeoverChange {
  TakeoverRisk risk = TakeoverRisk::kSubnetPrefix;
  std::string from, to;
  uint32_t ports = 0;
  // One of these ports, as an example.
  Guid node;
  PortNum port;
};

struct LidChange {
  Guid port_guid;
  Lid from, to;  // 0: none.
};

// Sets of one attribute, and the number of Sets that change each of its fields. Fields of tables
// are not counted.
struct AttributeSets {
  uint32_t sets = 0;
  std::map<std::string, uint32_t> fields;
};

// A port of a switch that is ACTIVE, and whose peer does not respond.
struct UnresponsivePort {
  Guid node;
  PortNum port;
};

struct TakeoverReport {
  static constexpr size_t kMostListed = 1000;  // Of each list; the counts are of all.

  // A digest of `risks` without the counts and the examples: it stays the same while the fabric
  // differs from the configuration by the same changes. Empty: there are none.
  std::string id;
  std::vector<TakeoverChange> risks;
  std::map<std::string, AttributeSets> sets;  // By attribute.
  // Of the LinearForwardingTables.
  uint32_t lft_blocks = 0, lft_switches = 0;
  uint32_t lids_changed = 0;
  std::vector<LidChange> lid_changes;
  // Multicast LIDs that switches forward, and those that no group of this SM's clients has.
  uint32_t mlids_forwarded = 0, mlids_unknown = 0;
  uint32_t active_ports = 0, unresponsive_ports = 0;
  std::vector<UnresponsivePort> unresponsive;
  // Switch ports that enforce partitions by another SM's configuration, and go on doing so.
  uint32_t ports_kept_enforcing = 0;
  // Switches on which another SM has enabled adaptive routing, as far as they were asked.
  std::vector<Guid> adaptive_routing;
  uint32_t virtualized_ports = 0;  // End ports whose GUID tables hold further GUIDs.
  std::vector<Guid> aggregation_nodes;
  std::string no_plan;  // Why `sets` lacks forwarding tables; empty: it does not.
};

using SharedTakeoverReport = std::shared_ptr<const TakeoverReport>;  // Null: none was computed.

}  // namespace fabricd::sweep
