// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/convert/convert_partition.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "common/gid_text.h"
#include "common/number_text.h"
#include "common/p_key.h"
#include "daemon/rpc/convert/grpc_status.h"
#include "fabric/rate.h"
#include "policy/partitions_text.h"

namespace fabricd::rpc {
namespace {

constexpr uint8_t kLastMtuCode = 5;

void Fill(const policy::GroupTraits& traits, pb::GroupTraits* out) {
  out->set_mtu(128u << traits.mtu);
  out->set_rate_gbps(fabric::GbpsOfRate(traits.rate));
  out->set_sl(traits.sl);
  out->set_scopes(traits.scopes);
  if (traits.q_key) out->set_q_key(*traits.q_key);
  out->set_traffic_class(traits.traffic_class);
  out->set_flow_label(traits.flow_label);
}

absl::StatusOr<policy::GroupTraits> ReadTraits(const pb::GroupTraits& from) {
  policy::GroupTraits traits;
  if (from.mtu() != 0) {
    traits.mtu = 1;
    while (traits.mtu <= kLastMtuCode && 128u << traits.mtu != from.mtu()) ++traits.mtu;
    if (traits.mtu > kLastMtuCode)
      return BadField("mtu", fmt::format("{} is none of 256, 512, 1024, 2048, 4096", from.mtu()));
  }
  if (from.rate_gbps() != 0) {
    fabric::RateRank rank = 1;
    const auto gbps = [&] { return fabric::GbpsOfRate(fabric::CodeOfRate(rank)); };
    while (rank <= fabric::kTopRate && gbps() != from.rate_gbps()) ++rank;
    if (rank > fabric::kTopRate)
      return BadField("rate_gbps", fmt::format("{:g} is no rate of a group", from.rate_gbps()));
    traits.rate = fabric::CodeOfRate(rank);
  }
  if (from.sl() > 15) return BadField("sl", "is above 15");
  if (from.scopes() > 0xFFFF) return BadField("scopes", "has bits above 15");
  if (from.traffic_class() > 0xFF) return BadField("traffic_class", "is above 255");
  traits.sl = static_cast<uint8_t>(from.sl());
  traits.scopes = static_cast<uint16_t>(from.scopes());
  if (from.has_q_key()) traits.q_key = from.q_key();
  traits.traffic_class = static_cast<uint8_t>(from.traffic_class());
  traits.flow_label = from.flow_label();
  return traits;
}

// The GUIDs of all end ports of a host or node, or of one port.
absl::Status AddNamed(const query::ReadModel& model, const std::string& name,
                      std::vector<policy::Member>& members) {
  const auto add = [&](PortRef ref) {
    const fabric::Port* port = model.snapshot().port(ref);
    if (port == nullptr || !port->guid) return;
    members.push_back({port->guid, policy::PortClass::kNone, policy::Membership::kLimited});
  };
  const size_t before = members.size();
  if (const fabric::Host* host = model.hosts->Find(name)) {
    for (const fabric::HostPort& port : host->ports) add(port.port);
  } else {
    const auto address = model.Resolve(name);
    if (!address.ok()) return address.status();
    const fabric::Node& node = *model.snapshot().node(address->node);
    if (node.IsSwitch() && address->has_port && address->port != PortNum(0))
      return BadField("subject", fmt::format("\"{}\" is no end port", name), "INVALID_PARTITION");
    if (node.IsSwitch() || address->has_port) {
      add({node.index, node.IsSwitch() ? PortNum(0) : address->port});
    } else {
      for (const auto& [ref, port] : node.LinkPorts()) add(ref);
    }
  }
  if (members.size() > before) return absl::OkStatus();
  return BadField("subject", fmt::format("\"{}\" has no GUID", name), "INVALID_PARTITION");
}

// Only of a node: no port could ever be meant by it.
bool IsOnlyOfNode(const query::ReadModel& model, Guid guid) {
  return model.snapshot().FindNode(guid) != nullptr && model.snapshot().FindPort(guid).IsNone();
}

// GUIDs need not be there; what is no GUID is a name.
absl::Status AddSubject(const query::ReadModel& model, const std::string& subject,
                        policy::Membership membership, std::vector<policy::Member>& members) {
  const size_t first = members.size();
  if (const auto ports = policy::ParsePortClass(subject)) {
    members.push_back({Guid(), *ports, membership});
  } else if (const Guid guid = fabric::ParseGuid(subject); guid && !IsOnlyOfNode(model, guid)) {
    members.push_back({guid, policy::PortClass::kNone, membership});
  } else if (subject.empty()) {
    return BadField("subject", "is required");
  } else {
    if (absl::Status status = AddNamed(model, subject, members); !status.ok()) return status;
  }
  for (size_t i = first; i < members.size(); ++i) members[i].membership = membership;
  return absl::OkStatus();
}

std::optional<policy::Membership> MembershipOf(pb::Membership membership) {
  switch (membership) {
    case pb::MEMBERSHIP_UNSPECIFIED:
    case pb::MEMBERSHIP_LIMITED: return policy::Membership::kLimited;
    case pb::MEMBERSHIP_FULL: return policy::Membership::kFull;
    case pb::MEMBERSHIP_BOTH: return policy::Membership::kBoth;
    default: return std::nullopt;
  }
}

}  // namespace

KeyHolders::KeyHolders(const query::ReadModel& model)
    : model_(model), counts_(policy::kLastPartition + 1) {
  if (model.view->tables == nullptr) return;
  for (const auto& [port, tables] : *model.view->tables)
    for (const auto& block : tables.p_keys) {
      if (block.port != port.port) continue;  // Of a switch port that enforces.
      for (const PKey key : block.table.keys) {
        Counts& counts = counts_[PartitionOf(key)];
        ++(IsFullMember(key) ? counts.full : counts.limited);
      }
    }
}

bool KeyHolders::Confirms(const policy::Member& member, uint16_t partition) const {
  const PortRef port = model_.snapshot().FindPort(member.guid);
  if (!member.guid || port.IsNone() || model_.view->tables == nullptr) return false;
  const auto tables = model_.view->tables->find(port);
  if (tables == model_.view->tables->end()) return false;
  bool full = false, limited = false;
  for (const auto& block : tables->second.p_keys)
    for (const PKey key : block.table.keys) {
      if (block.port != port.port || PartitionOf(key) != partition) continue;
      (IsFullMember(key) ? full : limited) = true;
    }
  return (full || member.membership == policy::Membership::kLimited) &&
         (limited || member.membership == policy::Membership::kFull);
}

void ToProto(const KeyHolders& holders, const query::ReadModel& model,
             const policy::Partition& partition, pb::PartitionView view, pb::Partition* out) {
  out->set_p_key(partition.number | kFullMemberBit);
  out->set_name(partition.name);
  out->set_index0(partition.index0);
  if (partition.ipoib) Fill(*partition.ipoib, out->mutable_ipoib());
  for (const policy::PartitionGroup& group : partition.groups) {
    pb::PartitionGroup* added = out->add_groups();
    added->set_mgid(GidText(group.mgid));
    Fill(group.traits, added->mutable_traits());
  }
  out->set_member_count(static_cast<uint32_t>(partition.members.size()));
  const KeyHolders::Counts counts = holders.Of(partition.number);
  out->set_ports_full(counts.full);
  out->set_ports_limited(counts.limited);
  if (view != pb::PARTITION_VIEW_FULL) return;
  for (const policy::Member& member : partition.members) {
    pb::PartitionMember* added = out->add_members();
    added->set_subject(member.guid ? fmt::format("{}", member.guid)
                                   : std::string(policy::PortClassName(member.ports)));
    added->set_membership(static_cast<pb::Membership>(member.membership));
    if (!member.guid) continue;
    if (const PortRef port = model.snapshot().FindPort(member.guid); !port.IsNone())
      added->set_port_name(fabric::PortName(*model.snapshot().node(port.node), port.port,
                                            model.names->by_name.map()));
    added->set_confirmed(holders.Confirms(member, partition.number));
  }
}

absl::StatusOr<uint16_t> NumberOf(const policy::Partitions& partitions, const std::string& text) {
  std::vector<std::string> candidates;
  uint16_t found = 0;
  for (const policy::Partition& partition : partitions.list) {
    if (partition.name != text || text.empty()) continue;
    found = partition.number;
    candidates.push_back(fmt::format("{:#06x}", found));
  }
  if (candidates.size() > 1)
    return BadField("partition",
                    fmt::format("\"{}\" is the name of {}", text, fmt::join(candidates, ", ")));
  if (found != 0) return found;
  const auto number = ParseDecimalOrHex<uint64_t>(text);
  if (!number || *number > 0xFFFF) return NoSuch("partition", text);
  return static_cast<uint16_t>(*number & kPartitionBits);
}

absl::StatusOr<const policy::Partition*> FindPartition(const policy::Partitions& partitions,
                                                       const std::string& text) {
  const auto number = NumberOf(partitions, text);
  if (!number.ok()) return number.status();
  const policy::Partition* found = partitions.Find(*number);
  if (found == nullptr) return NoSuch("partition", text);
  return found;
}

absl::StatusOr<std::vector<policy::Member>> ReadMembers(
    const query::ReadModel& model,
    const google::protobuf::RepeatedPtrField<pb::PartitionMember>& from) {
  std::vector<policy::Member> members;
  for (const pb::PartitionMember& member : from) {
    const auto membership = MembershipOf(member.membership());
    if (!membership) return BadField("membership", "is none that there is");
    absl::Status status = AddSubject(model, member.subject(), *membership, members);
    if (!status.ok()) return status;
  }
  return members;
}

absl::StatusOr<std::vector<policy::Member>> ResolveSubjects(
    const query::ReadModel& model, const google::protobuf::RepeatedPtrField<std::string>& from) {
  std::vector<policy::Member> members;
  for (const std::string& subject : from) {
    absl::Status status = AddSubject(model, subject, policy::Membership::kLimited, members);
    if (!status.ok()) return status;
  }
  return members;
}

absl::StatusOr<policy::Partition> ReadPartition(const query::ReadModel& model,
                                                const pb::Partition& from) {
  policy::Partition partition;
  if (from.p_key() > 0xFFFF) return BadField("p_key", "is longer than 16 bits");
  partition.number = static_cast<uint16_t>(from.p_key() & kPartitionBits);
  partition.name = from.name();
  partition.index0 = from.index0();
  if (from.has_ipoib()) {
    const auto traits = ReadTraits(from.ipoib());
    if (!traits.ok()) return traits.status();
    partition.ipoib = *traits;
  }
  for (const pb::PartitionGroup& group : from.groups()) {
    const auto mgid = ParseGid(group.mgid());
    if (!mgid) return BadField("mgid", fmt::format("\"{}\" is no GID", group.mgid()));
    const auto traits = ReadTraits(group.traits());
    if (!traits.ok()) return traits.status();
    partition.groups.push_back({*mgid, *traits});
  }
  auto members = ReadMembers(model, from.members());
  if (!members.ok()) return members.status();
  partition.members = *std::move(members);
  return partition;
}

}  // namespace fabricd::rpc
