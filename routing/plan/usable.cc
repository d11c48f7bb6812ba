// SPDX-License-Identifier: Apache-2.0
#include "routing/plan/usable.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "common/sort_unique.h"
#include "fabric/snapshot_builder.h"
#include "routing/plan/plan.h"

namespace fabricd::routing {
namespace {

using fabric::FabricSnapshot;
using fabric::Intent;
using fabric::LidRange;
using fabric::LidTable;
using fabric::Node;
using fabric::Port;

PortRef RefOf(const Node& node, size_t port) {
  return {node.index, PortNum(static_cast<uint8_t>(port))};
}

// A link that a table can lead to: both ends up, and named by ports that can stand in a table.
const Node* LivePeer(const FabricSnapshot& snapshot, const Node& node, size_t number) {
  if (number == 0 || number >= kNoRoute) return nullptr;
  const Port& port = node.ports[number];
  if (!port.IsUp() || port.peer.IsNone()) return nullptr;
  const Port* peer = snapshot.port(port.peer);
  const bool fits = peer && peer->IsUp() && port.peer.port.value() != 0 &&
                    port.peer.port.value() != kNoRoute && port.peer.node != node.index;
  return fits ? snapshot.node(port.peer.node) : nullptr;
}

class Groups {
 public:
  explicit Groups(size_t size) : parent_(size), size_(size, 1), holds_ends_(size, 0) {
    std::iota(parent_.begin(), parent_.end(), 0u);
  }
  uint32_t Find(uint32_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void Unite(uint32_t a, uint32_t b) {
    a = Find(a), b = Find(b);
    if (a == b) return;
    parent_[b] = a;
    size_[a] += size_[b];
    holds_ends_[a] |= holds_ends_[b];
  }
  void HoldsEnds(uint32_t i) { holds_ends_[Find(i)] = 1; }
  bool HasEnds(uint32_t i) { return holds_ends_[Find(i)]; }
  uint32_t SizeOf(uint32_t i) { return size_[Find(i)]; }

 private:
  std::vector<uint32_t> parent_, size_;
  std::vector<uint8_t> holds_ends_;
};

// Which avoided links have to be used all the same.
class Avoidance {
 public:
  // `closed` by NodeIndex.
  Avoidance(const FabricSnapshot& snapshot, const Intent& intent, std::vector<uint8_t>& closed)
      : snapshot_(snapshot),
        intent_(intent),
        closed_(closed),
        groups_(snapshot.node_index_end()),
        components_(snapshot.node_index_end()) {}

  void Run() {
    Mark();
    Join();
    std::vector<uint8_t> back(links_.size(), 0);
    PutBack(back, [&](const Link& link) {
      return groups_.HasEnds(link.a.node.value()) && groups_.HasEnds(link.b.node.value());
    });
    // What is connected only by way of switches that hold no end ports.
    const std::vector<uint8_t> split = SplitComponents();
    PutBack(back, [&](const Link& link) {
      const uint32_t a = link.a.node.value(), b = link.b.node.value();
      return split[components_.Find(a)] || IsStranded(a) || IsStranded(b);
    });
    Tell(back);
  }

  // Links to cut, those left to closed switches not among them.
  std::vector<PortRef> unused;
  std::vector<PortRef> needed_links;
  std::vector<NodeIndex> needed_switches;

 private:
  struct Link {
    PortRef a, b;  // a < b
    friend auto operator<=>(const Link&, const Link&) = default;
  };

  bool IsClosed(NodeIndex node) const { return closed_[node.value()] != 0; }

  void Mark() {
    const auto add = [&](const Node& node, size_t number) {
      const Node* peer = LivePeer(snapshot_, node, number);
      if (!node.IsSwitch() || !peer || !peer->IsSwitch()) return;
      if (IsClosed(node.index) || IsClosed(peer->index)) return;
      const PortRef self = RefOf(node, number);
      const auto [a, b] = std::minmax(self, node.ports[number].peer);
      links_.push_back({a, b});
    };
    for (PortRef ref : intent_.avoided_links)
      if (snapshot_.port(ref)) add(*snapshot_.node(ref.node), ref.port.value());
    SortUnique(links_);
    by_wish_ = links_;
    for (NodeIndex index : intent_.avoided_switches)
      if (const Node* node = snapshot_.node(index))
        for (size_t number = 1; number < node->ports.size(); ++number) add(*node, number);
    SortUnique(links_);
    for (const Link& link : links_) {
      avoided_ends_.push_back(link.a);
      avoided_ends_.push_back(link.b);
    }
    std::sort(avoided_ends_.begin(), avoided_ends_.end());
  }
  bool IsAvoided(PortRef end) const {
    return std::binary_search(avoided_ends_.begin(), avoided_ends_.end(), end);
  }

