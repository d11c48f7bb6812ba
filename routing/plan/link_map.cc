// SPDX-License-Identifier: Apache-2.0
#include "routing/plan/link_map.h"

#include <algorithm>
#include <utility>

#include "common/sort_unique.h"
#include "routing/plan/plan.h"

namespace fabricd::routing {

using fabric::FabricSnapshot;
using fabric::LidTable;
using fabric::Node;
using fabric::Port;

namespace {

constexpr uint32_t kStrideStep = 8;

uint32_t RoundUp(size_t ports) {
  return static_cast<uint32_t>((ports + kStrideStep - 1) / kStrideStep * kStrideStep);
}

size_t UsedPorts(const Node& node) { return std::min<size_t>(node.ports.size(), kNoRoute); }

// A cap of 0 is what a switch shows whose SwitchInfo was not read: nothing is known against it.
uint32_t TableSize(const Node& node) {
  const bool known = node.switch_info && node.switch_info->linear_fdb_cap != 0;
  return known ? node.switch_info->linear_fdb_cap : 0x10000u;
}

}  // namespace

LinkMap::LinkMap(const FabricSnapshot& snapshot, const LidTable& lids) : snapshot_(snapshot) {
  std::vector<const Node*> switches;
  snapshot.ForEachNode([&](const Node& node) {
    if (!node.IsSwitch()) return;
    switches.push_back(&node);
    least_table_ = std::min(least_table_, TableSize(node));
    stride_ = std::max(stride_, RoundUp(UsedPorts(node)));
  });
  std::sort(switches.begin(), switches.end(),
            [](const Node* a, const Node* b) { return a->guid() < b->guid(); });
  std::vector<NodeIndex> node;
  std::vector<uint32_t> number(snapshot.node_index_end(), kNone);
  for (const Node* found : switches) {
    number[found->index.value()] = static_cast<uint32_t>(node.size());
    node.push_back(found->index);
  }
  node_ = std::make_shared<const std::vector<NodeIndex>>(std::move(node));
  number_ = std::make_shared<const std::vector<uint32_t>>(std::move(number));
  for (uint32_t first = 0; first < size(); first += kChunk) {
    auto chunk = std::make_shared<Chunk>();
    chunk->far.resize(size_t{kChunk} * stride_);
    for (uint32_t s = first; s < std::min(first + kChunk, size()); ++s)
      ReadSwitch(*chunk, s, *switches[s]);
    chunks_.push_back(std::move(chunk));
  }
  std::vector<PortRef> owners(lids.top().value() + size_t{1});
  std::vector<LidPlace> places(owners.size());
  for (size_t lid = 1; lid < owners.size(); ++lid) {
    owners[lid] = lids.Owner(Lid(static_cast<uint16_t>(lid)));
    places[lid] = FindPlace(owners[lid]);
  }
  owners_ = std::make_shared<const std::vector<PortRef>>(std::move(owners));
  places_ = std::make_shared<const std::vector<LidPlace>>(std::move(places));
}

void LinkMap::ReadSwitch(Chunk& chunk, uint32_t s, const Node& node) const {
  const uint32_t at = s % kChunk;
  chunk.ports[at] = static_cast<uint16_t>(UsedPorts(node));
  chunk.end_ports[at] = 0;
  for (size_t port = 1; port < UsedPorts(node); ++port) {
    const FarEnd far = ReadPort(node, port);
    chunk.end_ports[at] = static_cast<uint16_t>(chunk.end_ports[at] + (far.head == far.kEndPort));
    chunk.far[size_t{at} * stride_ + port] = far;
  }
}

FarEnd LinkMap::ReadPort(const Node& node, size_t number) const {
  if (number == 0 || number >= UsedPorts(node)) return {};
  const Port& port = node.ports[number];
  if (!port.IsUp() || port.peer.IsNone()) return {};
  const Port* peer = snapshot_.port(port.peer);
  const uint8_t peer_port = port.peer.port.value();
  // No link of the specification ends at port 0 or 255.
  if (!peer || !peer->IsUp() || peer_port == 0 || peer_port == kNoRoute) return {};
  if (!snapshot_.node(port.peer.node)->IsSwitch()) return {FarEnd::kEndPort, peer_port};
  return {this->number(port.peer.node), peer_port};
}

LidPlace LinkMap::FindPlace(PortRef owner) const {
  const Node* node = owner.IsNone() ? nullptr : snapshot_.node(owner.node);
  if (!node) return {};
  if (node->IsSwitch())
    return owner.port.value() == 0 ? LidPlace{number(owner.node), 0} : LidPlace{};
  const Port* port = snapshot_.port(owner);
  if (!port || port->peer.IsNone()) return {};
  const Node* peer = snapshot_.node(port->peer.node);
  if (!peer || !peer->IsSwitch()) return {};
  const uint8_t at = port->peer.port.value();
  if (ReadPort(*peer, at).head != FarEnd::kEndPort) return {};
  return {number(peer->index), at};
}

std::vector<uint32_t> LinkMap::Components() const {
  std::vector<uint32_t> component(size(), kNone), open;
  for (uint32_t first = 0; first < size(); ++first) {
    if (!IsAlive(first) || component[first] != kNone) continue;
    component[first] = first;
    open.assign(1, first);
    while (!open.empty()) {
      const uint32_t s = open.back();
      open.pop_back();
      for (uint32_t port = 1; port < ports(s); ++port) {
        const FarEnd& far = Ports(s)[port];
        if (!far.IsSwitch() || component[far.head] != kNone) continue;
        component[far.head] = first;
        open.push_back(far.head);
      }
    }
  }
  return component;
}

// One step from a map to the next.
class LinkMap::Update {
 public:
  Update(const LinkMap& base, const FabricSnapshot& snapshot, const LidTable& lids,
         LinkChanges& changes)
      : base_(base), next_(base), lids_(lids), changes_(changes), own_(base.chunks_.size()) {
    next_.snapshot_ = snapshot;
  }

