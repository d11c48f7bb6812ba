// SPDX-License-Identifier: Apache-2.0
// The part of the configuration that the core uses. Plain values; each key is documented in
// config/fabricd.example.yaml.
#pragma once

#include <cstdint>

#include <absl/container/flat_hash_map.h>

#include "common/ids.h"
#include "common/time.h"
#include "mad/transaction_engine.h"
#include "mad/transport.h"
#include "policy/options.h"
#include "routing/plan/engine.h"

namespace fabricd::sweep {

struct SmOptions {
  uint8_t priority = 0;  // 0-15
  SmKey sm_key{1};
  Duration polling_timeout = std::chrono::seconds(10);  // Between a standby's polls of the master.
  uint32_t polling_retries = 3;  // Unanswered polls in a row; then the master is gone.
  uint64_t gid_prefix = 0xFE80000000000000;
  MKey m_key;
  uint16_t m_key_lease_period = 0;  // seconds
  uint8_t m_key_protect_bits = 0;
  // By port GUID; a port without an entry has m_key.
  absl::flat_hash_map<Guid, MKey> m_key_by_guid;
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

struct SweepOptions {
  Duration light_interval = std::chrono::seconds(10);  // Zero: none.
  Duration heavy_interval{};                           // Zero: none.
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

struct CoreOptions {
  mad::EngineOptions smp;
  SmOptions sm;
  LinkOptions link;
  SweepOptions sweep;
  uint8_t lmc = 0;
  bool lmc_enhanced_port0 = false;
  routing::RoutingOptions routing;
  policy::PolicyOptions policy;
};

}  // namespace fabricd::sweep
