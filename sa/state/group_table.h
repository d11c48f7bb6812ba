// SPDX-License-Identifier: Apache-2.0
// GroupTable: the multicast groups and who is in them (IBA vol 1 §15.2.5.17, §15.4.2; IPoIB's
// groups: RFC 4391 §4-5). Pure: what is to become durable goes out as row changes.
//
// Bounds, beyond which ERR_NO_RESOURCES is answered: as many groups as the switches' multicast
// tables have MLIDs (never more than 16,383), kMostOfPort groups for one port, kMostMembers in all.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <absl/status/status.h>

#include "common/stored_row.h"
#include "sa/state/client_state.h"
#include "sa/view/asker.h"

namespace fabricd::sa {

// A group was created or deleted: traps 66 and 67.
struct GroupChange {
  Gid mgid;
  PKey p_key;
  bool created = false;
};

// Numbers of MCMemberRecord's components.
enum class McComponent : uint8_t {
  kMgid = 0,
  kPortGid = 1,
  kQKey = 2,
  kMlid = 3,
  kMtuSelector = 4,
  kMtu = 5,
  kTrafficClass = 6,
  kPKey = 7,
  kRateSelector = 8,
  kRate = 9,
  kLifeTimeSelector = 10,
  kLifeTime = 11,
  kSl = 12,
  kFlowLabel = 13,
  kHopLimit = 14,
  kScope = 15,
  kJoinState = 16,
  kProxyJoin = 17,
};
constexpr bool Has(uint64_t mask, McComponent component) {
  return (mask >> static_cast<unsigned>(component) & 1) != 0;
}

// Whether a group that has `value` is one that is asked for.
template <typename T>
bool Meets(wire::Selector selector, T wanted, T value) {
  switch (selector) {
    case wire::Selector::kGreater: return value > wanted;
    case wire::Selector::kLess: return value < wanted;
    case wire::Selector::kExactly: return value == wanted;
    case wire::Selector::kLargest: return true;
  }
  return false;
}

class GroupTable {
 public:
  static constexpr size_t kMostOfPort = 4096, kMostMembers = 4'000'000;

  // Rows as the other calls wrote them, groups before members; kDataLoss: no row of ours.
  absl::Status Load(const RowKey& key, const std::string& value);

  // A group of another SM with its members. False: its MGID or MLID is taken, or they are too many.
  // REQUIRES: it is kept, and has a multicast LID and MGID.
  bool Import(const Group& group, RowChanges& rows);

  // Not to be allocated while others are free: switches hold entries of them for other groups.
  void Avoid(const std::vector<Lid>& mlids);

  // These groups stay without members, and only these. A group of clients with such an MGID becomes
  // one; one that no longer is goes with its last member. Records are whole but for their MLIDs.
  void SetPermanent(const std::vector<wire::McMemberRecord>& records, RowChanges& rows,
                    std::vector<GroupChange>& changes);

  // These return a status of the SA and, where that is OK, turn `record` into the answer. `port` is
  // the end port of record.port_gid.
  uint16_t Join(const SaView& view, const Asker& asker, uint64_t mask, wire::McMemberRecord& record,
                RowChanges& rows, std::vector<GroupChange>& changes);
  uint16_t Leave(const SaView& view, const Asker& asker, uint64_t mask,
                 wire::McMemberRecord& record, RowChanges& rows, std::vector<GroupChange>& changes);
  // The port is gone, and with it its memberships.
  void DropPort(Gid port, RowChanges& rows, std::vector<GroupChange>& changes);

  size_t size() const { return groups_.size(); }
  size_t member_count() const { return members_; }
  bool IsMember(Gid port) const { return of_port_.contains(port); }  // Of any group.
  // All ports that are in some group.
  std::vector<Gid> Ports() const;
  // As of now; the same objects while nothing changes.
  std::shared_ptr<const ClientState::Groups> Snapshot();

 private:
  using Groups = std::map<Gid, std::shared_ptr<Group>>;
  struct Joining;  // One request.

  uint16_t Check(const SaView& view, const Asker& asker, uint64_t mask,
                 const wire::McMemberRecord& record, Joining& joining) const;
  uint16_t CheckAgainst(const Group& group, const Joining& joining) const;
  uint16_t Design(const SaView& view, const Joining& joining, wire::McMemberRecord& made) const;
  uint16_t CheckMgid(const wire::McMemberRecord& made) const;
  Gid MakeMgid(const SaView& view, const wire::McMemberRecord& made) const;
  Lid FreeMlid(uint32_t most) const;
  Group& Edit(Groups::iterator group);
  Groups::iterator Insert(wire::McMemberRecord record, bool permanent, RowChanges& rows,
                          std::vector<GroupChange>& changes);
  void PutMember(Group& group, const Member& member);
  void EraseMember(Groups::iterator group, Gid gid, RowChanges& rows);
  void EraseIfLeft(Groups::iterator group, RowChanges& rows, std::vector<GroupChange>& changes);

  Groups groups_;
  std::vector<bool> mlids_;               // [MLID - kFirstMulticastLid]: taken.
  std::vector<bool> avoided_;             // The same.
  std::map<Gid, std::set<Gid>> of_port_;  // Port → MGIDs.
  size_t members_ = 0;
  std::shared_ptr<const ClientState::Groups> snapshot_;  // Null: to be made anew.
};

}  // namespace fabricd::sa
