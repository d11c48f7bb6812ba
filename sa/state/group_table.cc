// SPDX-License-Identifier: Apache-2.0
#include "sa/state/group_table.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "common/p_key.h"
#include "common/status.h"
#include "fabric/multicast_groups.h"
#include "fabric/rate.h"
#include "sa/state/group_rows.h"
#include "sa/wire/row_codec.h"

namespace fabricd::sa {
namespace {

using wire::McMemberRecord;
using wire::Selector;

constexpr uint32_t kMostMlids =
    fabric::kLastMulticastLid.value() - fabric::kFirstMulticastLid.value() + 1;
constexpr uint8_t kLinkLocal = 2;
// MGID bits 111-96 … of IPoIB (RFC 4391 §4) and of those that the SA makes itself.
constexpr uint16_t kIpv4Signature = 0x401B, kIpv6Signature = 0x601B, kOwnSignature = 0xA01B;

uint16_t SignatureOf(Gid mgid) { return static_cast<uint16_t>(mgid.prefix >> 32); }
PKey PKeyIn(Gid mgid) { return PKey(static_cast<uint16_t>(mgid.prefix >> 16)); }
uint8_t ScopeOf(Gid mgid) { return mgid.prefix >> 48 & 0xF; }
bool IsIpoib(Gid mgid) {
  return SignatureOf(mgid) == kIpv4Signature || SignatureOf(mgid) == kIpv6Signature;
}
Gid BroadcastOf(Gid mgid) {
  const uint64_t prefix = (mgid.prefix & 0xFFFF0000FFFF0000) | uint64_t{kIpv4Signature} << 32;
  return {prefix, 0x00000000FFFFFFFF};
}

// What a new group gets of something of which `most` is possible; 0: that cannot be.
uint8_t Choose(Selector selector, uint8_t wanted, uint8_t most) {
  switch (selector) {
    case Selector::kGreater: return most > wanted ? most : 0;
    case Selector::kLess: return wanted > 1 ? std::min<uint8_t>(most, wanted - 1) : 0;
    case Selector::kExactly: return most >= wanted ? wanted : 0;
    case Selector::kLargest: return most;
  }
  return 0;
}

uint8_t ChooseLifeTime(Selector selector, uint8_t wanted, uint8_t usual) {
  switch (selector) {
    case Selector::kGreater: return std::max<uint8_t>(usual, std::min(wanted + 1, 63));
    case Selector::kLess: return wanted > 0 ? std::min<uint8_t>(usual, wanted - 1) : 0;
    case Selector::kExactly: return wanted;
    case Selector::kLargest: return usual;
  }
  return usual;
}

uint32_t MlidsOf(const SaView& view) {
  uint32_t most = kMostMlids;
  view.snapshot().ForEachNode([&](const fabric::Node& node) {
    if (node.switch_info && node.switch_info->multicast_fdb_cap != 0)
      most = std::min<uint32_t>(most, node.switch_info->multicast_fdb_cap);
  });
  return most;
}

}  // namespace

struct GroupTable::Joining {
  uint64_t mask = 0;
  McMemberRecord wanted;
  const EndPort* port = nullptr;  // That is to be the member.
  Gid requester;
  bool trusted = false;
  const PKeySets* p_keys = nullptr;

