// SPDX-License-Identifier: Apache-2.0
#include "sa/state/group_trees.h"

#include <algorithm>
#include <vector>

namespace fabricd::sa {
namespace {

// Of a port that has joined by several GUIDs once.
void AddTreeMember(fabric::MulticastMember member, std::vector<fabric::MulticastMember>& members) {
  const auto place =
      std::lower_bound(members.begin(), members.end(), member.port_guid,
                       [](const auto& before, Guid guid) { return before.port_guid < guid; });
  if (place != members.end() && place->port_guid == member.port_guid)
    place->receives = place->receives || member.receives;
  else
    members.insert(place, member);
}

}  // namespace

fabric::MulticastGroups TreesOf(const ClientState::Groups& groups,
                                const fabric::AliasGuids& aliases) {
  fabric::MulticastGroups trees;
  for (const auto& group : groups) {
    if (group->members.empty()) continue;
    const wire::McMemberRecord& record = group->record;
    fabric::MulticastGroup& tree = trees.groups.emplace_back();
    tree.mlid = record.mlid;
    tree.mtu = record.mtu;
    tree.rate = record.rate;
    tree.sl = record.sl;
    tree.p_key = record.p_key;
    for (const Member& member : group->members) {
      const Guid port = aliases.PortOf(member.gid.guid());
      AddTreeMember(
          {port ? port : member.gid.guid(), (member.join_state & (kJoinFull | kJoinNon)) != 0},
          tree.members);
    }
  }
  std::sort(trees.groups.begin(), trees.groups.end(),
            [](const auto& a, const auto& b) { return a.mlid < b.mlid; });
  return trees;
}

}  // namespace fabricd::sa
