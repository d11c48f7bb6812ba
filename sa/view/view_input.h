// SPDX-License-Identifier: Apache-2.0
// From what the core publishes to what Subnet Administration answers from. A template, because sa/
// does not know sweep/: `View` is sweep::FabricView. Pure.
#pragma once

#include <optional>

#include "sa/view/view.h"

namespace fabricd::sa {

// nullopt: nothing can be answered from it, for this SM is not the master, or there is no plan yet.
template <typename View>
std::optional<ViewInput> InputOf(const View& view, SmKey trusted, uint64_t gid_prefix) {
  if (!view.sm.Manages() || view.plan == nullptr) return std::nullopt;
  ViewInput input;
  input.snapshot = view.snapshot;
  input.lids = view.lids;
  input.plan = view.plan;
  input.isolated = view.isolated;
  input.tables = view.tables;
  input.multicast = view.multicast;
  input.foreign_mlids = view.foreign_mlids;
  input.sm.sm_key = trusted;
  input.sm.gid_prefix = gid_prefix;
  const auto add = [&](PortRef port, const auto& sm) {
    wire::SmInfo info;  // Without the SM_Key: it is for SMs.
    info.guid = sm.guid;
    info.activity_count = sm.activity_count;
    info.priority = sm.priority;
    info.state = sm.state;
    input.sm.managers.push_back({port, info});
  };
  add(view.sm.port, view.sm);
  for (const auto& remote : view.sm.remote) add(remote.port, remote);
  if (view.partitions == nullptr) return input;
  // What it woke up with; but nobody is let in where somebody is to be kept out.
  if (view.partitions->partitions.AreInUse()) input.unread_key = kDefaultLimitedPKey;
  input.standing_groups.clear();
  for (const auto& group : GroupsOf(view.partitions->partitions)) {
    wire::McMemberRecord record;
    record.mgid = group.mgid;
    record.q_key = group.q_key;
    record.mtu = group.mtu;
    record.rate = group.rate;
    record.p_key = group.p_key;
    record.sl = ServiceLevel(group.sl);
    record.traffic_class = group.traffic_class;
    record.flow_label = group.flow_label;
    record.scope = group.scope;
    input.standing_groups.push_back(record);
  }
  return input;
}

}  // namespace fabricd::sa
