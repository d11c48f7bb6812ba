// SPDX-License-Identifier: Apache-2.0
#include "policy/p_key_plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <absl/container/flat_hash_set.h>

#include "common/check.h"

namespace fabricd::policy {
namespace {

PKey FullKey(uint16_t number) { return PKey(number | kFullMemberBit); }

bool IsBefore(PKey a, PKey b) {
  if (PartitionOf(a) != PartitionOf(b)) return PartitionOf(a) < PartitionOf(b);
  return IsFullMember(a) && !IsFullMember(b);
}

void AddKeys(uint16_t number, Membership membership, std::vector<PKey>& keys) {
  if (membership != Membership::kLimited) keys.push_back(FullKey(number));
  if (membership != Membership::kFull) keys.push_back(PKey(number));
}

}  // namespace

std::vector<uint16_t> PartitionSet::List() const {
  std::vector<uint16_t> list;
  for (uint32_t number = 1; number <= kLastPartition; ++number)
    if (Contains(static_cast<uint16_t>(number))) list.push_back(static_cast<uint16_t>(number));
  return list;
}

PartitionIndex::PartitionIndex(const Partitions& partitions, PartitionSet retired,
                               bool isolated_in_default)
    : by_class_(static_cast<size_t>(PortClass::kSelf) + 1),
      own_(std::move(retired)),
      isolated_in_default_(isolated_in_default) {
  trivial_ = !partitions.AreInUse();
  own_.Insert(kDefaultPartition);
  for (const Partition& partition : partitions.list) {
    const auto at = static_cast<uint32_t>(heads_.size());
    heads_.push_back({partition.number, partition.index0});
    own_.Insert(partition.number);
    for (uint32_t place = 0; place < partition.members.size(); ++place) {
      const Member& member = partition.members[place];
      const Rule rule{at, place, member.membership};
      if (member.ports == PortClass::kNone)
        by_guid_[member.guid].push_back(rule);
      else
        by_class_[static_cast<size_t>(member.ports)].push_back(rule);
    }
  }
}

const std::vector<PartitionIndex::Rule>* PartitionIndex::RulesOf(Guid guid) const {
  const auto found = by_guid_.find(guid);
  return found == by_guid_.end() ? nullptr : &found->second;
}

const std::vector<PartitionIndex::Rule>& PartitionIndex::RulesOf(PortClass ports) const {
  return by_class_[static_cast<size_t>(ports)];
}

WantedKeys PartitionIndex::KeysOf(const PortFacts& port) const {
  WantedKeys wanted;
  if (port.isolated && !port.is_self) {
    if (isolated_in_default_) wanted.keys = {kDefaultLimitedPKey};
    wanted.first = isolated_in_default_ ? kDefaultLimitedPKey : PKey();
    return wanted;
  }
  // Of each GUID of the port what is said last, then all of that together: a virtual function does
  // not take away what its port is.
  std::vector<Rule> said;
  const auto enter = [&](std::vector<Rule> rules) {
    const auto before = [](const Rule& a, const Rule& b) {
      return std::pair(a.partition, b.place) < std::pair(b.partition, a.place);
    };
    std::sort(rules.begin(), rules.end(), before);
    const auto same = [](const Rule& a, const Rule& b) { return a.partition == b.partition; };
    rules.erase(std::unique(rules.begin(), rules.end(), same), rules.end());
    said.insert(said.end(), rules.begin(), rules.end());
  };
  const auto rules_of = [&](Guid guid) {
    const auto* rules = RulesOf(guid);
    return rules == nullptr ? std::vector<Rule>() : *rules;
  };
  std::vector<Rule> own = rules_of(port.guid);
  const auto add = [](const std::vector<Rule>& from, std::vector<Rule>& into) {
    into.insert(into.end(), from.begin(), from.end());
  };
  add(RulesOf(PortClass::kAll), own);
  if (port.type == wire::NodeType::kChannelAdapter) add(RulesOf(PortClass::kChannelAdapters), own);
  if (port.type == wire::NodeType::kSwitch) add(RulesOf(PortClass::kSwitches), own);
  if (port.type == wire::NodeType::kRouter) add(RulesOf(PortClass::kRouters), own);
  if (port.is_self) add(RulesOf(PortClass::kSelf), own);
  enter(std::move(own));
  for (Guid alias : port.aliases) {
    std::vector<Rule> rules = rules_of(alias);
    add(RulesOf(PortClass::kVirtual), rules);
    enter(std::move(rules));
  }
  for (const Rule& rule : said)
    AddKeys(heads_[rule.partition].number, rule.membership, wanted.keys);
  // Limited members of the default partition could not ask an SA that is one too.
  if (port.is_self) wanted.keys.push_back(kDefaultFullPKey);
  std::sort(wanted.keys.begin(), wanted.keys.end(), IsBefore);
  wanted.keys.erase(std::unique(wanted.keys.begin(), wanted.keys.end()), wanted.keys.end());
  uint16_t first = kDefaultPartition;
  for (const Rule& rule : said)
    if (heads_[rule.partition].index0) first = std::min(first, heads_[rule.partition].number);
  for (PKey key : wanted.keys)
    if (PartitionOf(key) == first && !wanted.first) wanted.first = key;
  return wanted;
}

// ---- where they are

namespace {

class Layout {
 public:
  Layout(const std::vector<PKey>& held, const WantedKeys& wanted, size_t capacity,
         const PartitionIndex& index, bool keep_foreign)
      : held_(held),
        wanted_(wanted),
        index_(index),
        keep_foreign_(keep_foreign),
        missing_(wanted.keys.begin(), wanted.keys.end()) {
    out_.table.resize(capacity);
  }
  KeyLayout Run() {
    LeaveOutWhatDoesNotFit();
    KeepWhatStays();
    ChangeMemberships();
    PutFirst();
    PutTheRest();
    return std::move(out_);
  }

