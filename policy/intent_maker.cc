// SPDX-License-Identifier: Apache-2.0
#include "policy/intent_maker.h"

#include <algorithm>
#include <iterator>

#include "common/sort_unique.h"

namespace fabricd::policy {
namespace {

using fabric::FabricSnapshot;
using fabric::Intent;

// Of nodes that were seen once: their NodeIndex stays.
std::vector<NodeIndex> NodesOf(const HoldTarget& target, const FabricSnapshot& snapshot) {
  std::vector<NodeIndex> nodes;
  for (Guid guid : target.nodes)
    if (const NodeIndex node = snapshot.FindIndex(guid); !node.IsNone()) nodes.push_back(node);
  return nodes;
}

void AddPorts(const std::vector<HeldPort>& ports, const FabricSnapshot& snapshot,
              std::vector<PortRef>& into) {
  for (const HeldPort& port : ports)
    if (const PortRef ref = PortRefOf(port, snapshot); !ref.IsNone()) into.push_back(ref);
}

bool IsEndPort(PortRef ref, const FabricSnapshot& snapshot) {
  const fabric::Node* node = snapshot.node(ref.node);
  return node != nullptr && !node->IsSwitch() && ref.port != PortNum(0) &&
         ref.port.value() < node->ports.size();
}

void AddEndPorts(const fabric::Node& node, std::vector<PortRef>& into) {
  for (const auto& [ref, port] : node.EndPorts()) into.push_back(ref);
}

// The end ports of the target's nodes, and the CA ports that it names.
std::vector<PortRef> EndPortsOf(const HoldTarget& target, const FabricSnapshot& snapshot) {
  std::vector<PortRef> ports;
  for (NodeIndex index : NodesOf(target, snapshot))
    if (const fabric::Node* node = snapshot.node(index)) AddEndPorts(*node, ports);
  std::vector<PortRef> named;
  AddPorts(target.ports, snapshot, named);
  for (PortRef port : named)
    if (IsEndPort(port, snapshot)) ports.push_back(port);
  return ports;
}

void Append(const std::vector<PortRef>& from, std::vector<PortRef>& into) {
  into.insert(into.end(), from.begin(), from.end());
}

void AddDrain(const Hold& hold, const FabricSnapshot& snapshot, Intent& intent) {
  const bool hard = hold.mode == DrainMode::kHard;
  const HoldTarget& target = hold.target;
  AddPorts(target.ports, snapshot, hard ? intent.closed_links : intent.avoided_links);
  if (target.kind == TargetKind::kSwitch) {
    const auto nodes = NodesOf(target, snapshot);
    auto& into = hard ? intent.closed_switches : intent.avoided_switches;
    into.insert(into.end(), nodes.begin(), nodes.end());
  } else if (hard) {
    Append(EndPortsOf(target, snapshot), intent.isolated);
  }
}

void AddIsolate(const Hold& hold, const FabricSnapshot& snapshot, Intent& intent) {
  Append(EndPortsOf(hold.target, snapshot), intent.isolated);
  AddPorts(hold.target.ports, snapshot, intent.closed_links);
  if (hold.target.kind != TargetKind::kSwitch) return;
  const auto nodes = NodesOf(hold.target, snapshot);
  intent.closed_switches.insert(intent.closed_switches.end(), nodes.begin(), nodes.end());
}

// Its end ports and a switch lose their routes before the ports go down: what is under way is not
// to end at a port that is gone.
void AddDisable(const Hold& hold, const FabricSnapshot& snapshot, Intent& intent) {
  AddIsolate(hold, snapshot, intent);
  AddPorts(hold.target.facing, snapshot, intent.disabled);
  AddPorts(hold.target.facing, snapshot, intent.closed_links);
}

}  // namespace

PortRef PortRefOf(const HeldPort& port, const FabricSnapshot& snapshot) {
  const NodeIndex node = snapshot.FindIndex(port.node);
  return node.IsNone() ? PortRef() : PortRef{node, port.port};
}

Intent MakeIntent(const HoldBook& holds, const FabricSnapshot& snapshot,
                  const std::vector<PortRef>& suppressed, PortRef sm_port) {
  Intent intent;
  intent.avoided_links = suppressed;
  for (const auto& [id, hold] : holds.standing()) {
    switch (hold.kind) {
      case HoldKind::kCordon: break;
      case HoldKind::kDrain: AddDrain(hold, snapshot, intent); break;
      case HoldKind::kIsolate:
        AddIsolate(hold, snapshot, intent);
        Append(OwnEndPorts(hold, snapshot), intent.unpartitioned);
        break;
      case HoldKind::kDisable: AddDisable(hold, snapshot, intent); break;
    }
  }
  if (const fabric::Port* own = snapshot.port(sm_port))
    std::erase_if(intent.disabled,
                  [&](PortRef port) { return port == sm_port || port == own->peer; });
  for (const auto& [id, hold] : holds.lifted())
    AddPorts(hold.target.facing, snapshot, intent.reenabled);
  for (auto* list : {&intent.closed_links, &intent.avoided_links, &intent.isolated,
                     &intent.unpartitioned, &intent.disabled, &intent.reenabled})
    SortUnique(*list);
  SortUnique(intent.closed_switches);
  SortUnique(intent.avoided_switches);
  // A target is held while at least one hold stands.
  std::vector<PortRef> free;
  std::set_difference(intent.reenabled.begin(), intent.reenabled.end(), intent.disabled.begin(),
                      intent.disabled.end(), std::back_inserter(free));
  intent.reenabled = std::move(free);
  return intent;
}

std::string NoteOf(const Hold& hold, const FabricSnapshot& snapshot) {
  bool there = false;
  for (Guid guid : hold.target.nodes) there |= snapshot.FindNode(guid) != nullptr;
  for (const HeldPort& port : hold.target.ports) there |= snapshot.FindNode(port.node) != nullptr;
  if (hold.kind == HoldKind::kDisable)  // Which is why the rest may be away.
    for (const HeldPort& port : hold.target.facing)
      there |= snapshot.FindNode(port.node) != nullptr;
  if (!there) return "its target is not in the fabric now";
  const bool adapter =
      hold.target.kind == TargetKind::kHost || hold.target.kind == TargetKind::kHca;
  if (hold.kind == HoldKind::kDrain && hold.mode == DrainMode::kSoft && adapter)
    return "routes stay as they are: nothing else leads there";
  return "";
}

std::vector<PortRef> OwnEndPorts(const Hold& hold, const FabricSnapshot& snapshot) {
  std::vector<PortRef> own = EndPortsOf(hold.target, snapshot);
  if (hold.kind == HoldKind::kIsolate || hold.kind == HoldKind::kDisable) {
    std::vector<PortRef> named;
    AddPorts(hold.target.ports, snapshot, named);
    for (PortRef ref : named) {
      const fabric::Port* port = snapshot.port(ref);
      if (port != nullptr && !port->peer.IsNone() && IsEndPort(port->peer, snapshot))
        own.push_back(port->peer);
    }
  }
  SortUnique(own);
  return own;
}

}  // namespace fabricd::policy
