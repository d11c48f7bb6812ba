// SPDX-License-Identifier: Apache-2.0
#include "sa/state/client_state.h"

#include <algorithm>

namespace fabricd::sa {

const Member* Group::Find(Gid gid) const {
  const auto found = std::lower_bound(members.begin(), members.end(), gid,
                                      [](const Member& a, Gid b) { return a.gid < b; });
  return found != members.end() && found->gid == gid ? &*found : nullptr;
}

bool Group::IsKept() const {
  return permanent || std::any_of(members.begin(), members.end(), [](const Member& member) {
           return (member.join_state & kJoinKeeps) != 0;
         });
}

const Group* ClientState::FindGroup(Gid mgid) const {
  const auto found = std::lower_bound(
      groups->begin(), groups->end(), mgid,
      [](const std::shared_ptr<const Group>& a, Gid b) { return a->record.mgid < b; });
  return found != groups->end() && (*found)->record.mgid == mgid ? found->get() : nullptr;
}

}  // namespace fabricd::sa
