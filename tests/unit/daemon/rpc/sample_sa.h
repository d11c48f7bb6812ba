// SPDX-License-Identifier: Apache-2.0
// What Subnet Administration of SmallFabric answers from: a service, a group with two members, a
// subscription.
#pragma once

#include <memory>
#include <utility>

#include "sa/view/view_input.h"
#include "tests/unit/daemon/rpc/small_fabric.h"

namespace fabricd::rpc::testing {

inline Gid GidOf(Guid node) { return {0xFE80000000000000, node.value() + 1}; }

inline std::shared_ptr<const sa::ClientState> SampleClients() {
  auto clients = std::make_shared<sa::ClientState>();
  auto service = std::make_shared<sa::Service>();
  service->record.service_id = 0x77;
  service->record.service_gid = GidOf(kNode2);
  service->record.p_key = PKey(0xFFFF);
  service->record.name = {'o', 's', 'm'};
  service->record.key[0] = 1;
  service->expires = 1'700'000'000'000;
  clients->services = std::make_shared<const sa::ClientState::Services>(1, service);
  auto group = std::make_shared<sa::Group>();
  group->record.mgid = {0xFF12401BFFFF0000, 0xFFFFFFFF};
  group->record.mlid = Lid(0xC000);
  group->record.mtu = 4;
  group->record.rate = 3;
  group->permanent = true;
  group->members = {{GidOf(kNode1Rail0), sa::kJoinFull | sa::kJoinSendOnly, GidOf(kNode2)},
                    {GidOf(Guid(0x999)), sa::kJoinNon, GidOf(Guid(0x999))}};
  clients->groups = std::make_shared<const sa::ClientState::Groups>(1, group);
  sa::Subscription subscription;
  subscription.target.gid = GidOf(kNode2);
  subscription.info.trap_number = 66;
  subscription.info.lid_range_begin = Lid(0xFFFF);
  clients->subscriptions = std::make_shared<const sa::ClientState::Subscriptions>(1, subscription);
  return clients;
}

inline daemon::SaReads SampleSa(const sweep::FabricView& view) {
  auto input = sa::InputOf(view, SmKey(1), 0xFE80000000000000);
  return {std::make_shared<const sa::SaView>(*std::move(input)), SampleClients()};
}

}  // namespace fabricd::rpc::testing
