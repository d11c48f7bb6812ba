// SPDX-License-Identifier: Apache-2.0
// How the firmware of one simulated device departs from the specification. Each is a thing that
// devices in the field have done; the default is none. They outlive a reboot, as firmware does.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "common/time.h"
#include "mad/wire/mad_header.h"

namespace fabricd::sim {

// PortInfo fields that a Set leaves as they are although the answer's status is 0.
struct IgnoredPortInfoFields {
  bool subnet_timeout = false;
  bool m_key_lease_period = false;
  bool partition_enforcement = false;  // Both directions.
  bool error_thresholds = false;       // LocalPhyErrors, OverrunErrors
  bool link_speed_enabled = false;     // The extended ones too.
  bool hoq_life = false;
  bool vl_stall_count = false;
  bool operational_vls = false;
  bool neighbor_mtu = false;
  friend bool operator==(const IgnoredPortInfoFields&, const IgnoredPortInfoFields&) = default;
  // Those that ibsim never stores.
  static IgnoredPortInfoFields OfIbsim() {
    return {.subnet_timeout = true,
            .m_key_lease_period = true,
            .partition_enforcement = true,
            .error_thresholds = true,
            .link_speed_enabled = true};
  }
};

struct Quirks {
  // The agent answers the program on its own port only, and sends no trap; data packets pass as
  // ever.
  bool unresponsive = false;
  // Nor does it pass on SMPs by directed route, which some switches do in software.
  bool blocks_directed = false;
  // Each SMP is carried out and answered this much later; may exceed the sender's time-out.
  Duration answer_delay{};
  // Answered with this status instead of being carried out, e.g. wire::kStatusUnsupportedMethod.
  std::map<wire::AttributeId, uint16_t> refused_gets;
  std::map<wire::AttributeId, uint16_t> refused_sets;
  // For so long after a Set its GetResp and all Gets of that block show the registers as they read
  // before it. Other consequences of the Set come at once.
  Duration stale_reads{};
  IgnoredPortInfoFields ignored;
  // Sets of these attributes change nothing; the answer has status 0 and the registers.
  std::set<wire::AttributeId> ignored_sets;
  bool ignores_linear_fdb_top = false;  // Of SwitchInfo alone.
  // A PortInfo Set that is refused for a bad value in one group of fields (the port's identity, its
  // link, its state) takes the other groups all the same.
  bool takes_parts = false;
  // PortInfo hides the extended speeds from a requester that does not set SMSupportExtendedSpeeds.
  bool hides_extended_speeds = false;
  // A Set of PortInfo that changes PortState is answered with the state from before it.
  bool answers_with_old_state = false;
  // Reserved bits of PortInfo and SwitchInfo are others in each answer.
  bool volatile_reserved = false;
  // SwitchPortStateTable shows a change for so long, from when it is first read, as if it had not
  // happened.
  Duration stale_state_table{};
  // All directed-route SMPs that come to the switch, those that it forwards too, pass one queue of
  // this length, and each takes so long; more are dropped. 0: there is none.
  uint32_t vl15_queue = 0;
  Duration vl15_service{};
  // Each n-th Get or Set is answered BUSY and not carried out; 0: none, 1: all.
  uint32_t busy_every = 0;
  friend bool operator==(const Quirks&, const Quirks&) = default;
};

}  // namespace fabricd::sim