  bool Has(McComponent component) const { return sa::Has(mask, component); }
  bool HasBoth(McComponent selector, McComponent value) const {
    return Has(selector) && Has(value);
  }
};

// ---- rows

absl::Status GroupTable::Load(const RowKey& key, const std::string& value) {
  const auto fault = [&] {
    return MakeStatus(absl::StatusCode::kDataLoss, "{} {}: no row of fabricd's", key.table,
                      key.key);
  };
  Gid mgid;
  if (!ParseGid(key.key, 0, mgid)) return fault();
  if (key.table == kGroupTable) {
    if (value.size() != kGroupRowBytes) return fault();
    auto group = std::make_shared<Group>();
    group->record = RecordOf<McMemberRecord>(value);
    group->permanent = value.back() != 0;
    const uint32_t mlid = group->record.mlid.value();
    if (group->record.mgid != mgid || mlid < fabric::kFirstMulticastLid.value() ||
        mlid > fabric::kLastMulticastLid.value())
      return fault();
    const size_t number = mlid - fabric::kFirstMulticastLid.value();
    if (mlids_.size() <= number) mlids_.resize(number + 1);
    if (mlids_[number]) return fault();
    mlids_[number] = true;
    groups_[mgid] = std::move(group);
    return absl::OkStatus();
  }
  Member member;
  const auto found = groups_.find(mgid);
  if (found == groups_.end() || value.size() != kMemberRowBytes ||
      !ParseGid(key.key, 33, member.gid))
    return fault();
  member.join_state = static_cast<uint8_t>(value[0]);
  member.requester = {NumberAt(value, 1), NumberAt(value, 9)};
  PutMember(*found->second, member);
  return absl::OkStatus();
}

std::shared_ptr<const ClientState::Groups> GroupTable::Snapshot() {
  if (snapshot_ != nullptr) return snapshot_;
  auto made = std::make_shared<ClientState::Groups>();
  made->reserve(groups_.size());
  for (const auto& [mgid, group] : groups_) made->push_back(group);
  snapshot_ = std::move(made);
  return snapshot_;
}

std::vector<Gid> GroupTable::Ports() const {
  std::vector<Gid> ports;
  for (const auto& [gid, groups] : of_port_) ports.push_back(gid);
  std::sort(ports.begin(), ports.end());
  return ports;
}

// ---- changes of the table

// Who has a snapshot keeps the group as it was.
Group& GroupTable::Edit(Groups::iterator group) {
  snapshot_ = nullptr;
  if (group->second.use_count() > 1) group->second = std::make_shared<Group>(*group->second);
  return *group->second;
}

void GroupTable::Avoid(const std::vector<Lid>& mlids) {
  avoided_.clear();
  for (const Lid mlid : mlids) {
    const size_t number = mlid.value() - fabric::kFirstMulticastLid.value();
    if (avoided_.size() <= number) avoided_.resize(number + 1);
    avoided_[number] = true;
  }
}

Lid GroupTable::FreeMlid(uint32_t most) const {
  const auto at = [](const std::vector<bool>& mlids, uint32_t number) {
    return number < mlids.size() && mlids[number];
  };
  std::optional<uint32_t> second;
  for (uint32_t number = 0; number < most; ++number) {
    if (at(mlids_, number)) continue;
    if (!at(avoided_, number))
      return Lid(static_cast<uint16_t>(fabric::kFirstMulticastLid.value() + number));
    second = second.value_or(number);
  }
  if (!second) return {};
  return Lid(static_cast<uint16_t>(fabric::kFirstMulticastLid.value() + *second));
}

GroupTable::Groups::iterator GroupTable::Insert(McMemberRecord record, bool permanent,
                                                RowChanges& rows,
                                                std::vector<GroupChange>& changes) {
  const size_t number = record.mlid.value() - fabric::kFirstMulticastLid.value();
  if (mlids_.size() <= number) mlids_.resize(number + 1);
  mlids_[number] = true;
  auto group = std::make_shared<Group>();
  group->record = record;
  group->permanent = permanent;
  rows[KeyOf(record.mgid)] = RowOf(*group);
  changes.push_back({record.mgid, record.p_key, true});
  snapshot_ = nullptr;
  return groups_.emplace(record.mgid, std::move(group)).first;
}

bool GroupTable::Import(const Group& group, RowChanges& rows) {
  const size_t number = group.record.mlid.value() - fabric::kFirstMulticastLid.value();
  if (groups_.contains(group.record.mgid) || (number < mlids_.size() && mlids_[number]) ||
      members_ + group.members.size() > kMostMembers)
    return false;
  std::vector<GroupChange> changes;
  const auto made = Insert(group.record, group.permanent, rows, changes);
  for (const Member& member : group.members) {
    PutMember(*made->second, member);
    rows[KeyOf(made->first, member.gid)] = RowOf(member);
  }
  return true;
}

void GroupTable::SetPermanent(const std::vector<McMemberRecord>& records, RowChanges& rows,
                              std::vector<GroupChange>& changes) {
  std::set<Gid> wanted;
  for (McMemberRecord made : records) {
    wanted.insert(made.mgid);
    const auto there = groups_.find(made.mgid);
    made.mlid = there == groups_.end() ? FreeMlid(kMostMlids) : there->second->record.mlid;
    if (there == groups_.end()) {
      if (made.mlid) Insert(made, true, rows, changes);
    } else if (!there->second->permanent || there->second->record != made) {
      Group& group = Edit(there);
      group.record = made;
      group.permanent = true;
      rows[KeyOf(made.mgid)] = RowOf(group);
    }
  }
  for (auto group = groups_.begin(); group != groups_.end();) {
    const auto next = std::next(group);
    if (group->second->permanent && !wanted.contains(group->first)) {
      Group& edited = Edit(group);
      edited.permanent = false;
      rows[KeyOf(group->first)] = RowOf(edited);
      EraseIfLeft(group, rows, changes);
    }
    group = next;
  }
}

void GroupTable::PutMember(Group& group, const Member& member) {
  const auto place = std::lower_bound(group.members.begin(), group.members.end(), member.gid,
                                      [](const Member& a, Gid b) { return a.gid < b; });
  if (place != group.members.end() && place->gid == member.gid) {
    *place = member;
    return;
  }
  group.members.insert(place, member);
  of_port_[member.gid].insert(group.record.mgid);
  ++members_;
}

void GroupTable::EraseMember(Groups::iterator group, Gid gid, RowChanges& rows) {
  Group& edited = Edit(group);
  std::erase_if(edited.members, [gid](const Member& member) { return member.gid == gid; });
  --members_;
  rows[KeyOf(group->first, gid)] = std::nullopt;
  const auto own = of_port_.find(gid);
  own->second.erase(group->first);
  if (own->second.empty()) of_port_.erase(own);
}

// The last member that keeps a group takes it, and whoever else is in it, along (§15.2.5.17.4).
void GroupTable::EraseIfLeft(Groups::iterator group, RowChanges& rows,
                             std::vector<GroupChange>& changes) {
  if (group->second->IsKept()) return;
  while (!group->second->members.empty())
    EraseMember(group, group->second->members.back().gid, rows);
  const McMemberRecord& record = group->second->record;
  changes.push_back({record.mgid, record.p_key, false});
  rows[KeyOf(record.mgid)] = std::nullopt;
  mlids_[record.mlid.value() - fabric::kFirstMulticastLid.value()] = false;
  groups_.erase(group);
  snapshot_ = nullptr;
}

void GroupTable::DropPort(Gid port, RowChanges& rows, std::vector<GroupChange>& changes) {
  const auto own = of_port_.find(port);
  if (own == of_port_.end()) return;
  const std::set<Gid> left = own->second;
  for (const Gid mgid : left) {
    const auto group = groups_.find(mgid);
    EraseMember(group, port, rows);
    EraseIfLeft(group, rows, changes);
  }
}

// ---- requests

// What holds for every join and leave.
uint16_t GroupTable::Check(const SaView& view, const Asker& asker, uint64_t mask,
                           const McMemberRecord& record, Joining& joining) const {
  if (!Has(mask, McComponent::kPortGid) || !Has(mask, McComponent::kJoinState))
    return wire::kSaStatusInsufficientComponents;
  if (record.join_state == 0) return wire::kSaStatusRequestInvalid;
  const uint32_t number = record.port_gid.prefix == view.sm().gid_prefix
                              ? asker.FindPort(view, record.port_gid.guid())
                              : EndPorts::kNone;
  if (number == EndPorts::kNone) return wire::kSaStatusRequestInvalidGid;
  joining.mask = mask;
  joining.wanted = record;
  joining.port = &view.ends()[number];
  // Who speaks for itself does so by whatever GUID it joins.
  joining.requester = number == asker.end
                          ? record.port_gid
                          : Gid{view.sm().gid_prefix, view.ends()[asker.end].guid.value()};
  joining.trusted = asker.trusted;
  joining.p_keys = &view.p_keys();
  // For another port only who shares a partition with it may speak.
  if (number != asker.end && !asker.MaySee(view, *joining.port))
    return wire::kSaStatusRequestInvalid;
  return wire::kStatusOk;
}

uint16_t GroupTable::CheckAgainst(const Group& group, const Joining& joining) const {
  const McMemberRecord &has = group.record, &wanted = joining.wanted;
  using enum McComponent;
  const auto differs = [&](McComponent component, auto a, auto b) {
    return joining.Has(component) && a != b;
  };
  if (differs(kQKey, wanted.q_key, has.q_key) ||
      differs(kPKey, PartitionOf(wanted.p_key), PartitionOf(has.p_key)) ||
      differs(kTrafficClass, wanted.traffic_class, has.traffic_class) ||
      differs(kFlowLabel, wanted.flow_label, has.flow_label) || differs(kSl, wanted.sl, has.sl) ||
      differs(kMlid, wanted.mlid, has.mlid))
    return wire::kSaStatusRequestInvalid;
  const auto rank = fabric::RankOfRate;
  if (joining.HasBoth(kMtuSelector, kMtu) && !Meets(wanted.mtu_selector, wanted.mtu, has.mtu))
    return wire::kSaStatusRequestInvalid;
  if (joining.HasBoth(kRateSelector, kRate) &&
      !Meets(wanted.rate_selector, rank(wanted.rate), rank(has.rate)))
    return wire::kSaStatusRequestInvalid;
  if (joining.HasBoth(kLifeTimeSelector, kLifeTime) &&
      !Meets(wanted.life_time_selector, wanted.packet_life_time, has.packet_life_time))
    return wire::kSaStatusRequestInvalid;
  // The port itself must be able to (o15-0.1.10).
  const EndPort& port = *joining.port;
  if (port.link.mtu < has.mtu || port.link.rate < rank(has.rate) ||
      !joining.p_keys->Held(port.p_keys, has.p_key))
    return wire::kSaStatusRequestInvalid;
  return wire::kStatusOk;
}

// A MGID that is named says its scope itself, whatever the component Scope does.
uint16_t GroupTable::CheckMgid(const McMemberRecord& made) const {
  const Gid mgid = made.mgid;
  const uint8_t flags = mgid.prefix >> 52 & 0xF;
  if (!mgid.IsMulticast() || flags > 1) return wire::kSaStatusRequestInvalid;
  // Those are the SA's to give out.
  if (SignatureOf(mgid) == kOwnSignature && flags == 1 && ScopeOf(mgid) == kLinkLocal)
    return wire::kSaStatusRequestInvalid;
  if (!IsIpoib(mgid)) return wire::kStatusOk;
  if (PartitionOf(PKeyIn(mgid)) != PartitionOf(made.p_key)) return wire::kSaStatusRequestInvalid;
  const auto broadcast = groups_.find(BroadcastOf(mgid));
  if (broadcast == groups_.end()) return wire::kStatusOk;
  // All groups of an IPoIB link are of one kind (RFC 4391 §5).
  const McMemberRecord& model = broadcast->second->record;
  return made.q_key == model.q_key && made.mtu == model.mtu ? wire::kStatusOk
                                                            : wire::kSaStatusRequestInvalid;
}

// The SA's own: unique within the subnet, and by its prefix beyond it.
Gid GroupTable::MakeMgid(const SaView& view, const McMemberRecord& made) const {
  const uint64_t prefix = uint64_t{0xFF10} << 48 | uint64_t{made.scope} << 48 |
                          uint64_t{kOwnSignature} << 32 | (view.sm().gid_prefix >> 32 & 0xFFFFFFFF);
  Gid mgid{prefix, view.sm().gid_prefix << 32 | made.mlid.value()};
  while (groups_.contains(mgid)) mgid.low += 0x10000;
  return mgid;
}

// A new group as it is asked for.
uint16_t GroupTable::Design(const SaView& view, const Joining& joining,
                            McMemberRecord& made) const {
  using enum McComponent;
  const McMemberRecord& wanted = joining.wanted;
  if ((wanted.join_state & kJoinKeeps) == 0) return wire::kSaStatusRequestInvalid;
  for (const McComponent needed : {kQKey, kTrafficClass, kPKey, kSl, kFlowLabel})
    if (!joining.Has(needed)) return wire::kSaStatusInsufficientComponents;
  if (!joining.p_keys->Held(joining.port->p_keys, wanted.p_key))
    return wire::kSaStatusRequestInvalid;
  made.q_key = wanted.q_key;
  made.traffic_class = wanted.traffic_class;
  made.p_key = wanted.p_key;
  made.sl = wanted.sl;
  made.flow_label = wanted.flow_label;
  if (joining.Has(kHopLimit)) made.hop_limit = wanted.hop_limit;
  const Carriage& can = joining.port->link;
  const bool mtu = joining.HasBoth(kMtuSelector, kMtu);
  const bool rate = joining.HasBoth(kRateSelector, kRate);
  const bool life = joining.HasBoth(kLifeTimeSelector, kLifeTime);
  if (rate && wanted.rate_selector != Selector::kLargest && fabric::RankOfRate(wanted.rate) == 0)
    return wire::kSaStatusRequestInvalid;
  made.mtu_selector = made.rate_selector = made.life_time_selector = Selector::kExactly;
  made.mtu = mtu ? Choose(wanted.mtu_selector, wanted.mtu, can.mtu) : can.mtu;
  made.rate = fabric::CodeOfRate(
      rate ? Choose(wanted.rate_selector, fabric::RankOfRate(wanted.rate), can.rate) : can.rate);
  const uint8_t usual = view.sm().packet_life_time;
  made.packet_life_time =
      life ? ChooseLifeTime(wanted.life_time_selector, wanted.packet_life_time, usual) : usual;
  if (made.mtu == 0 || made.rate == 0) return wire::kSaStatusRequestInvalid;
  made.mlid = FreeMlid(MlidsOf(view));
  if (!made.mlid) return wire::kSaStatusNoResources;
  if (joining.Has(kMgid) && wanted.mgid) {
    made.mgid = wanted.mgid;
    made.scope = ScopeOf(made.mgid);
    return CheckMgid(made);
  }
  made.scope = joining.Has(kScope) ? wanted.scope : kLinkLocal;
  made.mgid = MakeMgid(view, made);
  return wire::kStatusOk;
}

uint16_t GroupTable::Join(const SaView& view, const Asker& asker, uint64_t mask,
                          McMemberRecord& record, RowChanges& rows,
                          std::vector<GroupChange>& changes) {
  Joining joining;
  if (const uint16_t status = Check(view, asker, mask, record, joining)) return status;
  const bool named = joining.Has(McComponent::kMgid) && record.mgid;
  auto found = named ? groups_.find(record.mgid) : groups_.end();
  const auto own = of_port_.find(record.port_gid);
  const bool is_new = found == groups_.end() || found->second->Find(record.port_gid) == nullptr;
  if (is_new &&
      (members_ >= kMostMembers || (own != of_port_.end() && own->second.size() >= kMostOfPort)))
    return wire::kSaStatusNoResources;
  if (found == groups_.end()) {
    McMemberRecord made;
    if (const uint16_t status = Design(view, joining, made)) return status;
    found = Insert(made, false, rows, changes);
  } else if (const uint16_t status = CheckAgainst(*found->second, joining)) {
    return status;
  }
  Member member{record.port_gid, record.join_state, joining.requester};
  if (const Member* before = found->second->Find(record.port_gid)) {
    member.join_state |= before->join_state;
    member.requester = before->requester;
    if (!joining.trusted && before->requester != joining.requester &&
        joining.requester != record.port_gid)
      return wire::kSaStatusRequestInvalid;
  }
  const Member* before = found->second->Find(record.port_gid);
  if (before == nullptr || *before != member) {
    PutMember(Edit(found), member);
    rows[KeyOf(found->first, member.gid)] = RowOf(member);
  }
  record = found->second->record;
  record.port_gid = member.gid;
  record.join_state = member.join_state;
  record.proxy_join = member.requester != member.gid;
  return wire::kStatusOk;
}

uint16_t GroupTable::Leave(const SaView& view, const Asker& asker, uint64_t mask,
                           McMemberRecord& record, RowChanges& rows,
                           std::vector<GroupChange>& changes) {
  Joining joining;
  if (const uint16_t status = Check(view, asker, mask, record, joining)) return status;
  if (!joining.Has(McComponent::kMgid)) return wire::kSaStatusInsufficientComponents;
  const auto found = groups_.find(record.mgid);
  if (found == groups_.end()) return wire::kSaStatusRequestInvalid;
  const Member* before = found->second->Find(record.port_gid);
  if (before == nullptr || (before->join_state & record.join_state) != record.join_state)
    return wire::kSaStatusRequestInvalid;
  if (!joining.trusted && joining.requester != before->gid &&
      joining.requester != before->requester)
    return wire::kSaStatusRequestInvalid;
  Member member = *before;
  const uint8_t left = member.join_state & static_cast<uint8_t>(~record.join_state);
  record = found->second->record;
  record.port_gid = member.gid;
  record.proxy_join = member.requester != member.gid;
  record.join_state = left;
  if (left != 0) {
    member.join_state = left;
    PutMember(Edit(found), member);
    rows[KeyOf(found->first, member.gid)] = RowOf(member);
  } else {
    EraseMember(found, member.gid, rows);
  }
  EraseIfLeft(found, rows, changes);
  return wire::kStatusOk;
}

}  // namespace fabricd::sa
