// SPDX-License-Identifier: Apache-2.0
#include "fabric/snapshot_builder.h"

#include <algorithm>
#include <tuple>

#include "common/port_numbers.h"

namespace fabricd::fabric {
namespace {

constexpr size_t kChunkNodes = FabricSnapshot::kChunkNodes;

// Descriptions go to terminals and line-based files.
std::string WithoutControlCharacters(std::string text) {
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) c = '.';
  }
  return text;
}

}  // namespace

// `next` is edited in place. Whatever it shares with `base` is const; a chunk or node is copied at
// its first edit, and the own_ vectors say which ones have been (and so may be written to).
struct SnapshotBuilder::State {
  std::shared_ptr<const FabricSnapshot> base = std::make_shared<FabricSnapshot>();
  FabricSnapshot next;
  std::vector<std::shared_ptr<FabricSnapshot::Chunk>> own_chunks;  // [chunk]
  std::vector<Node*> own_nodes;                                    // [NodeIndex]
  std::vector<NodeIndex> touched;  // Places whose pointer may differ from base; may repeat.
  std::shared_ptr<absl::flat_hash_map<Guid, NodeIndex>> own_index_by_guid;
  std::shared_ptr<absl::flat_hash_map<Guid, PortRef>> own_port_by_guid;

  void Start(std::shared_ptr<const FabricSnapshot> from) {
    base = std::move(from);
    next = *base;
    own_chunks.assign(next.chunks_.size(), nullptr);
    own_nodes.assign(next.node_index_end_, nullptr);
    touched.clear();
    own_index_by_guid.reset();
    own_port_by_guid.reset();
  }

  std::shared_ptr<const Node>& Slot(NodeIndex index) {
    const size_t chunk = index.value() / kChunkNodes;
    if (!own_chunks[chunk]) {
      own_chunks[chunk] = std::make_shared<FabricSnapshot::Chunk>(*next.chunks_[chunk]);
      next.chunks_[chunk] = own_chunks[chunk];
    }
    return own_chunks[chunk]->nodes[index.value() % kChunkNodes];
  }

  void Place(NodeIndex index, std::shared_ptr<Node> node) {
    own_nodes[index.value()] = node.get();
    touched.push_back(index);
    Slot(index) = std::move(node);
  }

  // REQUIRES: the node is alive.
  Node& Edit(NodeIndex index) {
    if (Node* own = own_nodes[index.value()]) return *own;
    Place(index, std::make_shared<Node>(*next.node(index)));
    return *own_nodes[index.value()];
  }

  Port& Edit(PortRef ref) { return Edit(ref.node).ports[ref.port.value()]; }

  NodeIndex IndexFor(Guid node_guid) {
    if (const NodeIndex known = next.FindIndex(node_guid); !known.IsNone()) return known;
    const NodeIndex index(next.node_index_end_++);
    if (index.value() % kChunkNodes == 0) {
      own_chunks.push_back(std::make_shared<FabricSnapshot::Chunk>());
      next.chunks_.push_back(own_chunks.back());
    }
    own_nodes.push_back(nullptr);
    if (!own_index_by_guid) {
      using Map = absl::flat_hash_map<Guid, NodeIndex>;
      own_index_by_guid = next.index_by_guid_ ? std::make_shared<Map>(*next.index_by_guid_)
                                              : std::make_shared<Map>();
      next.index_by_guid_ = own_index_by_guid;
    }
    own_index_by_guid->emplace(node_guid, index);
    return index;
  }

  void SetPortGuid(PortRef ref, Guid guid) {
    if (next.port(ref)->guid != guid) Edit(ref).guid = guid;
    // Of ports with a duplicate GUID the first keeps the entry, or two devices that both claim it
    // would make a new generation at each sweep.
    if (!guid || !next.FindPort(guid).IsNone()) return;
    if (!own_port_by_guid) {
      using Map = absl::flat_hash_map<Guid, PortRef>;
      own_port_by_guid =
          next.port_by_guid_ ? std::make_shared<Map>(*next.port_by_guid_) : std::make_shared<Map>();
      next.port_by_guid_ = own_port_by_guid;
    }
    (*own_port_by_guid)[guid] = ref;
  }

  void Unlink(PortRef ref) {
    const PortRef peer = next.port(ref)->peer;
    if (peer.IsNone()) return;
    Edit(ref).peer = PortRef{};
    Edit(peer).peer = PortRef{};
  }