 private:
  PKey Held(size_t at) const {
    return at < held_.size() && PartitionOf(held_[at]) != 0 ? held_[at] : PKey();
  }
  bool IsForeign(PKey key) const { return key && !index_.IsOwn(key); }
  // REQUIRES: it was free.
  void Place(size_t at, PKey key) {
    out_.table[at] = key;
    missing_.erase(key);
  }
  std::optional<size_t> FindFree() {
    while (free_ < out_.table.size() && out_.table[free_]) ++free_;
    return free_ < out_.table.size() ? std::optional(free_) : std::nullopt;
  }

  // Of more keys than there is room for. The default partition comes before all others, for by it
  // ports ask the SA; then the key of index 0, then what is there already: first where nothing
  // displaces it.
  size_t RankOf(PKey key) const {
    if (PartitionOf(key) == kDefaultPartition) return 0;
    if (key == wanted_.first) return 1;
    // Its other membership becomes this one in place, unless both are wanted.
    const PKey other(key.value() ^ kFullMemberBit);
    for (size_t at = 0; at < held_.size(); ++at)
      if (Held(at) == key || (Held(at) == other && !missing_.contains(other)))
        return at == 0 ? held_.size() + 2 : at + 2;
    return held_.size() + 3;
  }
  void LeaveOutWhatDoesNotFit() {
    size_t room = out_.table.size();
    for (size_t at = 0; at < out_.table.size(); ++at) room -= keep_foreign_ && IsForeign(Held(at));
    if (wanted_.keys.size() <= room) return;
    std::vector<PKey> keys = wanted_.keys;
    std::stable_sort(keys.begin(), keys.end(),
                     [this](PKey a, PKey b) { return RankOf(a) < RankOf(b); });
    out_.left_out.assign(keys.begin() + static_cast<std::ptrdiff_t>(room), keys.end());
    std::sort(out_.left_out.begin(), out_.left_out.end(), IsBefore);
    for (PKey key : out_.left_out) missing_.erase(key);
  }

  void KeepWhatStays() {
    for (size_t at = 0; at < out_.table.size(); ++at) {
      const PKey key = Held(at);
      if (key && (missing_.contains(key) || (IsForeign(key) && keep_foreign_))) Place(at, key);
    }
  }
  // In place: who uses the index goes on.
  void ChangeMemberships() {
    for (size_t at = 0; at < out_.table.size(); ++at) {
      const PKey key = Held(at);
      if (!key || out_.table[at] || IsForeign(key)) continue;
      const PKey other(key.value() ^ kFullMemberBit);
      if (missing_.contains(other)) Place(at, other);
    }
  }
  void PutFirst() {
    if (!wanted_.first || out_.table.empty() || out_.table[0] == wanted_.first ||
        IsForeign(out_.table[0]))
      return;
    const auto& out = out_.left_out;
    if (std::find(out.begin(), out.end(), wanted_.first) != out.end()) return;
    const auto found = std::find(out_.table.begin(), out_.table.end(), wanted_.first);
    if (found != out_.table.end()) {
      std::swap(*found, out_.table[0]);
      return;
    }
    const PKey displaced = std::exchange(out_.table[0], PKey());
    Place(0, wanted_.first);
    if (displaced) missing_.insert(displaced);
  }
  void PutTheRest() {
    for (PKey key : wanted_.keys) {
      if (!missing_.contains(key)) continue;
      const auto place = FindFree();
      FABRICD_CHECK(place, "no entry is free for P_Key {}", key);
      Place(*place, key);
    }
  }

  const std::vector<PKey>& held_;
  const WantedKeys& wanted_;
  const PartitionIndex& index_;
  const bool keep_foreign_;
  absl::flat_hash_set<PKey> missing_;  // Wanted, and not placed.
  size_t free_ = 0;                    // No entry before it is.
  KeyLayout out_;
};

}  // namespace

KeyLayout LayOutKeys(const std::vector<PKey>& held, const WantedKeys& wanted, size_t capacity,
                     const PartitionIndex& index, bool keep_foreign) {
  return Layout(held, wanted, capacity, index, keep_foreign).Run();
}

}  // namespace fabricd::policy
