// SPDX-License-Identifier: Apache-2.0
// From partitions to P_Key tables (IBA vol 1 §10.9.2, §14.2.5.7): which keys an end port is to
// hold, and at which index. Pure.
//
// A P_Key is fabricd's own when its partition is, or once was, one of the partitions; all others
// are foreign: somebody else's, whose jobs may run on them.
#pragma once

#include <cstdint>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "common/ids.h"
#include "fabric/snapshot.h"
#include "policy/partitions.h"

namespace fabricd::policy {

// Numbers of partitions.
class PartitionSet {
 public:
  void Insert(uint16_t number) { bits_[number / 64] |= Bit(number); }
  bool Contains(uint16_t number) const { return (bits_[number / 64] & Bit(number)) != 0; }
  std::vector<uint16_t> List() const;  // Ascending.
  friend bool operator==(const PartitionSet&, const PartitionSet&) = default;

 private:
  static uint64_t Bit(uint16_t number) { return uint64_t{1} << (number % 64); }
  std::vector<uint64_t> bits_ = std::vector<uint64_t>(kLastPartition / 64 + 1);
};

struct WantedKeys {
  std::vector<PKey> keys;  // Sorted by partition, of one partition the full membership first.
  PKey first;              // Belongs to index 0. 0: nothing does.
  friend bool operator==(const WantedKeys&, const WantedKeys&) = default;
};

// What is known of an end port that decides about its keys.
struct PortFacts {
  Guid guid;
  wire::NodeType type = wire::NodeType::kChannelAdapter;
  bool is_self = false;       // The SM's.
  bool isolated = false;      // By a hold: out of all partitions.
  std::vector<Guid> aliases;  // Further GUIDs, of virtual functions.
};

// Partitions, ordered for questions about single ports. Immutable, any thread.
class PartitionIndex {
 public:
  // `retired`: numbers of partitions that are gone. `isolated_in_default`: an isolated port stays a
  // limited member of the default partition, to ask the SA.
  PartitionIndex(const Partitions& partitions, PartitionSet retired, bool isolated_in_default);

  WantedKeys KeysOf(const PortFacts& port) const;
  // Its partition is, or once was, one of the partitions.
  bool IsOwn(PKey key) const { return own_.Contains(PartitionOf(key)); }
  // Says something of a GUID.
  bool Names(Guid guid) const { return by_guid_.contains(guid); }
  size_t guid_count() const { return by_guid_.size(); }
  // Of the GUIDs that are named, in no order.
  template <typename Visit>
  void ForEachGuid(Visit&& visit) const {
    for (const auto& [guid, rules] : by_guid_) visit(guid);
  }
  // No more than that all ports are full members of the default partition: then there is nothing
  // that switches could enforce.
  bool is_trivial() const { return trivial_; }

 private:
  // The place of a member in its partition's list: of several that a port is, the last holds.
  struct Rule {
    uint32_t partition = 0;  // Index.
    uint32_t place = 0;
    Membership membership = Membership::kLimited;
  };
  struct Head {
    uint16_t number;
    bool index0;
  };
  const std::vector<Rule>* RulesOf(Guid guid) const;
  const std::vector<Rule>& RulesOf(PortClass ports) const;

  std::vector<Head> heads_;
  std::vector<std::vector<Rule>> by_class_;  // [PortClass]
  absl::flat_hash_map<Guid, std::vector<Rule>> by_guid_;
  PartitionSet own_;
  bool isolated_in_default_;
  bool trivial_;
};

struct KeyLayout {
  std::vector<PKey> table;     // As long as the port's capacity.
  std::vector<PKey> left_out;  // Wanted keys for which no entry is left.
};

// A port's table as it is to be, next to what it holds now. What stays keeps its index, also when
// its membership changes; what comes takes the lowest free ones. `wanted.first` is at index 0
// unless a foreign key is there. Foreign keys stay as they are if `keep_foreign`, else those go
// that are not wanted. Of more than fits, the default partition stays, then what is there already.
// `capacity`: entries of the port's table; what it holds beyond that is not
// looked at.
KeyLayout LayOutKeys(const std::vector<PKey>& held, const WantedKeys& wanted, size_t capacity,
                     const PartitionIndex& index, bool keep_foreign);

}  // namespace fabricd::policy
