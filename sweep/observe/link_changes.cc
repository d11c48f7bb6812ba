// SPDX-License-Identifier: Apache-2.0
#include "sweep/observe/link_changes.h"

#include <algorithm>

namespace fabricd::sweep {
namespace {

using fabric::FabricSnapshot;
using fabric::Port;

const Port* KnownPort(const FabricSnapshot& snapshot, PortRef ref) {
  const Port* port = snapshot.port(ref);
  return port != nullptr && port->known ? port : nullptr;
}

// A port that was configured and is now INIT has trained again.
bool HasRetrained(const Port* before, const Port* after) {
  return before != nullptr && after != nullptr &&
         before->info.port_state >= wire::PortState::kArmed &&
         after->info.port_state == wire::PortState::kInit;
}

bool IsDown(const Port* port) { return port != nullptr && !port->IsUp(); }

class Finder {
 public:
  Finder(const FabricSnapshot& before, const FabricSnapshot& after)
      : before_(before), after_(after) {}

  void Look(NodeIndex index) {
    const fabric::Node* old = before_.node(index);
    const fabric::Node* now = after_.node(index);
    const size_t end = std::max(old ? old->ports.size() : 0, now ? now->ports.size() : 0);
    for (size_t num = 1; num < end; ++num) {
      const PortRef port{index, PortNum(static_cast<uint8_t>(num))};
      const PortRef old_peer = PeerOf(old, num), new_peer = PeerOf(now, num);
      if (!old_peer.IsNone()) LookAtOld(port, old_peer);
      if (!new_peer.IsNone() && new_peer != old_peer)
        changes_.push_back({std::min(port, new_peer), std::max(port, new_peer), false, true});
    }
  }
  std::vector<LinkChange> Take() {
    std::sort(changes_.begin(), changes_.end(), [](const LinkChange& x, const LinkChange& y) {
      return std::tie(x.a, x.b, x.went_down, x.came_up) <
             std::tie(y.a, y.b, y.went_down, y.came_up);
    });
    // Both ends report it.
    changes_.erase(std::unique(changes_.begin(), changes_.end()), changes_.end());
    return std::move(changes_);
  }

 private:
  static PortRef PeerOf(const fabric::Node* node, size_t num) {
    return node != nullptr && num < node->ports.size() && node->ports[num].IsUp()
               ? node->ports[num].peer
               : PortRef();
  }

  void LookAtOld(PortRef one, PortRef other) {
    const PortRef a = std::min(one, other), b = std::max(one, other);
    const Port *old_a = KnownPort(before_, a), *old_b = KnownPort(before_, b);
    const Port *new_a = KnownPort(after_, a), *new_b = KnownPort(after_, b);
    const bool linked = new_a != nullptr && new_a->IsUp() && new_a->peer == b;
    const bool retrained = HasRetrained(old_a, new_a) || HasRetrained(old_b, new_b);
    if (linked && retrained)
      changes_.push_back({a, b, true, true});
    else if (!linked && (IsDown(new_a) || IsDown(new_b) || retrained))
      changes_.push_back({a, b, true, false});
  }

  const FabricSnapshot &before_, &after_;
  std::vector<LinkChange> changes_;
};

}  // namespace

std::vector<LinkChange> FindLinkChanges(const FabricSnapshot& before, const FabricSnapshot& after) {
  Finder finder(before, after);
  before.ForEachNotShared(after, [&](NodeIndex index) { finder.Look(index); });
  return finder.Take();
}

}  // namespace fabricd::sweep
