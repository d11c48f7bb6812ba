// SPDX-License-Identifier: Apache-2.0
// StateTest: a SaState of a small tree, whose hosts offer services, join groups and subscribe.
#pragma once

#include <initializer_list>
#include <vector>

#include <gtest/gtest.h>

#include "fabric/snapshot_builder.h"
#include "mad/wire/notice.h"
#include "tests/unit/sa/state_fixture.h"

namespace fabricd::sa {

// Handles 0-3 leaves, 4-5 spines, 6-13 hosts.
inline constexpr size_t kLeaf = 0, kHost = 6, kSecond = 7, kOther = 13;

inline constexpr uint64_t kId = 1, kServiceGid = 2, kServicePKey = 4, kLease = 1u << 4,
                          kKey = 1u << 5;

inline uint64_t Of(std::initializer_list<McComponent> components) {
  uint64_t mask = 0;
  for (const McComponent component : components) mask |= uint64_t{1} << static_cast<int>(component);
  return mask;
}
inline const uint64_t kJoinMask =
    Of({McComponent::kMgid, McComponent::kPortGid, McComponent::kJoinState});
inline const uint64_t kCreateMask =
    kJoinMask | Of({McComponent::kQKey, McComponent::kTrafficClass, McComponent::kPKey,
                    McComponent::kSl, McComponent::kFlowLabel});
inline constexpr Gid kBroadcast{0xFF12401BFFFF0000, 0xFFFFFFFF};
inline constexpr Gid kMgid{0xFF15A01C00000000, 0x1234};

class StateTest : public ::testing::Test {
 protected:
  Lid LidOf(size_t host) const { return shell.made.LidOf(host); }
  Gid GidOf(size_t host) const { return shell.made.GidOf(host); }
  wire::ServiceRecord Service(size_t host, uint64_t id) const {
    wire::ServiceRecord record;
    record.service_id = id;
    record.service_gid = GidOf(host);
    record.p_key = PKey(0xFFFF);
    record.lease = 100;
    return record;
  }
  wire::McMemberRecord Membership(size_t host, Gid mgid, uint8_t join_state = kJoinFull) const {
    wire::McMemberRecord record;
    record.mgid = mgid;
    record.port_gid = GidOf(host);
    record.q_key = 0x1B;
    record.p_key = PKey(0xFFFF);
    record.join_state = join_state;
    return record;
  }
  uint16_t Join(size_t host, Gid mgid, uint8_t join_state = kJoinFull) {
    return shell.Set(Membership(host, mgid, join_state), kCreateMask, LidOf(host)).status();
  }
  uint16_t Leave(size_t host, Gid mgid, uint8_t join_state = kJoinFull) {
    return shell.Delete(Membership(host, mgid, join_state), kJoinMask, LidOf(host)).status();
  }
  std::vector<Guid> MembersOf(Gid mgid) const {
    std::vector<Guid> guids;
    if (const Group* group = shell.clients->FindGroup(mgid))
      for (const Member& member : group->members) guids.push_back(member.gid.guid());
    return guids;
  }
  static wire::InformInfo Subscription(uint16_t trap, bool subscribe = true) {
    wire::InformInfo info;
    info.is_generic = 1;
    info.subscribe = subscribe;
    info.lid_range_begin = Lid(0xFFFF);
    info.type = 0xFFFF;
    info.trap_number = trap;
    info.producer_type = 0xFFFFFF;
    return info;
  }
  uint16_t Subscribe(size_t host, uint16_t trap, bool subscribe = true) {
    return shell.Set(Subscription(trap, subscribe), 0, LidOf(host)).status();
  }
  static std::vector<uint16_t> TrapsOf(const std::vector<mad::OutgoingMad>& reports) {
    std::vector<uint16_t> traps;
    for (const auto& report : reports)
      traps.push_back(wire::Notice::Decode(std::span<const uint8_t>(report.payload)
                                               .subspan(wire::kSaDataAt)
                                               .first<wire::kSmpDataBytes>())
                          .trap);
    return traps;
  }
  // Takes the cable of a host, and with it the host, out of the fabric; or puts all back.
  void Lose(size_t host) {
    fabric::SnapshotBuilder builder(*shell.made.input.snapshot);
    builder.RemoveNode(shell.made.fabric.node[host]);
    shell.made.input.snapshot = builder.Build();
    shell.ShowFabric();
  }

  testing::StateShell shell{testing::Make(fabricd::testing::MakeFatTree(4, 2))};
};

}  // namespace fabricd::sa
