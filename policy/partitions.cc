// SPDX-License-Identifier: Apache-2.0
#include "policy/partitions.h"

#include <algorithm>
#include <utility>

#include <absl/container/flat_hash_set.h>

#include "common/gid_text.h"
#include "common/status.h"
#include "fabric/rate.h"

namespace fabricd::policy {
namespace {

constexpr uint64_t kIpv4 = 0x401B, kIpv6 = 0x601B;
constexpr uint32_t kIpQKey = 0xB1B;
constexpr uint8_t kLinkLocal = 2;
constexpr uint32_t kFlowLabels = 1u << 20;

Gid WithScope(Gid mgid, uint8_t scope) {
  mgid.prefix = (mgid.prefix & ~(uint64_t{0xF} << 48)) | uint64_t{scope} << 48;
  return mgid;
}

Gid BroadcastOf(uint16_t number) {
  return {0xFF12000000000000 | kIpv4 << 32 | uint64_t(number | kFullMemberBit) << 16, 0xFFFFFFFF};
}

absl::Status CheckTraits(const GroupTraits& traits) {
  if (traits.mtu < 1 || traits.mtu > 5)
    return InvalidArgument("mtu {} is not a code of 1 to 5", traits.mtu);
  if (fabric::RankOfRate(traits.rate) == 0)
    return InvalidArgument("rate {} is not a code of a rate", traits.rate);
  if (traits.sl > 15) return InvalidArgument("sl {} is beyond 15", traits.sl);
  if (traits.flow_label >= kFlowLabels)
    return InvalidArgument("FlowLabel {:#x} has more than 20 bits", traits.flow_label);
  return absl::OkStatus();
}

absl::Status CheckGroup(const PartitionGroup& group, uint16_t number) {
  FABRICD_RETURN_IF_ERROR(CheckTraits(group.traits));
  if (!group.mgid.IsMulticast())
    return InvalidArgument("mgid {} is not a multicast address", GidText(group.mgid));
  const uint16_t key = static_cast<uint16_t>(group.mgid.prefix >> 16);
  if (IsIpGroup(group.mgid) && key != (number | kFullMemberBit))
    return InvalidArgument("mgid {} is of partition {:#06x}", GidText(group.mgid),
                           key & kPartitionBits);
  return absl::OkStatus();
}

bool IsNormal(const Partition& partition) {
  auto members = partition.members;
  Normalise(members);
  auto groups = partition.groups;
  Normalise(groups);
  return members == partition.members && groups == partition.groups;
}

void AddGroup(Gid mgid, const GroupTraits& traits, uint16_t number,
              std::vector<WantedGroup>& into) {
  WantedGroup group;
  group.p_key = PKey(number | kFullMemberBit);
  group.mtu = traits.mtu;
  group.rate = traits.rate;
  group.sl = traits.sl;
  group.traffic_class = traits.traffic_class;
  group.flow_label = traits.flow_label;
  group.q_key = traits.q_key.value_or(IsIpGroup(mgid) ? kIpQKey : 0);
  const uint8_t own = mgid.prefix >> 48 & 0xF;
  for (uint8_t scope = 0; scope < 16; ++scope) {
    if (traits.scopes == 0 ? scope != own : (traits.scopes >> scope & 1) == 0) continue;
    group.scope = scope;
    group.mgid = WithScope(mgid, scope);
    into.push_back(group);
  }
}

}  // namespace

std::string_view MembershipName(Membership membership) {
  switch (membership) {
    case Membership::kLimited: return "limited";
    case Membership::kFull: return "full";
    case Membership::kBoth: return "both";
  }
  return "";
}

std::string_view PortClassName(PortClass ports) {
  switch (ports) {
    case PortClass::kNone: return "";
    case PortClass::kAll: return "ALL";
    case PortClass::kChannelAdapters: return "ALL_CAS";
    case PortClass::kSwitches: return "ALL_SWITCHES";
    case PortClass::kRouters: return "ALL_ROUTERS";
    case PortClass::kVirtual: return "ALL_VCAS";
    case PortClass::kSelf: return "SELF";
  }
  return "";
}

// What the file's grammar cannot say would not survive being written.
absl::Status CheckPartitionName(std::string_view name) {
  if (name.size() > kMaxPartitionName)
    return InvalidArgument("a name of {} bytes, {} are possible", name.size(), kMaxPartitionName);
  const auto is_odd = [](char c) {
    return static_cast<unsigned char>(c) < ' ' ||
           std::string_view(",:;=#\x7f").find(c) != std::string_view::npos;
  };
  if (std::any_of(name.begin(), name.end(), is_odd) ||
      (!name.empty() && (name.front() == ' ' || name.back() == ' ')))
    return InvalidArgument(
        "a name without control characters, \",\", \":\", \";\", \"=\", \"#\" and blanks around "
        "it");
  return absl::OkStatus();
}

bool IsIpGroup(Gid mgid) {
  const uint64_t signature = mgid.prefix >> 32 & 0xFFFF;
  return mgid.IsMulticast() && (signature == kIpv4 || signature == kIpv6);
}

const Member* Partition::Find(const Member& about) const {
  const auto found = std::find_if(members.begin(), members.end(),
                                  [&](const Member& member) { return member.IsAbout(about); });
  return found == members.end() ? nullptr : &*found;
}

Partitions Partitions::BuiltIn() {
  Partitions made;
  Partition& standard = made.Get(kDefaultPartition);
  standard.name = kDefaultName;
  standard.ipoib.emplace();
  standard.members = {{Guid(), PortClass::kAll, Membership::kFull}};
  return made;
}

Partitions Partitions::Base() {
  Partitions made;
  Partition& standard = made.Get(kDefaultPartition);
  standard.name = kDefaultName;
  standard.members = {{Guid(), PortClass::kAll, Membership::kLimited},
                      {Guid(), PortClass::kSelf, Membership::kFull}};
  return made;
}

Partition* Partitions::Find(uint16_t number) {
  return const_cast<Partition*>(std::as_const(*this).Find(number));
}

const Partition* Partitions::Find(uint16_t number) const {
  const auto found = std::lower_bound(
      list.begin(), list.end(), number,
      [](const Partition& partition, uint16_t wanted) { return partition.number < wanted; });
  return found != list.end() && found->number == number ? &*found : nullptr;
}

Partition& Partitions::Get(uint16_t number) {
  const auto place = std::lower_bound(
      list.begin(), list.end(), number,
      [](const Partition& partition, uint16_t wanted) { return partition.number < wanted; });
  if (place != list.end() && place->number == number) return *place;
  Partition& made = *list.emplace(place);
  made.number = number;
  return made;
}

bool Partitions::AreInUse() const {
  const Member all_full{Guid(), PortClass::kAll, Membership::kFull};
  return list.size() != 1 || list.front().members != std::vector<Member>{all_full};
}

void Normalise(std::vector<Member>& members) {
  absl::flat_hash_set<std::pair<Guid, PortClass>> said;
  std::vector<Member> kept;  // The last first.
  for (auto member = members.rbegin(); member != members.rend(); ++member) {
    if (said.insert({member->guid, member->ports}).second) kept.push_back(*member);
    if (member->ports == PortClass::kAll) break;
  }
  members.assign(kept.rbegin(), kept.rend());
}

void Normalise(std::vector<PartitionGroup>& groups) {
  const auto before = [](const PartitionGroup& a, const PartitionGroup& b) {
    return a.mgid < b.mgid;
  };
  std::stable_sort(groups.begin(), groups.end(), before);
  const auto same = [](const PartitionGroup& a, const PartitionGroup& b) {
    return a.mgid == b.mgid;
  };
  groups.erase(std::unique(groups.begin(), groups.end(), same), groups.end());
}

absl::Status CheckPartition(const Partition& partition) {
  const auto faulty = [&](const absl::Status& why) {
    return InvalidArgument("partition {:#06x}: {}", partition.number, Message(why));
  };
  if (partition.number == 0 || partition.number > kLastPartition)
    return InvalidArgument("a partition's number is 0x0001 to 0x7fff, not {:#x}", partition.number);
  if (const absl::Status name = CheckPartitionName(partition.name); !name.ok()) return faulty(name);
  if (partition.ipoib)
    if (const absl::Status traits = CheckTraits(*partition.ipoib); !traits.ok())
      return faulty(traits);
  for (const PartitionGroup& group : partition.groups)
    if (const absl::Status checked = CheckGroup(group, partition.number); !checked.ok())
      return faulty(checked);
  for (const Member& member : partition.members)
    if ((member.guid == Guid()) == (member.ports == PortClass::kNone))
      return faulty(InvalidArgument("a member is either a GUID or a kind of ports"));
  if (!IsNormal(partition))
    return faulty(InvalidArgument("a member or group is named more than once"));
  const Member all{Guid(), PortClass::kAll, Membership::kLimited};
  if (partition.number != kDefaultPartition) return absl::OkStatus();
  if (partition.name != kDefaultName)
    return faulty(InvalidArgument("its name is {}", kDefaultName));
  if (partition.Find(all) == nullptr)
    return faulty(InvalidArgument("ALL must be a member: a port without it could not ask the SA"));
  return absl::OkStatus();
}

absl::Status CheckPartitions(const Partitions& partitions) {
  size_t members = 0, groups = 0;
  uint16_t last = 0;
  for (const Partition& partition : partitions.list) {
    FABRICD_RETURN_IF_ERROR(CheckPartition(partition));
    if (partition.number <= last)
      return InvalidArgument("partition {:#06x} is out of order", partition.number);
    last = partition.number;
    members += partition.members.size();
    groups += partition.groups.size();
  }
  if (partitions.Find(kDefaultPartition) == nullptr)
    return InvalidArgument("the default partition 0x7fff is missing");
  if (members > kMaxPartitionMembers)
    return InvalidArgument("{} members, {} are possible", members, kMaxPartitionMembers);
  if (groups > kMaxPartitionGroups)
    return InvalidArgument("{} multicast groups, {} are possible", groups, kMaxPartitionGroups);
  return absl::OkStatus();
}

std::vector<WantedGroup> GroupsOf(const Partitions& partitions) {
  std::vector<WantedGroup> groups;
  for (const Partition& partition : partitions.list) {
    if (partition.ipoib) {
      GroupTraits traits = *partition.ipoib;
      if (traits.scopes == 0) traits.scopes = 1u << kLinkLocal;
      AddGroup(BroadcastOf(partition.number), traits, partition.number, groups);
    }
    for (const PartitionGroup& group : partition.groups)
      AddGroup(group.mgid, group.traits, partition.number, groups);
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.mgid < b.mgid; });
  groups.erase(std::unique(groups.begin(), groups.end(),
                           [](const auto& a, const auto& b) { return a.mgid == b.mgid; }),
               groups.end());
  return groups;
}

}  // namespace fabricd::policy