  // By what is not avoided, and by everything.
  void Join() {
    snapshot_.ForEachNode([&](const Node& node) {
      if (!node.IsSwitch() || IsClosed(node.index)) return;
      for (size_t number = 1; number < node.ports.size(); ++number) {
        const Node* peer = LivePeer(snapshot_, node, number);
        if (!peer || IsClosed(peer->index)) continue;
        if (!peer->IsSwitch()) {
          groups_.HoldsEnds(node.index.value());
          components_.HoldsEnds(node.index.value());
          continue;
        }
        components_.Unite(node.index.value(), peer->index.value());
        if (!IsAvoided(RefOf(node, number))) groups_.Unite(node.index.value(), peer->index.value());
      }
    });
  }

  // All of one kind together, then what they join is one.
  template <typename Wanted>
  void PutBack(std::vector<uint8_t>& back, Wanted&& wanted) {
    std::vector<size_t> found;
    for (size_t i = 0; i < links_.size(); ++i) {
      const bool joins =
          groups_.Find(links_[i].a.node.value()) != groups_.Find(links_[i].b.node.value());
      if (!back[i] && joins && wanted(links_[i])) found.push_back(i);
    }
    for (size_t i : found) {
      back[i] = 1;
      groups_.Unite(links_[i].a.node.value(), links_[i].b.node.value());
    }
  }

  // [root of components_] Whether end ports of it cannot reach each other.
  std::vector<uint8_t> SplitComponents() {
    std::vector<uint8_t> split(snapshot_.node_index_end(), 0);
    std::vector<std::optional<uint32_t>> first(snapshot_.node_index_end());
    snapshot_.ForEachNode([&](const Node& node) {
      if (!node.IsSwitch() || !groups_.HasEnds(node.index.value())) return;
      const uint32_t component = components_.Find(node.index.value());
      const uint32_t group = groups_.Find(node.index.value());
      if (!first[component]) first[component] = group;
      split[component] |= *first[component] != group;
    });
    return split;
  }
  // Several switches without end ports, which cannot all hang on a neighbour.
  bool IsStranded(uint32_t node) { return !groups_.HasEnds(node) && groups_.SizeOf(node) > 1; }

  void Tell(const std::vector<uint8_t>& back) {
    std::vector<uint8_t> is_used(snapshot_.node_index_end(), 0);
    for (size_t i = 0; i < links_.size(); ++i) {
      if (!back[i]) continue;
      is_used[links_[i].a.node.value()] = is_used[links_[i].b.node.value()] = 1;
      if (std::binary_search(by_wish_.begin(), by_wish_.end(), links_[i]))
        needed_links.push_back(links_[i].a);
    }
    for (NodeIndex index : intent_.avoided_switches)
      if (index.value() < is_used.size() && is_used[index.value()])
        needed_switches.push_back(index);
    for (const Link& link : links_)
      for (NodeIndex node : {link.a.node, link.b.node})
        if (!groups_.HasEnds(node.value()) && groups_.SizeOf(node.value()) == 1)
          closed_[node.value()] = 1;
    for (size_t i = 0; i < links_.size(); ++i)
      if (!back[i] && !IsClosed(links_[i].a.node) && !IsClosed(links_[i].b.node))
        unused.push_back(links_[i].a);
  }

  const FabricSnapshot& snapshot_;
  const Intent& intent_;
  std::vector<uint8_t>& closed_;
  std::vector<Link> links_, by_wish_;  // Avoided and alive; sorted.
  std::vector<PortRef> avoided_ends_;
  Groups groups_, components_;  // By NodeIndex.
};

class Maker {
 public:
  Maker(const FabricSnapshot& snapshot, const LidTable& lids, const Intent& intent)
      : observed_(snapshot), lids_(lids), intent_(intent), builder_(snapshot) {}

  UsableFabric Run() {
    closed_.assign(observed_.node_index_end(), 0);
    for (NodeIndex index : intent_.closed_switches)
      if (const Node* node = observed_.node(index); node && node->IsSwitch())
        closed_[index.value()] = 1;
    for (const auto* list : {&intent_.closed_links, &intent_.disabled})
      for (PortRef ref : *list) builder_.Unlink(ref);
    for (PortRef ref : intent_.isolated)
      if (const Node* node = observed_.node(ref.node); node && !node->IsSwitch())
        builder_.Unlink(ref);
    if (!intent_.avoided_links.empty() || !intent_.avoided_switches.empty()) Avoid();
    CloseSwitches();
    usable_.snapshot = builder_.Build();
    MoveLids();
    FindCutPorts();
    return std::move(usable_);
  }

