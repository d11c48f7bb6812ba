// SPDX-License-Identifier: Apache-2.0
#include "fabric/rails.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "fabric/names.h"
#include "fabric/rail_hosts.h"

namespace fabricd::fabric {
namespace {

constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
constexpr size_t kLeastHosts = 2;  // That are wired alike, before it is a design.

struct NaturalLess {
  bool operator()(const std::string& a, const std::string& b) const {
    return CompareNatural(a, b) < 0;
  }
};

// Keys and leaves as numbers whose order is that of names and GUIDs.
struct Wire {
  uint32_t key, leaf;
  friend auto operator<=>(const Wire&, const Wire&) = default;
};
using Wires = std::vector<Wire>;

// What many hosts have in common.
struct Prototype {
  std::map<uint32_t, uint32_t> leaf_by_key;  // Other hosts' keys for the same leaves too.
  Wires wires;                               // Of the design: a leaf once, by key.
  std::vector<uint32_t> hosts;               // That follow it.

  bool HasLeaf(uint32_t leaf) const {
    return std::any_of(wires.begin(), wires.end(),
                       [&](const Wire& wire) { return wire.leaf == leaf; });
  }
};

class RailFinder {
 public:
  RailFinder(const FabricSnapshot& snapshot, std::vector<WiredHost> hosts)
      : snapshot_(snapshot), hosts_(std::move(hosts)) {}

  Rails Find();

 private:
  void NumberKeysAndLeaves();
  // The host's ends on leaves on which it has one end only.
  Wires DesignOf(const std::vector<Wire>& wires) const;
  void FindPrototypes();
  void AddDesign(const Wires& design);
  void ExtendPrototypes(const Wires& design);
  struct Agreement {
    size_t same, placed;  // Of the host's ends, those where the prototype has them; has any.
  };
  Agreement Agree(const Prototype& prototype, size_t host) const;
  void FollowPrototypes();
  uint32_t LikeNeighbors(const std::vector<uint32_t>& follows, size_t host,
                         const std::vector<uint32_t>& possible) const;
  // The wire of the prototype for each of the host's ends, by place; kNone: none.
  std::vector<uint32_t> PlaceEnds(const Prototype& prototype, size_t host) const;
  std::vector<uint32_t> PlaceNameless(const Prototype& prototype, size_t host) const;
  std::vector<uint32_t> Reference(const std::vector<uint32_t>& units) const;
  static std::vector<uint32_t> RailsOf(const Prototype& prototype,
                                       const std::vector<uint32_t>& reference);
  void AddHost(uint32_t host, uint32_t unit, const Prototype& prototype,
               const std::vector<uint32_t>& rail_of, Rails& rails) const;
  std::string WhyNone() const;