  LinkMap Run() {
    next_.snapshot_.ForEachNotShared(base_.snapshot_, [&](NodeIndex node) { LookAt(node); });
    SortUnique(ports_);
    for (const auto& [s, port] : ports_) LookAtPort(s, port);
    CompareOwners();
    MoveLids();
    std::sort(changes_.gone.begin(), changes_.gone.end());
    std::sort(changes_.come.begin(), changes_.come.end());
    return std::move(next_);
  }

 private:
  static const Node* SwitchAt(const FabricSnapshot& snapshot, NodeIndex index) {
    const Node* node = snapshot.node(index);
    return node && node->IsSwitch() ? node : nullptr;
  }

  void LookAt(NodeIndex index) {
    const Node* was = base_.snapshot_.node(index);
    const Node* is = next_.snapshot_.node(index);
    const Node* old_switch = SwitchAt(base_.snapshot_, index);
    const Node* new_switch = SwitchAt(next_.snapshot_, index);
    if (old_switch && !new_switch) Remove(index);
    if (new_switch && !old_switch) Add(*new_switch);
    if (old_switch && new_switch) {
      changes_.table_sizes |= TableSize(*old_switch) != TableSize(*new_switch);
      if (old_switch->ports.size() != new_switch->ports.size()) Resize(*new_switch);
    }
    // A switch that is an end node now, or the other way: its links lead elsewhere as they stand.
    const bool same_kind = (old_switch == nullptr) == (new_switch == nullptr);
    const size_t count = std::max(was ? was->ports.size() : 0, is ? is->ports.size() : 0);
    for (size_t number = 0; number < count; ++number) {
      const Port* before = was && number < was->ports.size() ? &was->ports[number] : nullptr;
      const Port* after = is && number < is->ports.size() ? &is->ports[number] : nullptr;
      if (same_kind && before && after && before->IsUp() == after->IsUp() &&
          before->peer == after->peer)
        continue;
      const PortRef self{index, PortNum(static_cast<uint8_t>(number))};
      MarkPort(self);
      MarkLids(self);
      for (const Port* side : {before, after})
        if (side) MarkPort(side->peer);
    }
  }

  void MarkPort(PortRef ref) {
    const uint32_t s = ref.IsNone() ? kNone : next_.number(ref.node);
    if (s != kNone && ref.port.value() != 0 && ref.port.value() < kNoRoute)
      ports_.emplace_back(s, ref.port.value());
  }
  void MarkLids(PortRef end) {
    if (end.IsNone()) return;
    const fabric::LidRange range = lids_.Of(end);
    for (uint32_t i = 0; range.base && i < range.count(); ++i)
      marked_lids_.push_back(static_cast<uint16_t>(range.base.value() + i));
  }

  Chunk& Own(uint32_t s) {
    const uint32_t at = s / kChunk;
    if (!own_[at]) {
      own_[at] = std::make_shared<Chunk>(*next_.chunks_[at]);
      next_.chunks_[at] = own_[at];
    }
    return *own_[at];
  }

