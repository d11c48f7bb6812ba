// SPDX-License-Identifier: Apache-2.0
#include "routing/engines/rail_numbers.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <absl/container/flat_hash_map.h>

namespace fabricd::routing {
namespace {

constexpr uint32_t kMostUpLinks = 4096;  // Of leaves that have different numbers of them.

uint32_t RoundUp(uint32_t value, uint32_t step) { return (value + step - 1) / step * step; }

// The smallest part of `whole` that holds `count` and divides `whole`.
uint32_t SmallestPart(uint32_t whole, uint32_t count) {
  for (uint32_t parts = whole / std::max(count, 1u); parts > 1; --parts)
    if (whole % parts == 0) return whole / parts;
  return whole;
}

}  // namespace

RailNumbers::RailNumbers(const fabric::FabricSnapshot& snapshot, const fabric::Rails& rails,
                         const std::vector<Component>& components)
    : rails_(rails),
      components_(components),
      at_(snapshot.node_index_end()),
      ends_on_(snapshot.node_index_end(), 0),
      place_(rails.hosts.size(), 0),
      shape_(rails.units.size()) {
  for (size_t component = 0; component < components.size(); ++component) {
    const SwitchGraph& graph = *components[component].graph;
    uint32_t position = 0;
    for (const Destination& to : components[component].destinations) {
      At& at = at_[graph.node[to.at].value()];
      if (at.position == kNowhere)
        at = {component, position++, components[component].up_links[to.at], kNowhere};
    }
    for (const EndPort& end : graph.ends)
      if (end.IsHost()) ++ends_on_[graph.node[end.at].value()];
  }
  for (const fabric::RailHost& host : rails.hosts)
    port_of_.push_back(fabric::CommonLeafPort(snapshot, host));
  if (!port_of_.empty()) first_port_ = *std::min_element(port_of_.begin(), port_of_.end());
  PlaceUnits();
  for (uint32_t host = 0; host < rails.hosts.size(); ++host)
    for (PortRef end : rails.hosts[host].ends)
      if (!end.IsNone()) place_of_.emplace(end, Place{rails.hosts[host].unit, place_[host]});
  for (const fabric::MisplacedEnd& end : rails.misplaced)
    place_of_.emplace(end.end, Place{kNowhere, place_[end.host]});
}

std::vector<uint32_t> RailNumbers::UnitsInOrder() const {
  std::vector<uint32_t> units(rails_.units.size());
  std::iota(units.begin(), units.end(), 0u);
  const auto key = [&](uint32_t unit) {
    for (NodeIndex leaf : rails_.units[unit].leaf)
      if (!leaf.IsNone() && at_[leaf.value()].position != kNowhere)
        return std::pair(at_[leaf.value()].component, at_[leaf.value()].position);
    return std::pair(components_.size(), kNowhere);
  };
  std::stable_sort(units.begin(), units.end(),
                   [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  return units;
}

uint32_t RailNumbers::UpLinksOf(const fabric::RailUnit& unit) const {
  uint32_t common = 1, most = 1;
  for (NodeIndex leaf : unit.leaf) {
    const uint32_t links = leaf.IsNone() ? 0 : at_[leaf.value()].up_links;
    if (links == 0) continue;
    most = std::max(most, links);
    if (common <= kMostUpLinks) common = std::lcm(common, links);
  }
  return common <= kMostUpLinks ? common : most;
}

uint32_t RailNumbers::FullestLeaf(const fabric::RailUnit& unit) const {
  uint32_t most = 1;
  for (NodeIndex leaf : unit.leaf)
    if (!leaf.IsNone()) most = std::max(most, ends_on_[leaf.value()]);
  return most;
}

namespace {

// Which rails of which place are taken. Hosts that share no rail may share a place: adapters of one
// machine that nothing but their ports tells to belong together.
class PlaceMap {
 public:
  explicit PlaceMap(size_t rails) : rails_(rails) {}

  bool Fits(const fabric::RailHost& host, uint32_t place) const {
    if (place >= taken_.size()) return true;
    for (size_t rail = 0; rail < rails_; ++rail)
      if (!host.ends[rail].IsNone() && taken_[place][rail]) return false;
    return true;
  }
  void Take(const fabric::RailHost& host, uint32_t place) {
    if (place >= taken_.size()) taken_.resize(place + 1, std::vector<bool>(rails_));
    for (size_t rail = 0; rail < rails_; ++rail)
      if (!host.ends[rail].IsNone()) taken_[place][rail] = true;
  }
  uint32_t FirstFit(const fabric::RailHost& host) const {
    uint32_t place = 0;
    while (!Fits(host, place)) ++place;
    return place;
  }

 private:
  size_t rails_;
  std::vector<std::vector<bool>> taken_;  // [place][rail]
};

}  // namespace

// The unit's hosts by port, the more complete of two first.
std::vector<uint32_t> RailNumbers::ByPort(const fabric::RailUnit& unit) const {
  std::vector<uint32_t> hosts = unit.hosts;
  const auto missing = [&](uint32_t host) {
    const std::vector<PortRef>& ends = rails_.hosts[host].ends;
    return std::count_if(ends.begin(), ends.end(), [](PortRef end) { return end.IsNone(); });
  };
  std::stable_sort(hosts.begin(), hosts.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(port_of_[a], missing(a)) < std::pair(port_of_[b], missing(b));
  });
  return hosts;
}

void RailNumbers::PlaceByPort(const fabric::RailUnit& unit, uint32_t up_links, bool packed) {
  const std::vector<uint32_t> by_port = ByPort(unit);
  const auto count = static_cast<uint32_t>(by_port.size());
  const uint32_t fullest = FullestLeaf(unit);
  const uint32_t limit = fullest <= up_links ? up_links : fullest + fullest / 4;
  PlaceMap map(rails_.names.size());
  std::vector<uint32_t> late;
  uint32_t clashes = 0;
  for (uint32_t host : by_port) {
    const uint32_t place = port_of_[host] - first_port_;
    const bool fits = map.Fits(rails_.hosts[host], place);
    clashes += !fits;
    if (!fits || place >= limit) {
      late.push_back(host);
      continue;
    }
    map.Take(rails_.hosts[host], place);
    place_[host] = place;
  }
  if (!packed && 4 * late.size() <= count) {
    for (uint32_t host : late) {
      place_[host] = map.FirstFit(rails_.hosts[host]);
      map.Take(rails_.hosts[host], place_[host]);
    }
    return;
  }
  // One after another. Where ports tell nothing, names do: the hosts are in their order.
  map = PlaceMap(rails_.names.size());
  uint32_t place = 0;
  const std::vector<uint32_t>& hosts = 4 * clashes > count ? unit.hosts : by_port;
  for (size_t i = 0; i < hosts.size(); ++i) {
    const bool shares = i > 0 && port_of_[hosts[i]] == port_of_[hosts[i - 1]] &&
                        map.Fits(rails_.hosts[hosts[i]], place);
    if (i > 0 && !shares) ++place;
    map.Take(rails_.hosts[hosts[i]], place);
    place_[hosts[i]] = place;
  }
}

void RailNumbers::PlaceUnits() {
  uint32_t ordinal = 0;
  for (uint32_t number : UnitsInOrder()) {
    const fabric::RailUnit& unit = rails_.units[number];
    const uint32_t up_links = UpLinksOf(unit), fullest = FullestLeaf(unit);
    const bool packed = 2 * fullest <= up_links;
    PlaceByPort(unit, up_links, packed);
    uint32_t width = 0;
    for (uint32_t host : unit.hosts) width = std::max(width, place_[host] + 1);
    if (packed) {
      const uint32_t part = SmallestPart(up_links, std::max(fullest, width));
      for (uint32_t host : unit.hosts) place_[host] += ordinal % (up_links / part) * part;
    }
    // More hosts than up links share them: where one leaf ends the next goes on.
    const bool aligned = width <= up_links || width % up_links == 0;
    shape_[number] = {std::max(width, aligned ? up_links : 1), aligned ? up_links : 1};
    for (NodeIndex leaf : unit.leaf)
      if (!leaf.IsNone() && at_[leaf.value()].unit == kNowhere) at_[leaf.value()].unit = number;
    ++ordinal;
  }
}

namespace {

// Gives out the places on one leaf, none twice modulo its up links while there are free ones.
class LeafPlaces {
 public:
  LeafPlaces(uint32_t first, uint32_t up_links) : first_(first), used_(std::max(up_links, 1u), 0) {}

  // The index.
  uint32_t Take(uint32_t place) {
    ++used_[place % used_.size()];
    least_ = *std::min_element(used_.begin(), used_.end());
    return first_ + place;
  }
  // That of a place that meets `wanted` modulo the up links if that is free, else `next_best`.
  uint32_t TakeLike(uint32_t wanted, uint32_t next_best) {
    const auto up_links = static_cast<uint32_t>(used_.size());
    for (uint32_t place : {wanted % up_links, next_best % up_links})
      if (used_[place] == least_) return Take(place);
    return Take(
        static_cast<uint32_t>(std::find(used_.begin(), used_.end(), least_) - used_.begin()));
  }

 private:
  uint32_t first_;
  std::vector<uint32_t> used_;  // [place modulo the up links]
  uint32_t least_ = 0;
};

}  // namespace

std::vector<Destination> RailNumbers::Number(size_t component) const {
  const SwitchGraph& graph = *components_[component].graph;
  absl::flat_hash_map<uint16_t, PortRef> owner;
  for (const EndPort& end : graph.ends)
    if (end.IsHost()) owner.emplace(end.base_lid, end.owner);
  std::vector<Destination> destinations = components_[component].destinations;
  absl::flat_hash_map<uint32_t, LeafPlaces> leaves;
  std::vector<Destination*> strangers;
  uint32_t next = 0;
  for (Destination& to : destinations) {
    const auto end = owner.find(to.base_lid);
    if (end == owner.end()) continue;
    const At& at = at_[graph.node[to.at].value()];
    const auto place = place_of_.find(end->second);
    if (at.unit == kNowhere) {
      strangers.push_back(&to);
      continue;
    }
    auto leaf = leaves.find(to.at);
    if (leaf == leaves.end()) {
      next = RoundUp(next, shape_[at.unit].step);
      leaf = leaves.try_emplace(to.at, next, at.up_links).first;
      next += shape_[at.unit].width;
    }
    if (place != place_of_.end() && place->second.unit == at.unit)
      to.index = leaf->second.Take(place->second.place);
    else
      strangers.push_back(&to);
  }
  for (Destination* to : strangers) {
    const auto leaf = leaves.find(to->at);
    const auto place = place_of_.find(owner.find(to->base_lid)->second);
    // The place of the host that should be at this port: where it is cabled crosswise, its own is
    // that of another.
    const uint32_t by_port = to->port < first_port_ ? 0 : to->port - first_port_;
    if (leaf == leaves.end())
      to->index = next++;
    else
      to->index =
          leaf->second.TakeLike(place != place_of_.end() ? place->second.place : by_port, by_port);
  }
  return destinations;
}

}  // namespace fabricd::routing