  const FabricSnapshot& snapshot_;
  const std::vector<WiredHost> hosts_;
  std::vector<std::string> keys_;         // [key]
  std::vector<NodeIndex> leaves_;         // [leaf]
  std::vector<std::vector<Wire>> wires_;  // [host] As hosts_[].ends; key kNone: none.
  std::vector<Prototype> prototypes_;
  std::vector<uint32_t> follows_;  // [host] Prototype or kNone.
};

void RailFinder::NumberKeysAndLeaves() {
  std::map<std::string, uint32_t, NaturalLess> keys;
  std::map<Guid, std::pair<NodeIndex, uint32_t>> leaves;
  for (const WiredHost& host : hosts_)
    for (const WiredEnd& end : host.ends) {
      if (!end.key.empty()) keys.emplace(end.key, 0);
      leaves.emplace(snapshot_.node(end.leaf.node)->guid(), std::pair(end.leaf.node, 0));
    }
  for (auto& [key, number] : keys) {
    number = static_cast<uint32_t>(keys_.size());
    keys_.push_back(key);
  }
  absl::flat_hash_map<NodeIndex, uint32_t> leaf_number;
  for (auto& [guid, leaf] : leaves) {
    leaf_number.emplace(leaf.first, static_cast<uint32_t>(leaves_.size()));
    leaves_.push_back(leaf.first);
  }
  for (const WiredHost& host : hosts_) {
    std::vector<Wire>& wires = wires_.emplace_back();
    for (const WiredEnd& end : host.ends)
      wires.push_back({end.key.empty() ? kNone : keys.find(end.key)->second,
                       leaf_number.find(end.leaf.node)->second});
  }
}

Wires RailFinder::DesignOf(const std::vector<Wire>& wires) const {
  Wires design;
  for (const Wire& wire : wires) {
    const auto same_leaf = [&](const Wire& other) { return other.leaf == wire.leaf; };
    if (wire.key != kNone && std::count_if(wires.begin(), wires.end(), same_leaf) == 1)
      design.push_back(wire);
  }
  std::sort(design.begin(), design.end());
  return design;
}

void RailFinder::FindPrototypes() {
  std::map<Wires, size_t> count;
  for (const auto& wires : wires_)
    if (Wires design = DesignOf(wires); design.size() >= 2) ++count[std::move(design)];
  std::vector<std::pair<const Wires*, size_t>> designs;
  for (const auto& [design, hosts] : count)
    if (hosts >= kLeastHosts) designs.push_back({&design, hosts});
  std::stable_sort(designs.begin(), designs.end(), [](const auto& a, const auto& b) {
    return std::make_tuple(a.second, a.first->size()) > std::make_tuple(b.second, b.first->size());
  });
  for (const auto& [design, hosts] : designs) AddDesign(*design);
  for (const auto& [design, hosts] : designs) ExtendPrototypes(*design);
}

// A design most of whose leaves a more frequent one has too is a variation of that one: a missing
// HCA, other names for the devices.
void RailFinder::AddDesign(const Wires& design) {
  Prototype* best = nullptr;
  size_t most = 0;
  for (Prototype& prototype : prototypes_) {
    const auto shared =
        static_cast<size_t>(std::count_if(design.begin(), design.end(), [&](const Wire& wire) {
          return prototype.HasLeaf(wire.leaf);
        }));
    if (shared > most) best = &prototype, most = shared;
  }
  if (!best || 2 * most <= design.size()) {
    best = &prototypes_.emplace_back();
    best->wires = design;
  }
  for (const Wire& wire : design)
    if (best->HasLeaf(wire.leaf)) best->leaf_by_key.emplace(wire.key, wire.leaf);
}

// Gives a rail that the most frequent hosts of a unit lack to the unit.
void RailFinder::ExtendPrototypes(const Wires& design) {
  for (Prototype& prototype : prototypes_) {
    size_t shared = 0;
    for (const Wire& wire : design) {
      const auto known = prototype.leaf_by_key.find(wire.key);
      shared += known != prototype.leaf_by_key.end() && known->second == wire.leaf;
    }
    if (2 * shared <= prototype.wires.size()) continue;
    for (const Wire& wire : design) {
      const bool taken =
          prototype.leaf_by_key.contains(wire.key) ||
          std::any_of(prototypes_.begin(), prototypes_.end(),
                      [&](const Prototype& other) { return other.HasLeaf(wire.leaf); });
      if (taken) continue;
      prototype.leaf_by_key.emplace(wire.key, wire.leaf);
      prototype.wires.insert(std::upper_bound(prototype.wires.begin(), prototype.wires.end(), wire),
                             wire);
    }
  }
}

std::vector<uint32_t> RailFinder::PlaceEnds(const Prototype& prototype, size_t host) const {
  if (hosts_[host].nameless) return PlaceNameless(prototype, host);
  const std::vector<Wire>& wires = wires_[host];
  std::vector<uint32_t> place(wires.size(), kNone);
  std::vector<uint8_t> taken(prototype.wires.size(), 0);
  for (const bool named : {true, false}) {
    for (size_t i = 0; i < wires.size(); ++i) {
      if ((wires[i].key != kNone) != named) continue;
      uint32_t leaf = wires[i].leaf;
      if (named) {
        const auto known = prototype.leaf_by_key.find(wires[i].key);
        if (known == prototype.leaf_by_key.end()) continue;
        leaf = known->second;
      }
      for (uint32_t p = 0; p < prototype.wires.size(); ++p)
        if (prototype.wires[p].leaf == leaf && !taken[p]) place[i] = p, taken[p] = 1;
    }
  }
  return place;
}

// Where no adapter is missing, place by place. Else by leaf; what is between two known places goes
// to those between if they are as many.
std::vector<uint32_t> RailFinder::PlaceNameless(const Prototype& prototype, size_t host) const {
  const std::vector<Wire>& wires = wires_[host];
  const auto rails = static_cast<uint32_t>(prototype.wires.size());
  std::vector<uint32_t> place(wires.size(), kNone);
  if (wires.size() == rails) {
    for (uint32_t i = 0; i < rails; ++i) place[i] = i;
    return place;
  }
  uint32_t next = 0;
  for (size_t i = 0; i < wires.size(); ++i)
    for (uint32_t p = next; p < rails && place[i] == kNone; ++p)
      if (prototype.wires[p].leaf == wires[i].leaf) place[i] = p, next = p + 1;
  for (size_t i = 0; i < wires.size(); ++i) {
    if (place[i] != kNone) continue;
    const uint32_t before = i == 0 ? 0 : place[i - 1] == kNone ? kNone : place[i - 1] + 1;
    size_t end = i;
    while (end < wires.size() && place[end] == kNone) ++end;
    const uint32_t after = end < wires.size() ? place[end] : rails;
    if (before == kNone || after - before != end - i) continue;
    for (uint32_t p = before; i < end; ++i, ++p) place[i] = p;
  }
  return place;
}

RailFinder::Agreement RailFinder::Agree(const Prototype& prototype, size_t host) const {
  const std::vector<uint32_t> place = PlaceEnds(prototype, host);
  Agreement agreement{0, 0};
  for (size_t i = 0; i < place.size(); ++i) {
    if (place[i] == kNone) continue;
    ++agreement.placed;
    agreement.same += prototype.wires[place[i]].leaf == wires_[host][i].leaf;
  }
  return agreement;
}

void RailFinder::FollowPrototypes() {
  std::vector<std::vector<uint32_t>> with_leaf(leaves_.size());
  for (uint32_t p = 0; p < prototypes_.size(); ++p)
    for (const Wire& wire : prototypes_[p].wires) with_leaf[wire.leaf].push_back(p);
  follows_.assign(hosts_.size(), kNone);
  std::vector<std::pair<size_t, std::vector<uint32_t>>> unclear;
  for (size_t host = 0; host < hosts_.size(); ++host) {
    std::set<uint32_t> candidates;
    for (const Wire& wire : wires_[host])
      candidates.insert(with_leaf[wire.leaf].begin(), with_leaf[wire.leaf].end());
    size_t most = 0;
    std::vector<uint32_t> possible;
    for (uint32_t p : candidates) {
      const Agreement agreement = Agree(prototypes_[p], host);
      if (agreement.same > 0 && agreement.placed == prototypes_[p].wires.size())
        possible.push_back(p);
      if (2 * agreement.same <= agreement.placed || agreement.same <= most) continue;
      most = agreement.same;
      follows_[host] = p;
    }
    if (most == 0 && !possible.empty() && !hosts_[host].nameless)
      unclear.emplace_back(host, std::move(possible));
  }
  const std::vector<uint32_t> clear = follows_;
  for (const auto& [host, possible] : unclear)
    follows_[host] = LikeNeighbors(clear, host, possible);
}

// Half of the cables or more are misplaced: where those before and after it by number are of one
// unit, so is this host.
uint32_t RailFinder::LikeNeighbors(const std::vector<uint32_t>& follows, size_t host,
                                   const std::vector<uint32_t>& possible) const {
  const std::string family = FamilyOf(hosts_[host].name);
  size_t before = host, after = host + 1;
  while (before > 0 && follows[before - 1] == kNone) --before;
  while (after < hosts_.size() && follows[after] == kNone) ++after;
  std::set<uint32_t> units;
  if (before > 0 && FamilyOf(hosts_[before - 1].name) == family) units.insert(follows[before - 1]);
  if (after < hosts_.size() && FamilyOf(hosts_[after].name) == family) units.insert(follows[after]);
  if (units.size() == 2) {
    // At the border of two units: the only one of them that it has to do with.
    std::erase_if(units, [&](uint32_t p) {
      return std::find(possible.begin(), possible.end(), p) == possible.end();
    });
  }
  if (units.size() != 1) return kNone;
  const bool is_possible =
      std::find(possible.begin(), possible.end(), *units.begin()) != possible.end();
  return is_possible ? *units.begin() : kNone;
}

// The rails of the unit with the most, among equals of the one with the most hosts.
std::vector<uint32_t> RailFinder::Reference(const std::vector<uint32_t>& units) const {
  std::map<std::vector<uint32_t>, size_t> hosts_with;
  for (uint32_t p : units) {
    std::vector<uint32_t> keys;
    for (const Wire& wire : prototypes_[p].wires) keys.push_back(wire.key);
    hosts_with[keys] += prototypes_[p].hosts.size();
  }
  std::vector<uint32_t> reference;
  size_t most = 0;
  for (const auto& [keys, hosts] : hosts_with)
    if (std::make_tuple(keys.size(), hosts) > std::make_tuple(reference.size(), most))
      reference = keys, most = hosts;
  return reference;
}

// [wire of the prototype] Its rail: that of the same device elsewhere, else its place.
std::vector<uint32_t> RailFinder::RailsOf(const Prototype& prototype,
                                          const std::vector<uint32_t>& reference) {
  std::vector<uint32_t> rails, places;
  for (const Wire& wire : prototype.wires) {
    places.push_back(static_cast<uint32_t>(places.size()));
    const auto known = std::lower_bound(reference.begin(), reference.end(), wire.key);
    if (known != reference.end() && *known == wire.key)
      rails.push_back(static_cast<uint32_t>(known - reference.begin()));
  }
  return rails.size() == places.size() ? rails : places;
}

void RailFinder::AddHost(uint32_t host, uint32_t unit, const Prototype& prototype,
                         const std::vector<uint32_t>& rail_of, Rails& rails) const {
  const auto number = static_cast<uint32_t>(rails.hosts.size());
  RailHost& added = rails.hosts.emplace_back();
  added.name = hosts_[host].name;
  added.unit = unit;
  added.ends.resize(rails.names.size());
  rails.units[unit].hosts.push_back(number);
  const std::vector<uint32_t> place = PlaceEnds(prototype, host);
  std::vector<MisplacedEnd> misplaced;
  for (size_t i = 0; i < place.size(); ++i) {
    if (place[i] == kNone) continue;
    const WiredEnd& end = hosts_[host].ends[i];
    const uint32_t rail = rail_of[place[i]];
    const uint32_t expected = prototype.wires[place[i]].leaf;
    if (expected == wires_[host][i].leaf) {
      added.ends[rail] = end.end;
      continue;
    }
    const std::string device =
        hosts_[host].nameless ? fmt::format("{}", snapshot_.node(end.end.node)->guid()) : end.key;
    misplaced.push_back({number, device, end.end, end.leaf, leaves_[expected], rail});
  }
  std::sort(misplaced.begin(), misplaced.end(),
            [](const MisplacedEnd& a, const MisplacedEnd& b) { return a.rail < b.rail; });
  std::move(misplaced.begin(), misplaced.end(), std::back_inserter(rails.misplaced));
}

std::string RailFinder::WhyNone() const {
  size_t several = 0, apart = 0;
  const WiredHost* example = nullptr;
  for (size_t host = 0; host < hosts_.size(); ++host) {
    several += wires_[host].size() >= 2;
    if (DesignOf(wires_[host]).size() < 2) continue;
    ++apart;
    if (!example) example = &hosts_[host];
  }
  if (hosts_.empty()) return "no HCA is cabled to a switch";
  if (several == 0)
    return fmt::format("each of {} hosts has one HCA port (the first is {})", hosts_.size(),
                       hosts_.front().name);
  if (apart == 0)
    return fmt::format("none of {} hosts with several HCA ports has them on different switches",
                       several);
  return fmt::format(
      "of {} hosts with HCA ports on different switches no two are wired alike "
      "(the first is {})",
      apart, example->name);
}

Rails RailFinder::Find() {
  NumberKeysAndLeaves();
  FindPrototypes();
  FollowPrototypes();
  for (uint32_t host = 0; host < hosts_.size(); ++host)
    if (follows_[host] != kNone) prototypes_[follows_[host]].hosts.push_back(host);
  std::vector<uint32_t> units;
  for (uint32_t p = 0; p < prototypes_.size(); ++p)
    if (prototypes_[p].hosts.size() >= kLeastHosts) units.push_back(p);
  const auto lowest_leaf = [&](uint32_t p) {
    uint32_t lowest = kNone;
    for (const Wire& wire : prototypes_[p].wires) lowest = std::min(lowest, wire.leaf);
    return lowest;
  };
  std::sort(units.begin(), units.end(), [&](uint32_t a, uint32_t b) {
    const uint32_t leaf_a = lowest_leaf(a), leaf_b = lowest_leaf(b);
    return std::tie(leaf_a, prototypes_[a].wires) < std::tie(leaf_b, prototypes_[b].wires);
  });
  Rails rails;
  if (units.empty()) {
    rails.why_none = WhyNone();
    return rails;
  }
  const std::vector<uint32_t> reference = Reference(units);
  for (uint32_t key : reference) rails.names.push_back(keys_[key]);
  std::vector<uint32_t> unit_of(prototypes_.size(), kNone);
  std::vector<std::vector<uint32_t>> rail_of;
  for (uint32_t unit = 0; unit < units.size(); ++unit) {
    const Prototype& prototype = prototypes_[units[unit]];
    unit_of[units[unit]] = unit;
    rail_of.push_back(RailsOf(prototype, reference));
    std::vector<NodeIndex>& leaf = rails.units.emplace_back().leaf;
    leaf.resize(reference.size(), NodeIndex::None());
    for (size_t p = 0; p < prototype.wires.size(); ++p)
      leaf[rail_of.back()[p]] = leaves_[prototype.wires[p].leaf];
  }
  for (uint32_t host = 0; host < hosts_.size(); ++host) {
    const uint32_t unit = follows_[host] == kNone ? kNone : unit_of[follows_[host]];
    if (unit != kNone) AddHost(host, unit, prototypes_[follows_[host]], rail_of[unit], rails);
  }
  return rails;
}

}  // namespace

Rails FindRails(const FabricSnapshot& snapshot, const HostTable& hosts) {
  return RailFinder(snapshot, FindWiredHosts(snapshot, hosts)).Find();
}

std::string FamilyOf(const std::string& host) {
  std::string family;
  for (const char c : host)
    if (c < '0' || c > '9') family += c;
  return family;
}

uint8_t CommonLeafPort(const FabricSnapshot& snapshot, const RailHost& host) {
  std::array<uint32_t, 256> count{};
  for (PortRef end : host.ends)
    if (const Port* port = end.IsNone() ? nullptr : snapshot.port(end))
      ++count[port->peer.port.value()];
  return static_cast<uint8_t>(std::max_element(count.begin(), count.end()) - count.begin());
}

std::string DescribePlaces(const MisplacedEnd& misplaced, const FabricSnapshot& snapshot) {
  return fmt::format("hangs on {}, expected on {}",
                     PortName(*snapshot.node(misplaced.found.node), misplaced.found.port),
                     DisplayName(*snapshot.node(misplaced.expected)));
}

std::string Describe(const MisplacedEnd& misplaced, const Rails& rails,
                     const FabricSnapshot& snapshot) {
  return fmt::format("HCA {} of {} {}", misplaced.device, rails.hosts[misplaced.host].name,
                     DescribePlaces(misplaced, snapshot));
}

}  // namespace fabricd::fabric
