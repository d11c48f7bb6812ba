// SPDX-License-Identifier: Apache-2.0
// What clients leave with Subnet Administration: services (IBA vol 1 §15.2.5.14), multicast groups
// (§15.2.5.17), subscriptions (§13.4.11) and alias GUIDs (§15.2.5.18). Values; the tables that
// change them are in service_table.h, group_table.h, subscription_table.h and alias_table.h.
//
// ClientState is one durable moment of all of it. Immutable and shared, as SaView is.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "common/gid.h"
#include "common/ids.h"
#include "fabric/alias_guids.h"
#include "mad/transport.h"
#include "mad/wire/sa_state_records.h"

namespace fabricd::sa {

// Bits of MCMemberRecord.JoinState.
inline constexpr uint8_t kJoinFull = 1, kJoinNon = 2, kJoinSendOnly = 4, kJoinSendOnlyFull = 8;
// What keeps a group in being.
inline constexpr uint8_t kJoinKeeps = kJoinFull | kJoinSendOnlyFull;

using WallMs = int64_t;  // Since 1970, UTC.
inline constexpr WallMs kForEver = INT64_MAX;

struct Service {
  wire::ServiceRecord record;  // `lease` as it was asked for.
  WallMs expires = kForEver;
  friend bool operator==(const Service&, const Service&) = default;
};

struct Member {
  Gid gid;
  uint8_t join_state = 0;
  Gid requester;  // Who joined it; another than `gid`: a proxy.
  friend bool operator==(const Member&, const Member&) = default;
};

struct Group {
  wire::McMemberRecord record;  // Without the components of a member; selectors "exactly".
  bool permanent = false;       // Made by the SM itself; it stays without members.
  std::vector<Member> members;  // By GID.
  friend bool operator==(const Group&, const Group&) = default;

  const Member* Find(Gid gid) const;
  bool IsKept() const;  // Permanent, or a member keeps it in being.
};

// Where Reports go.
struct ReportTarget {
  Gid gid;
  uint32_t qpn = 1;
  ServiceLevel sl;
  uint16_t pkey_index = 0;
  std::optional<mad::GlobalRoute> global = std::nullopt;  // As the subscriber's requests have it.
  friend bool operator==(const ReportTarget&, const ReportTarget&) = default;
};

struct Subscription {
  ReportTarget target;
  uint16_t number = 0;    // "Enum" of InformInfoRecord: unique for its subscriber.
  wire::InformInfo info;  // As asked for; `qpn` that of the target.
  bool trusted = false;   // Asked for with the SM_Key.
  friend bool operator==(const Subscription&, const Subscription&) = default;
};

struct ClientState {
  using Services = std::vector<std::shared_ptr<const Service>>;
  using Groups = std::vector<std::shared_ptr<const Group>>;
  using Subscriptions = std::vector<Subscription>;
  // Never null. By (service id, GID, P_Key); by MGID; by (subscriber, number).
  std::shared_ptr<const Services> services = std::make_shared<const Services>();
  std::shared_ptr<const Groups> groups = std::make_shared<const Groups>();
  std::shared_ptr<const Subscriptions> subscriptions = std::make_shared<const Subscriptions>();
  std::shared_ptr<const fabric::AliasGuids> aliases = std::make_shared<const fabric::AliasGuids>();

  const Group* FindGroup(Gid mgid) const;
};

}  // namespace fabricd::sa