  void Remove(NodeIndex index) {
    const uint32_t s = next_.number(index);
    changes_.gone.push_back(s);
    Own(s).ports[s % kChunk] = 0;
  }
  void Resize(const Node& node) {
    if (RoundUp(UsedPorts(node)) > next_.stride_) Widen(RoundUp(UsedPorts(node)));
    const uint32_t s = next_.number(node.index);
    Own(s).ports[s % kChunk] = static_cast<uint16_t>(UsedPorts(node));
  }
  void Add(const Node& node) {
    if (next_.number(node.index) == kNone) {
      auto numbers = std::make_shared<std::vector<uint32_t>>(*next_.number_);
      auto nodes = std::make_shared<std::vector<NodeIndex>>(*next_.node_);
      if (node.index.value() >= numbers->size()) numbers->resize(node.index.value() + 1, kNone);
      (*numbers)[node.index.value()] = next_.size();
      nodes->push_back(node.index);
      next_.number_ = std::move(numbers);
      next_.node_ = std::move(nodes);
      if (next_.chunks_.size() * kChunk < next_.size()) {
        own_.push_back(std::make_shared<Chunk>());
        own_.back()->far.resize(size_t{kChunk} * next_.stride_);
        next_.chunks_.push_back(own_.back());
      }
    }
    Resize(node);
    next_.least_table_ = std::min(next_.least_table_, TableSize(node));
    changes_.come.push_back(next_.number(node.index));
  }
  void Widen(uint32_t stride) {
    for (uint32_t at = 0; at < next_.chunks_.size(); ++at) {
      const Chunk& old = *next_.chunks_[at];
      auto wide = std::make_shared<Chunk>();
      wide->ports = old.ports;
      wide->end_ports = old.end_ports;
      wide->far.resize(size_t{kChunk} * stride);
      for (uint32_t s = 0; s < kChunk; ++s)
        std::copy_n(&old.far[size_t{s} * next_.stride_], next_.stride_,
                    &wide->far[size_t{s} * stride]);
      own_[at] = wide;
      next_.chunks_[at] = std::move(wide);
    }
    next_.stride_ = stride;
  }

  void LookAtPort(uint32_t s, uint8_t port) {
    const FarEnd before = s < base_.size() ? base_.far(s, port) : FarEnd{};
    const Node* node = SwitchAt(next_.snapshot_, next_.node(s));
    const FarEnd after = node ? next_.ReadPort(*node, port) : FarEnd{};
    if (s < base_.size()) MarkPeerLids(base_.snapshot_, {base_.node(s), PortNum(port)});
    MarkPeerLids(next_.snapshot_, {next_.node(s), PortNum(port)});
    if (before == after) return;
    Chunk& chunk = Own(s);
    chunk.far[size_t{s % kChunk} * next_.stride_ + port] = after;
    uint16_t& ends = chunk.end_ports[s % kChunk];
    ends = static_cast<uint16_t>(ends + (after.head == FarEnd::kEndPort) -
                                 (before.head == FarEnd::kEndPort));
    changes_.ports.push_back({s, port, before, after});
  }
  void MarkPeerLids(const FabricSnapshot& snapshot, PortRef ref) {
    const Port* port = snapshot.port(ref);
    if (port && !port->peer.IsNone() && !SwitchAt(snapshot, port->peer.node)) MarkLids(port->peer);
  }

  void CompareOwners() {
    const std::vector<PortRef>& old = *base_.owners_;
    const size_t end = lids_.top().value() + size_t{1};
    std::shared_ptr<std::vector<PortRef>> changed;
    for (size_t lid = 0; lid < std::max(end, old.size()); ++lid) {
      const PortRef was = lid < old.size() ? old[lid] : PortRef{};
      const PortRef is = lids_.Owner(Lid(static_cast<uint16_t>(lid)));
      if (was == is) continue;
      if (!changed) {
        changed = std::make_shared<std::vector<PortRef>>(old);
        changed->resize(std::max(end, old.size()));
      }
      (*changed)[lid] = is;
      marked_lids_.push_back(static_cast<uint16_t>(lid));
    }
    if (!changed && end == old.size()) return;
    if (!changed) changed = std::make_shared<std::vector<PortRef>>(old);
    changed->resize(end);
    next_.owners_ = std::move(changed);
  }

  void MoveLids() {
    SortUnique(marked_lids_);
    for (uint16_t lid : marked_lids_) {
      const LidPlace before = base_.place(lid), after = next_.FindPlace(lids_.Owner(Lid(lid)));
      if (!(before == after)) changes_.lids.push_back({Lid(lid), before, after});
    }
    if (changes_.lids.empty() && next_.owners_->size() == next_.places_->size()) return;
    auto places = std::make_shared<std::vector<LidPlace>>(*next_.places_);
    places->resize(next_.owners_->size());
    for (const LinkChanges::LidMove& move : changes_.lids)
      if (move.lid.value() < places->size()) (*places)[move.lid.value()] = move.after;
    next_.places_ = std::move(places);
  }

  const LinkMap& base_;
  LinkMap next_;
  const LidTable& lids_;
  LinkChanges& changes_;
  std::vector<std::shared_ptr<Chunk>> own_;          // [chunk] Copied, so may be written.
  std::vector<std::pair<uint32_t, uint8_t>> ports_;  // To look at.
  std::vector<uint16_t> marked_lids_;                // To find again.
};

LinkMap LinkMap::Next(const FabricSnapshot& snapshot, const LidTable& lids,
                      LinkChanges& changes) const {
  changes = {};
  return Update(*this, snapshot, lids, changes).Run();
}

}  // namespace fabricd::routing
