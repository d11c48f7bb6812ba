// SPDX-License-Identifier: Apache-2.0
#include "routing/multicast/multicast_tree_maker.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/sort_unique.h"

namespace fabricd::routing {
namespace {

bool Has(const std::vector<PortRef>& sorted, PortRef port) {
  return std::binary_search(sorted.begin(), sorted.end(), port);
}

}  // namespace

MulticastTreeMaker::MulticastTreeMaker(const MulticastGraph& graph,
                                       const fabric::FabricSnapshot& usable,
                                       const fabric::LidTable& lids)
    : graph_(graph), usable_(usable), lids_(lids), nodes_(graph.size()) {
  load_.link.assign(graph.arcs.size(), 0);
  load_.node.assign(graph.size(), 0);
  for (uint32_t cap : graph.cap) least_cap_ = std::min(least_cap_, cap);
}

void MulticastTreeMaker::Count(const MulticastTree& tree, int by) {
  uint32_t last = kNone;
  for (PortRef port : tree.ports) {
    const uint32_t arc = graph_.FindArc(port);
    if (arc == kNone) continue;
    const MulticastArc& found = graph_.arcs[arc];
    if (arc < found.reverse) load_.link[arc] += static_cast<uint32_t>(by);
    if (found.tail != last) load_.node[found.tail] += static_cast<uint32_t>(by);
    last = found.tail;
  }
}

// What is kept may stand in the way: a part whose top cannot rise any more serves its own members
// only. Then the tree is made anew, if that serves more.
MulticastTree MulticastTreeMaker::Make(const fabric::MulticastGroup& group,
                                       const MulticastTree* before,
                                       const Orientation& orientation) {
  demand_ = DemandOf(group);
  orientation_ = &orientation;
  MulticastTree tree = MakeOnce(group, before);
  const auto no_order = [](const auto& member) { return member.reason == Unserved::kNoOrder; };
  if (before != nullptr && std::any_of(tree.unserved.begin(), tree.unserved.end(), no_order)) {
    MulticastTree anew = MakeOnce(group, nullptr);
    if (anew.unserved.size() < tree.unserved.size()) return anew;
  }
  return tree;
}

MulticastTree MulticastTreeMaker::MakeOnce(const fabric::MulticastGroup& group,
                                           const MulticastTree* before) {
  Reset();
  tree_ = {group.mlid, {}, {}};
  PlaceMembers(group);
  if (HasTraffic()) {
    if (before != nullptr) KeepLinks(*before);
    Prune();
    FindParts();
    if (Tops().size() > 1) {
      AttachParts(MainPart());
      JoinByTop();
      AttachParts(MainPart());
      Prune();
      FindParts();
    }
    KeepMainOnly(MainPart());
    if (HasTraffic()) ListPorts();
  }
  std::sort(tree_.unserved.begin(), tree_.unserved.end(),
            [](const auto& a, const auto& b) { return a.port_guid < b.port_guid; });
  return std::move(tree_);
}

// Whether anybody can send to anybody.
bool MulticastTreeMaker::HasTraffic() const {
  const auto receives = [](const Placed& member) { return member.receives; };
  return placed_.size() > 1 && std::any_of(placed_.begin(), placed_.end(), receives);
}

void MulticastTreeMaker::Reset() {
  for (uint32_t s : used_) nodes_[s] = Node();
  used_.clear();
  placed_.clear();
}

void MulticastTreeMaker::Enter(uint32_t s) {
  if (nodes_[s].in) return;
  nodes_[s].in = true;
  used_.push_back(s);
}

void MulticastTreeMaker::PlaceMembers(const fabric::MulticastGroup& group) {
  for (const fabric::MulticastMember& member : group.members) {
    const MemberPlace place = PlaceOf(graph_, usable_, lids_, member.port_guid);
    std::optional<Unserved> reason;
    if (place.at == kNone)
      reason = Unserved::kAbsent;
    else if (place.mtu < demand_.mtu || place.rate < demand_.rate)
      reason = Unserved::kTooSlow;
    else if (!graph_.Holds(place.at, demand_))
      reason = Unserved::kTableFull;
    if (reason) {
      tree_.unserved.push_back({member.port_guid, *reason});
      continue;
    }
    placed_.push_back({member.port_guid, place.at, place.port, member.receives});
    Enter(place.at);
    nodes_[place.at].has_member = true;
  }
}

// Links of which both ends have their entry, by the end below. A tree that another SM made, or that
// fitted another order, may have two links up at a switch: one of them stays.
void MulticastTreeMaker::KeepLinks(const MulticastTree& before) {
  for (PortRef port : before.ports) {
    const uint32_t arc = graph_.FindArc(port);
    if (arc == kNone || !MayRise(arc)) continue;
    const MulticastArc& up = graph_.arcs[arc];
    const PortRef far{graph_.node[up.head], PortNum(graph_.arcs[up.reverse].port)};
    if (!Has(before.ports, far) || nodes_[up.tail].up != kNone) continue;
    Enter(up.tail);
    Enter(up.head);
    nodes_[up.tail].up = arc;
  }
}

// Takes away whatever leads to no member.
void MulticastTreeMaker::Prune() {
  std::vector<std::pair<uint32_t, uint32_t>> below;  // Switch above, switch below; sorted.
  std::vector<uint32_t> links(used_.size() ? graph_.size() : 0, 0), open;
  for (uint32_t s : used_) {
    if (!nodes_[s].in || nodes_[s].up == kNone) continue;
    const uint32_t above = graph_.arcs[nodes_[s].up].head;
    below.emplace_back(above, s);
    ++links[s], ++links[above];
  }
  std::sort(below.begin(), below.end());
  const auto is_idle = [&](uint32_t s) {
    return nodes_[s].in && links[s] <= 1 && !nodes_[s].has_member;
  };
  for (uint32_t s : used_)
    if (is_idle(s)) open.push_back(s);
  while (!open.empty()) {
    const uint32_t s = open.back();
    open.pop_back();
    if (!is_idle(s)) continue;
    nodes_[s].in = false;
    if (const uint32_t up = nodes_[s].up; up != kNone) {
      const uint32_t above = graph_.arcs[up].head;
      nodes_[s].up = kNone;
      if (--links[above] <= 1) open.push_back(above);
      continue;
    }
    auto child = std::lower_bound(below.begin(), below.end(), std::pair(s, uint32_t{0}));
    for (; child != below.end() && child->first == s; ++child) {
      Node& node = nodes_[child->second];
      if (!node.in || node.up == kNone || graph_.arcs[node.up].head != s) continue;
      node.up = kNone;
      if (--links[child->second] <= 1) open.push_back(child->second);
    }
  }
  std::erase_if(used_, [&](uint32_t s) {
    if (nodes_[s].in) return false;
    nodes_[s] = Node();
    return true;
  });
}

void MulticastTreeMaker::FindParts() {
  for (uint32_t s : used_) nodes_[s].part = kNone;
  std::vector<uint32_t> way;
  for (uint32_t s : used_) {
    uint32_t at = s;
    way.clear();
    while (nodes_[at].part == kNone && nodes_[at].up != kNone) {
      way.push_back(at);
      at = graph_.arcs[nodes_[at].up].head;
    }
    const uint32_t part = nodes_[at].part == kNone ? at : nodes_[at].part;
    nodes_[at].part = part;
    for (uint32_t passed : way) nodes_[passed].part = part;
  }
}

// Ascending.
std::vector<uint32_t> MulticastTreeMaker::Tops() const {
  std::vector<uint32_t> tops;
  for (uint32_t s : used_)
    if (nodes_[s].part == s) tops.push_back(s);
  std::sort(tops.begin(), tops.end());
  return tops;
}

// That with the most members, then switches.
uint32_t MulticastTreeMaker::MainPart() const {
  std::map<uint32_t, std::pair<size_t, size_t>> size;
  for (const Placed& member : placed_) ++size[nodes_[member.at].part].first;
  for (uint32_t s : used_) ++size[nodes_[s].part].second;
  const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
  return std::max_element(size.begin(), size.end(), less)->first;
}

// Joins parts to the main one by rising ways to it, as long as there are any. A single switch is no
// tree to be joined to: what is made anew chooses its top.
void MulticastTreeMaker::AttachParts(uint32_t main) {
  const auto is_tree = [&](uint32_t s) { return nodes_[s].part == main && nodes_[s].up != kNone; };
  if (std::none_of(used_.begin(), used_.end(), is_tree)) return;
  for (bool more = true; more;) {
    more = false;
    for (uint32_t top : Tops())
      if (top != main && Attach(top, main)) more = true;
  }
}

bool MulticastTreeMaker::Attach(uint32_t top, uint32_t main) {
  std::map<uint32_t, uint32_t> by;  // Switch reached → the arc that reached it.
  std::vector<uint32_t> layer{top}, next;
  uint32_t end = kNone;
  while (!layer.empty() && end == kNone) {
    next.clear();
    std::map<uint32_t, uint32_t> reached;
    for (uint32_t s : layer)
      for (uint32_t arc = graph_.begin[s]; arc < graph_.begin[s + 1]; ++arc) {
        const uint32_t head = graph_.arcs[arc].head;
        const bool of_other = nodes_[head].in && nodes_[head].part != main;
        if (!MayRise(arc) || of_other || head == top || by.contains(head)) continue;
        const auto [it, is_new] = reached.try_emplace(head, arc);
        if (!is_new && LoadOf(arc) < LoadOf(it->second)) it->second = arc;
      }
    for (const auto& [head, arc] : reached) {
      by.emplace(head, arc);
      next.push_back(head);
      const auto rank = [&](uint32_t s) { return std::tuple(LoadOf(by.at(s)), Turned(s)); };
      if (nodes_[head].in && (end == kNone || rank(head) < rank(end))) end = head;
    }
    layer.swap(next);
  }
  if (end == kNone) return false;
  for (uint32_t s = end; s != top;) {
    const uint32_t arc = by.at(s);
    s = graph_.arcs[arc].tail;
    Enter(s);
    nodes_[s].up = arc;
  }
  FindParts();
  return true;
}

// Joins all parts under a new top, as far as one serves them.
void MulticastTreeMaker::JoinByTop() {
  const std::vector<uint32_t> tops = Tops();
  if (tops.size() < 2) return;
  const uint32_t top = ChooseTop(tops);
  Enter(top);
  RiseTo(top, tops);
  FindParts();
}

// The switch that all these can rise to, nearest to the farthest of them; where there is none, one
// that serves the most members.
uint32_t MulticastTreeMaker::ChooseTop(const std::vector<uint32_t>& tops) {
  std::map<uint32_t, uint32_t> members;
  for (const Placed& member : placed_) ++members[nodes_[member.at].part];
  std::vector<uint32_t> served(graph_.size(), 0), sum(graph_.size(), 0);
  std::vector<uint8_t> farthest(graph_.size(), 0);
  for (uint32_t top : tops) {
    const std::vector<uint8_t>& distance = DistancesFrom(top);
    for (uint32_t s = 0; s < graph_.size(); ++s) {
      if (distance[s] == kFar) continue;
      served[s] += members[top];
      sum[s] += distance[s];
      farthest[s] = std::max(farthest[s], distance[s]);
    }
  }
  const auto rank = [&](uint32_t s) {
    return std::tuple(~served[s], farthest[s], sum[s], load_.node[s], Turned(s));
  };
  uint32_t best = 0;
  for (uint32_t s = 1; s < graph_.size(); ++s)
    if (rank(s) < rank(best)) best = s;
  return best;
}

// One after the other, the farthest first, each up to what is there already.
void MulticastTreeMaker::RiseTo(uint32_t top, std::vector<uint32_t> tops) {
  const std::vector<uint8_t> to_top = DistancesTo(top);
  std::erase_if(tops, [&](uint32_t s) { return to_top[s] == kFar; });
  std::stable_sort(tops.begin(), tops.end(),
                   [&](uint32_t a, uint32_t b) { return to_top[a] > to_top[b]; });
  for (uint32_t s : tops)
    while (s != top && nodes_[s].up == kNone) {
      const uint32_t arc = ChooseUp(s, to_top);
      if (arc == kNone) break;
      nodes_[s].up = arc;
      s = graph_.arcs[arc].head;
      Enter(s);
    }
}

// A switch of the tree first, then one that has such a switch above it, so that the tree stays
// small; then the link and the switch with the fewest trees.
uint32_t MulticastTreeMaker::ChooseUp(uint32_t s, const std::vector<uint8_t>& to_top) const {
  const auto leads = [&](uint32_t arc) {
    const uint32_t head = graph_.arcs[arc].head;
    if (!MayRise(arc) || to_top[head] == kFar || to_top[head] + 1 != to_top[graph_.arcs[arc].tail])
      return false;
    // A part of the tree that the top does not serve is no way to it.
    const uint32_t part = nodes_[head].part;
    return part == kNone || to_top[part] != kFar;
  };
  const auto is_near = [&](uint32_t head) {
    for (uint32_t arc = graph_.begin[head]; arc < graph_.begin[head + 1]; ++arc)
      if (nodes_[graph_.arcs[arc].head].in && leads(arc)) return true;
    return false;
  };
  const auto rank = [&](uint32_t arc, int nearness) {
    const uint32_t head = graph_.arcs[arc].head;
    return std::tuple(nearness, LoadOf(arc), load_.node[head], Turned(head));
  };
  uint32_t best = kNone;
  int nearest = 3;
  for (uint32_t arc = graph_.begin[s]; arc < graph_.begin[s + 1]; ++arc) {
    if (!leads(arc)) continue;
    const uint32_t head = graph_.arcs[arc].head;
    const int nearness = nodes_[head].in ? 0 : nearest > 0 && is_near(head) ? 1 : 2;
    if (best != kNone && rank(best, nearest) <= rank(arc, nearness)) continue;
    best = arc;
    nearest = nearness;
  }
  return best;
}

// [switch] Rising hops from it to `top`.
std::vector<uint8_t> MulticastTreeMaker::DistancesTo(uint32_t top) const {
  std::vector<uint8_t> hops(graph_.size(), kFar);
  std::vector<uint32_t> queue{top};
  hops[top] = 0;
  for (size_t i = 0; i < queue.size(); ++i) {
    const uint32_t s = queue[i];
    for (const MulticastArc& arc : graph_.ArcsOf(s))
      if (hops[arc.head] == kFar && hops[s] + 1 < kFar && MayRise(arc.reverse)) {
        hops[arc.head] = static_cast<uint8_t>(hops[s] + 1);
        queue.push_back(arc.head);
      }
  }
  return hops;
}

// [switch] Rising hops to it from `s`.
const std::vector<uint8_t>& MulticastTreeMaker::DistancesFrom(uint32_t s) {
  const uint32_t entry = demand_.entry < least_cap_ ? 0 : demand_.entry;  // Others all hold.
  const auto [it, is_new] =
      distances_.try_emplace(DistanceKey(orientation_, demand_.mtu, demand_.rate, entry, s));
  if (!is_new) return it->second;
  std::vector<uint8_t>& hops = it->second;
  hops.assign(graph_.size(), kFar);
  std::vector<uint32_t> queue{s};
  hops[s] = 0;
  for (size_t i = 0; i < queue.size(); ++i) {
    const uint32_t at = queue[i];
    for (uint32_t arc = graph_.begin[at]; arc < graph_.begin[at + 1]; ++arc) {
      const uint32_t head = graph_.arcs[arc].head;
      if (hops[head] != kFar || hops[at] + 1 >= kFar || !MayRise(arc)) continue;
      hops[head] = static_cast<uint8_t>(hops[at] + 1);
      queue.push_back(head);
    }
  }
  return hops;
}

void MulticastTreeMaker::KeepMainOnly(uint32_t main) {
  const auto is_out = [&](const Placed& member) { return nodes_[member.at].part != main; };
  if (std::any_of(placed_.begin(), placed_.end(), is_out)) {
    const std::vector<uint8_t> joined = JoinedTo(main);
    for (const Placed& member : placed_)
      if (is_out(member))
        tree_.unserved.push_back(
            {member.guid, joined[member.at] ? Unserved::kNoOrder : Unserved::kCutOff});
    std::erase_if(placed_, is_out);
  }
  for (uint32_t s : used_)
    if (nodes_[s].part != main) nodes_[s].in = false;
}

// Marks ([switch]) what links that may be used join to `s`, in whatever order.
std::vector<uint8_t> MulticastTreeMaker::JoinedTo(uint32_t s) const {
  std::vector<uint8_t> joined(graph_.size(), 0);
  std::vector<uint32_t> open{s};
  joined[s] = 1;
  while (!open.empty()) {
    const uint32_t at = open.back();
    open.pop_back();
    for (uint32_t arc = graph_.begin[at]; arc < graph_.begin[at + 1]; ++arc)
      if (const uint32_t head = graph_.arcs[arc].head; !joined[head] && MayUse(arc)) {
        joined[head] = 1;
        open.push_back(head);
      }
  }
  return joined;
}

void MulticastTreeMaker::ListPorts() {
  for (uint32_t s : used_) {
    if (!nodes_[s].in || nodes_[s].up == kNone) continue;
    const MulticastArc& up = graph_.arcs[nodes_[s].up];
    tree_.ports.push_back({graph_.node[s], PortNum(up.port)});
    tree_.ports.push_back({graph_.node[up.head], PortNum(graph_.arcs[up.reverse].port)});
  }
  for (const Placed& member : placed_)
    if (member.receives) tree_.ports.push_back({graph_.node[member.at], member.port});
  SortUnique(tree_.ports);
}

}  // namespace fabricd::routing
