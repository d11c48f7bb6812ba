// SPDX-License-Identifier: Apache-2.0
// Partitions: which end ports may talk to each other (IBA vol 1 §10.9), as operators say it: by
// GUIDs, which need not be in the fabric, and by kinds of ports. A value; equal wishes compare
// equal. Which P_Keys a port is to hold follows from it (policy/p_key_plan.h), and so do the
// multicast groups that are there from the beginning.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/status.h>

#include "common/gid.h"
#include "common/ids.h"
#include "common/p_key.h"

namespace fabricd::policy {

// kBoth: the port holds both keys of the partition.
enum class Membership : uint8_t { kLimited = 1, kFull, kBoth };
// kVirtual: ports of virtual functions, that is alias GUIDs. kSelf: the port of the SM.
enum class PortClass : uint8_t {
  kNone,
  kAll,
  kChannelAdapters,
  kSwitches,
  kRouters,
  kVirtual,
  kSelf
};

std::string_view MembershipName(Membership membership);  // "full"
std::string_view PortClassName(PortClass ports);         // "ALL_CAS"; kNone: ""

struct Member {
  Guid guid;                           // A port's or an alias GUID, or:
  PortClass ports = PortClass::kNone;  // Not kNone: all of a kind; `guid` is 0.
  Membership membership = Membership::kLimited;
  bool IsAbout(const Member& other) const { return guid == other.guid && ports == other.ports; }
  friend bool operator==(const Member&, const Member&) = default;
};

// What a multicast group is to be like; codes as in MCMemberRecord (IBA vol 1 §15.2.5.17).
struct GroupTraits {
  uint8_t mtu = 4, rate = 3;      // 2048 bytes, 10 Gb/s.
  uint8_t sl = 0;                 // 0-15
  uint16_t scopes = 0;            // Bit n: scope n. 0: that of the MGID, link-local for broadcast.
  std::optional<uint32_t> q_key;  // nullopt: 0xb1b for an IP group, else 0.
  uint8_t traffic_class = 0;
  uint32_t flow_label = 0;  // 20 bits
  friend bool operator==(const GroupTraits&, const GroupTraits&) = default;
};

struct PartitionGroup {
  Gid mgid;
  GroupTraits traits;
  friend bool operator==(const PartitionGroup&, const PartitionGroup&) = default;
};

struct Partition {
  uint16_t number = 0;  // The P_Key without its membership bit: 0x0001-0x7fff.
  std::string name;     // Need not be unique.
  bool index0 = false;  // Members hold its key at index 0 of their tables.
  // There is a broadcast group for IPoIB, and it is like this.
  std::optional<GroupTraits> ipoib;
  std::vector<PartitionGroup> groups;  // By MGID, each once.
  // In order: of what is said of a port the last holds. Each subject once, none in front of kAll.
  std::vector<Member> members;

  // What is said of this GUID or kind of ports; null: nothing is.
  const Member* Find(const Member& about) const;
  friend bool operator==(const Partition&, const Partition&) = default;
};

inline constexpr uint16_t kDefaultPartition = 0x7FFF;
inline constexpr char kDefaultName[] = "Default";
inline constexpr uint16_t kLastPartition = 0x7FFF;
inline constexpr size_t kMaxPartitionName = 256;           // bytes
inline constexpr size_t kMaxPartitionMembers = 1'000'000;  // In all partitions together.
inline constexpr size_t kMaxPartitionGroups = 16'384;      // The same.

struct Partitions {
  std::vector<Partition> list;  // By number, each once; the default partition is among them.

  // As long as nobody has said anything: every port is a full member of the default partition,
  // with a broadcast group.
  static Partitions BuiltIn();
  // What every file begins with: all are limited members of the default partition, the SM is a
  // full one.
  static Partitions Base();

  Partition* Find(uint16_t number);
  const Partition* Find(uint16_t number) const;
  // The one of this number, made when it is not there.
  Partition& Get(uint16_t number);
  // More is said than that all ports are full members of the default partition.
  bool AreInUse() const;
  friend bool operator==(const Partitions&, const Partitions&) = default;
};

// Of what is said of a subject the last remains; what stands in front of kAll goes.
void Normalise(std::vector<Member>& members);
// The groups sorted, of two of one MGID the first.
void Normalise(std::vector<PartitionGroup>& groups);

// kInvalidArgument names what is wrong: a number, name, MTU, rate, SL, scope, flow label or MGID
// that cannot be, an IP group of another partition, no kAll in the default partition (without it
// some port could not ask the SA), too many of something, lists that are not normal.
absl::Status CheckPartition(const Partition& partition);
absl::Status CheckPartitions(const Partitions& partitions);

absl::Status CheckPartitionName(std::string_view name);
bool IsIpGroup(Gid mgid);  // Of IPoIB (RFC 4391 §4).

// A group that is to be there.
struct WantedGroup {
  Gid mgid;
  PKey p_key;  // With the full-member bit.
  uint8_t mtu = 0, rate = 0, sl = 0, traffic_class = 0, scope = 0;
  uint32_t q_key = 0, flow_label = 0;
  friend bool operator==(const WantedGroup&, const WantedGroup&) = default;
};
// Of all partitions, by MGID, each once: of two of one MGID that of the lower partition.
std::vector<WantedGroup> GroupsOf(const Partitions& partitions);

}  // namespace fabricd::policy