 private:
  void Avoid() {
    const auto open = builder_.Build();
    Avoidance avoidance(*open, intent_, closed_);
    avoidance.Run();
    for (PortRef ref : avoidance.unused) builder_.Unlink(ref);
    usable_.needed_links = std::move(avoidance.needed_links);
    usable_.needed_switches = std::move(avoidance.needed_switches);
  }

  void CloseSwitches() {
    for (uint32_t i = 0; i < closed_.size(); ++i)
      if (closed_[i]) usable_.closed.push_back(NodeIndex(i));
    if (usable_.closed.empty()) return;
    const auto open = builder_.Build();
    for (NodeIndex index : usable_.closed) {
      const Node& node = *open->node(index);
      const std::optional<size_t> port = FindHook(*open, node);
      // A router: never a host, whatever it is called.
      wire::NodeInfo info = node.info;
      info.node_type = wire::NodeType::kRouter;
      builder_.PutNode(info);
      builder_.SetDescription(index, node.description);
      builder_.SetPortInfo({index, PortNum(0)}, node.ports[0].info);
      const bool isolated =
          std::binary_search(intent_.isolated.begin(), intent_.isolated.end(), RefOf(node, 0));
      if (!port || isolated) continue;
      builder_.SetPortInfo(RefOf(node, *port), node.ports[*port].info);
      hooks_.push_back({RefOf(node, *port), node.ports[*port].peer});
    }
    // Only now: to make a node anew cuts its links.
    for (const auto& [port, peer] : hooks_) builder_.Link(port, peer);
  }

  // The port by which a closed switch is reached: to the neighbour with the lowest GUID, by a link
  // that is not avoided if there is one.
  std::optional<size_t> FindHook(const FabricSnapshot& open, const Node& node) const {
    std::optional<size_t> best;
    std::tuple<bool, Guid> best_key;
    for (size_t number = 1; number < node.ports.size(); ++number) {
      const Node* peer = LivePeer(open, node, number);
      if (!peer || !peer->IsSwitch() || closed_[peer->index.value()]) continue;
      const std::tuple key{IsAvoided(RefOf(node, number), node.ports[number].peer), peer->guid()};
      if (best && best_key <= key) continue;
      best = number;
      best_key = key;
    }
    return best;
  }
  bool IsAvoided(PortRef a, PortRef b) const {
    const auto& avoided = intent_.avoided_links;
    return std::binary_search(avoided.begin(), avoided.end(), a) ||
           std::binary_search(avoided.begin(), avoided.end(), b);
  }

  void MoveLids() {
    std::shared_ptr<LidTable> own;
    const auto table = [&]() -> LidTable& {
      if (!own) own = std::make_shared<LidTable>(lids_);
      return *own;
    };
    for (const auto& [port, peer] : hooks_) {
      const PortRef old{port.node, PortNum(0)};
      const LidRange range = lids_.Of(old);
      if (!range.base) continue;
      table().Assign(old, {});
      table().Assign(port, range);
    }
    // Last, since tables are to keep their length.
    for (PortRef ref : intent_.isolated)
      if (const LidRange range = lids_.Of(ref); range.base && ref.port.value() == 0)
        table().Release(table().Owner(range.base));
    usable_.lids = own ? own : std::shared_ptr<const LidTable>(std::shared_ptr<void>(), &lids_);
  }

  void FindCutPorts() {
    usable_.snapshot->ForEachNotShared(observed_, [&](NodeIndex index) {
      const Node* node = observed_.node(index);
      const Node* left = usable_.snapshot->node(index);
      if (!node || !left || !left->IsSwitch()) return;
      for (size_t port = 1; port < node->ports.size(); ++port)
        if (LivePeer(observed_, *node, port) && left->ports[port].peer.IsNone())
          usable_.cut.push_back(RefOf(*node, port));
    });
  }

  const FabricSnapshot& observed_;
  const LidTable& lids_;
  const Intent& intent_;
  fabric::SnapshotBuilder builder_;
  std::vector<uint8_t> closed_;                     // [NodeIndex]
  std::vector<std::pair<PortRef, PortRef>> hooks_;  // Of closed switches, with what they hang on.
  UsableFabric usable_;
};

}  // namespace

UsableFabric MakeUsable(const FabricSnapshot& snapshot, const LidTable& lids,
                        const Intent& intent) {
  if (!intent.empty()) return Maker(snapshot, lids, intent).Run();
  UsableFabric usable;
  usable.snapshot = {std::shared_ptr<void>(), &snapshot};
  usable.lids = {std::shared_ptr<void>(), &lids};
  return usable;
}

}  // namespace fabricd::routing