  void UnlinkAll(NodeIndex index) {
    const auto last = static_cast<uint8_t>(next.node(index)->ports.size() - 1);
    for (const PortNum port : PortNumbers(PortNum(0), PortNum(last))) Unlink({index, port});
  }

  void Count(const Node& node, int by) {
    next.node_count_ += by;
    if (node.IsSwitch()) next.switch_count_ += by;
  }

  // Gives back what was edited to what it had been. True when anything still differs from base.
  bool Settle() {
    for (const NodeIndex index : touched) {
      const Node* edited = next.node(index);
      const Node* before = base->node(index);
      if (edited == before || !edited || !before || !(*edited == *before)) continue;
      Slot(index) = base->chunks_[index.value() / kChunkNodes]->nodes[index.value() % kChunkNodes];
      own_nodes[index.value()] = nullptr;
    }
    bool changed =
        next.index_by_guid_ != base->index_by_guid_ || next.port_by_guid_ != base->port_by_guid_;
    for (size_t i = 0; i < own_chunks.size(); ++i) {
      if (!own_chunks[i]) continue;
      if (i < base->chunks_.size() && own_chunks[i]->nodes == base->chunks_[i]->nodes) {
        next.chunks_[i] = base->chunks_[i];
      } else {
        changed = true;
      }
    }
    return changed;
  }
};

SnapshotBuilder::SnapshotBuilder() : state_(std::make_unique<State>()) {}
SnapshotBuilder::SnapshotBuilder(const FabricSnapshot& base) : state_(std::make_unique<State>()) {
  state_->Start(std::make_shared<const FabricSnapshot>(base));
}
SnapshotBuilder::~SnapshotBuilder() = default;
SnapshotBuilder::SnapshotBuilder(SnapshotBuilder&&) noexcept = default;
SnapshotBuilder& SnapshotBuilder::operator=(SnapshotBuilder&&) noexcept = default;

NodeIndex SnapshotBuilder::PutNode(const wire::NodeInfo& info) {
  State& state = *state_;
  const NodeIndex index = state.IndexFor(info.node_guid);
  const Node* living = state.next.node(index);
  if (living &&
      (living->info.node_type != info.node_type || living->info.num_ports != info.num_ports)) {
    RemoveNode(index);
    living = nullptr;
  }
  if (!living) {
    auto node = std::make_shared<Node>();
    node->index = index;
    node->info = info;
    node->ports.resize(size_t{info.num_ports} + 1);
    state.Count(*node, 1);
    state.Place(index, std::move(node));
  } else if (!(living->info == info)) {
    state.Edit(index).info = info;
  }
  const PortNum seen = info.node_type == wire::NodeType::kSwitch ? PortNum(0) : info.local_port;
  if (info.port_guid && seen.value() <= info.num_ports &&
      (seen.value() > 0 || info.node_type == wire::NodeType::kSwitch)) {
    state.SetPortGuid({index, seen}, info.port_guid);
  }
  return index;
}

void SnapshotBuilder::RemoveNode(NodeIndex node) {
  State& state = *state_;
  if (!state.next.node(node)) return;
  state.UnlinkAll(node);
  state.Count(*state.next.node(node), -1);
  state.own_nodes[node.value()] = nullptr;
  state.touched.push_back(node);
  state.Slot(node) = nullptr;
}

void SnapshotBuilder::SetDescription(NodeIndex node, std::string description) {
  const Node* living = state_->next.node(node);
  if (!living) return;
  description = WithoutControlCharacters(std::move(description));
  if (living->description != description) {
    state_->Edit(node).description = std::move(description);
  }
}

void SnapshotBuilder::SetUnresponsive(NodeIndex node, bool unresponsive) {
  const Node* known = state_->next.node(node);
  if (known && known->unresponsive != unresponsive) state_->Edit(node).unresponsive = unresponsive;
}

void SnapshotBuilder::SetSwitchInfo(NodeIndex node, const wire::SwitchInfo& info) {
  const Node* living = state_->next.node(node);
  if (!living || !living->IsSwitch() || living->switch_info == info) return;
  state_->Edit(node).switch_info = info;
}

void SnapshotBuilder::SetPortInfo(PortRef port, const wire::PortInfo& info) {
  const Port* now = state_->next.port(port);
  if (!now || (now->known && now->info == info)) return;
  Port& edited = state_->Edit(port);
  edited.known = true;
  edited.info = info;
}

