// SPDX-License-Identifier: Apache-2.0
// The part of the configuration that the core uses. Plain values; each key is documented in
// config/fabricd.example.yaml.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "common/ids.h"
#include "common/sm_mode.h"
#include "common/time.h"
#include "fabric/neighbors.h"
#include "mad/transaction_engine.h"
#include "mad/transport.h"
#include "policy/options.h"
#include "routing/plan/engine.h"

namespace fabricd::sweep {

struct SmOptions {
  SmMode mode = SmMode::kManage;  // Stays the same until a restart.
  uint8_t priority = 0;           // 0-15
  SmKey sm_key{1};
  // Between a standby's polls of the master.
  Duration polling_timeout = std::chrono::milliseconds(500);
  uint32_t polling_retries = 1;  // Unanswered polls in a row; then the master is gone.
  // Several managers share the durable state. Then this SM asks for the right to be master
  // (ClaimMastership), and where it only reads, it watches for a master that does not respond.
  bool shares_state = false;
  // The port of a master that has just not responded to the polls of a reader with this state; 0:
  // none. Discovery asks it once more, quickly, and nobody asks it again before this SM rises.
  Guid unresponsive_master;
  // Its port did not respond on the path of those polls either: a link may be cut there. Then
  // discovery asks it for as long as they did.
  bool doubts_polls = false;
  // The ports of the other managers that share the state, at the start (SharingPorts); nullopt:
  // they are not known yet.
  std::optional<std::vector<Guid>> sharing_ports;
  // The port of the master as last seen before the start; 0: it is not known.
  Guid last_master;
  uint64_t gid_prefix = 0xFE80000000000000;
  MKey m_key;
  uint16_t m_key_lease_period = 0;  // seconds
  uint8_t m_key_protect_bits = 0;
  // By port GUID; a port without an entry has m_key.
  absl::flat_hash_map<Guid, MKey> m_key_by_guid;
  // Of which each port's M_Key is derived (sweep/device/m_keys.h). Bytes; empty: none is derived.
  std::string m_key_secret;
  // Of before, newest first: ports may still have them, or keys that are derived of them.
  std::vector<std::string> former_m_key_secrets;
  std::vector<MKey> former_m_keys;
  // As last seen. So a protected node has its key with the first request.
  fabric::Neighbors neighbors;

  // Another manager is master with the same durable state: this SM shows it, and changes nothing.
  bool FollowsOwner() const { return shares_state && !MayManage(mode); }
};

struct LinkOptions {
  uint8_t max_operational_vls = 5;  // Code: VL0-14.
  uint8_t subnet_timeout = 18;
  uint8_t packet_life_time = 18;  // SwitchInfo.LifeTimeValue
  uint8_t hoq_life = 18;          // Switch port facing a switch.
  uint8_t leaf_hoq_life = 16;     // Switch port facing an end port.
  uint8_t vl_stall_count = 7;
  uint8_t local_phy_errors = 8;
  uint8_t overrun_errors = 8;
};

// How what devices hold is compared with what was written, in idle time
// (sweep/program/read_back.h).
struct AuditOptions {
  bool enabled = true;
  bool repairs = true;   // False: differences are only reported.
  uint32_t rate = 1000;  // Most SMPs of samples in a second.
};

struct SweepOptions {
  Duration light_interval = std::chrono::seconds(10);  // Zero: none.
  Duration heavy_interval{};                           // Zero: none.
  // The subnet counts as up although switches forward by adaptive routing of another manager.
  bool accept_foreign_ar = false;
  bool on_trap = true;  // A trap about a changed link or node is followed up at once.
  // How long reports of changes are collected before their switches are surveyed.
  Duration report_window = std::chrono::milliseconds(5);
  // Time without a response in a survey after which the remaining devices count as late, and what
  // is known is planned for.
  Duration survey_patience = std::chrono::milliseconds(10);
  // How long an incremental repair is kept before the ideal plan is computed. Zero: for ever.
  Duration settle_after = std::chrono::seconds(10);
  // Time without a response after the last NodeInfo of one hop count before the next hop starts
  // anyway. An unresponsive device must not delay the others.
  Duration hop_patience = std::chrono::milliseconds(50);
  // How long a node that does not respond keeps its last known state and its routes while a
  // neighbour's port to it is ACTIVE. Zero: it counts as lost at once.
  Duration unresponsive_grace = std::chrono::seconds(90);
  // It also does after that time, for as long as the link stays ACTIVE.
  bool keep_unresponsive = false;
  // After a sweep that left something undone: the first interval of an exponential backoff, and its
  // cap.
  Duration retry_min = std::chrono::seconds(1);
  Duration retry_max = std::chrono::seconds(60);
};

// When a first sweep as master stops before it writes (sweep/takeover/takeover_guard.h).
struct TakeoverOptions {
  uint8_t unresponsive_percent = 25;  // More unresponsive ports than this are a risk; 100: never.
  std::string accept;                 // The id of a report that is accepted; empty: none.
  // For so long an SM that another one has outvoted may take the subnet back, whatever that one has
  // changed. 0: it may not.
  Duration return_within = std::chrono::hours(1);
};

struct CoreOptions {
  mad::EngineOptions smp;
  SmOptions sm;
  LinkOptions link;
  SweepOptions sweep;
  AuditOptions audit;
  uint8_t lmc = 0;
  bool lmc_enhanced_port0 = false;
  routing::RoutingOptions routing;
  policy::PolicyOptions policy;
  TakeoverOptions takeover;
};

}  // namespace fabricd::sweep
