// SPDX-License-Identifier: Apache-2.0
#include "sweep/observe/findings.h"

#include <utility>

#include "sweep/observe/paths.h"

namespace fabricd::sweep {

void Findings::NoteFirst(PortRef port, PortRef peer) {
  if (!changes.about.IsNone()) return;
  changes.about = port;
  changes.peer = peer;
}

bool Findings::Lose(PortRef port, PortRef peer) {
  const fabric::Node* node = peer.IsNone() ? nullptr : ground_.builder.node(peer.node);
  if (node == nullptr) return false;  // The other end of a link that is known to be lost.
  ground_.builder.Unlink(port);
  paths_dirty = lost_something = true;
  NoteFirst(port, peer);
  Touch(port.node);
  Touch(peer.node);
  if (node->IsSwitch()) return true;
  ground_.builder.SetPortUnknown(peer);
  return false;
}

void Findings::Repath(PortRef local, const Moved& moved) {
  if (!std::exchange(paths_dirty, false)) return;
  const PathChanges paths = RefreshPaths(ground_.builder, local, ground_.devices);
  for (const auto& [node, from, to] : paths.moved) {
    ground_.engine.Redirect(node.value(), from, to);
    moved(node, from, to);
  }
  for (NodeIndex node : paths.unreached) Remove(node);
}

void Findings::Remove(NodeIndex node) {
  for (const fabric::Port& port : ground_.builder.node(node)->ports)
    if (!port.peer.IsNone()) Touch(port.peer.node);
  ground_.builder.RemoveNode(node);
  ground_.devices.Remove(node);
  ground_.engine.GiveUp(node.value());
  changes.gone.push_back(node);
  lost_something = true;
}

SurveyChanges Findings::Take() {
  lost_something = false;
  return std::exchange(changes, {});
}

}  // namespace fabricd::sweep