void SnapshotBuilder::SetPortUnknown(PortRef port) {
  const Port* now = state_->next.port(port);
  if (!now || !now->known) return;
  Port& edited = state_->Edit(port);
  edited.known = false;
  edited.info = wire::PortInfo{};
  edited.fdr10 = false;
}

void SnapshotBuilder::SetPortGuid(PortRef port, Guid guid) {
  if (state_->next.port(port)) state_->SetPortGuid(port, guid);
}

void SnapshotBuilder::SetPortFdr10(PortRef port, bool fdr10) {
  const Port* now = state_->next.port(port);
  if (now && now->fdr10 != fdr10) state_->Edit(port).fdr10 = fdr10;
}

void SnapshotBuilder::Link(PortRef a, PortRef b) {
  State& state = *state_;
  const Port* port_a = state.next.port(a);
  if (!port_a || !state.next.port(b) || a == b || !a.port || !b.port || port_a->peer == b) return;
  state.Unlink(a);
  state.Unlink(b);
  state.Edit(a).peer = b;
  state.Edit(b).peer = a;
}

void SnapshotBuilder::Unlink(PortRef port) {
  if (state_->next.port(port)) state_->Unlink(port);
}

const Node* SnapshotBuilder::node(NodeIndex index) const { return state_->next.node(index); }
NodeIndex SnapshotBuilder::FindIndex(Guid node_guid) const {
  return state_->next.FindIndex(node_guid);
}
uint32_t SnapshotBuilder::node_index_end() const { return state_->next.node_index_end_; }

std::shared_ptr<const FabricSnapshot> SnapshotBuilder::Build() {
  State& state = *state_;
  if (state.Settle()) {
    state.next.generation_ = Generation(state.base->generation_.value() + 1);
    state.Start(std::make_shared<const FabricSnapshot>(state.next));
  } else {
    state.Start(state.base);
  }
  return state.base;
}

namespace {

using LinkChange = SnapshotDiff::LinkChange;

// Whether the port's link, if it has one, carries traffic: both ends are at least INIT.
bool LinkIsUp(const FabricSnapshot& snapshot, const Port& port) {
  const Port* peer = snapshot.port(port.peer);
  return peer && port.IsUp() && peer->IsUp();
}

// Adds the links of node `index` that `of` has and `other` has not, or has in another state.
void AddLinkChanges(const FabricSnapshot& of, const FabricSnapshot& other, NodeIndex index,
                    bool of_is_after, std::vector<LinkChange>& changes) {
  const Node* node = of.node(index);
  if (!node) return;
  for (const auto& [self, port] : node->AllPorts()) {
    if (port.peer.IsNone()) continue;
    const Port* twin = other.port(self);
    const bool kept = twin && twin->peer == port.peer;
    const auto [a, b] = std::minmax(self, port.peer);
    if (!kept) {
      changes.push_back({a, b, of_is_after && LinkIsUp(of, port)});
    } else if (of_is_after) {
      const Port& peer = *of.port(port.peer);
      const Port& peer_twin = *other.port(port.peer);
      if (port.IsUp() != twin->IsUp() || peer.IsUp() != peer_twin.IsUp()) {
        changes.push_back({a, b, LinkIsUp(of, port)});
      }
    }
  }
}

}  // namespace

SnapshotDiff Diff(const FabricSnapshot& before, const FabricSnapshot& after) {
  SnapshotDiff diff;
  const uint32_t end = std::max(before.node_index_end(), after.node_index_end());
  for (uint32_t i = 0; i < end; ++i) {
    const NodeIndex index(i);
    const Node* was = before.node(index);
    const Node* is = after.node(index);
    if (was == is) continue;
    if (!was) {
      diff.added.push_back(index);
    } else if (!is) {
      diff.removed.push_back(index);
    } else if (!(*was == *is)) {
      diff.changed.push_back(index);
    } else {
      continue;
    }
    AddLinkChanges(before, after, index, false, diff.links);
    AddLinkChanges(after, before, index, true, diff.links);
  }
  const auto key = [](const LinkChange& c) { return std::tie(c.a, c.b, c.up); };
  std::sort(diff.links.begin(), diff.links.end(),
            [&](const auto& x, const auto& y) { return key(x) < key(y); });
  diff.links.erase(std::unique(diff.links.begin(), diff.links.end(),
                               [&](const auto& x, const auto& y) { return key(x) == key(y); }),
                   diff.links.end());
  return diff;
}

}  // namespace fabricd::fabric
