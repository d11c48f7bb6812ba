// SPDX-License-Identifier: Apache-2.0
// ObservedFabric: what devices have returned: the builder that collects it, the snapshot that all
// other code uses, and what could not be read. Edits go into the builder as responses arrive.
// Rebuild() makes the snapshot when an activity is ready for it.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fabric/snapshot_builder.h"
#include "mad/transport.h"
#include "sweep/observe/active_links.h"
#include "sweep/observe/discovery.h"

namespace fabricd::sweep {

class ObservedFabric {
 public:
  // `own`: the SM's port, as named by the transport.
  explicit ObservedFabric(mad::LocalPort own) : own_(std::move(own)), snapshot_(builder_.Build()) {}

  const mad::LocalPort& own() const { return own_; }

  fabric::SnapshotBuilder& builder() { return builder_; }
  const std::shared_ptr<const fabric::FabricSnapshot>& snapshot() const { return snapshot_; }
  const PortRef& local() const { return local_; }  // The SM's port. None: not discovered yet.
  // Attributes that present devices did not return, at most kMaxUnread.
  const std::vector<Unread>& unread() const { return unread_; }

  void Rebuild() { snapshot_ = builder_.Build(); }
  // A whole discovery has filled the builder.
  void OnDiscovered(PortRef local, std::vector<Unread> unread);
  void AddUnread(const std::vector<Unread>& unread);

  // As it was last read.
  bool HasOwnPortUp() const {
    const fabric::Port* own = snapshot_->port(local_);
    return own != nullptr && own->IsUp();
  }
  // Why the SM's own port leads to no manageable node; empty: it does. `may_be_held` is appended to
  // the statement that it has no link.
  std::string OwnLinkFault(std::string_view may_be_held) const;
  // No other node responds.
  bool IsAlone() const { return snapshot_->node_count() <= 1 || !OwnLinkFault({}).empty(); }
  // Ports whose link is up at both ends but that are not ACTIVE. The cost depends on the changes.
  const std::set<PortRef>& InactivePorts();
  // Switches with ports that were not read and are not in unread(): discovery does not wait for
  // ports that are down.
  std::vector<NodeIndex> SwitchesPassedOver() const;
  // These switches, and the switches that these hosts are attached to. Sorted by index, with
  // duplicates.
  std::vector<NodeIndex> SwitchesOf(const std::vector<NodeIndex>& nodes) const;
  // The switch itself (port 0), or the switch port that this end port is attached to. None:
  // unknown.
  PortRef SwitchPortOf(PortRef end_port) const;

  // "leaf1/17"; port 0: "leaf1".
  std::string NameOf(PortRef port) const;
  // The same of a link; `peer` may be none.
  std::string NameOf(PortRef port, PortRef peer) const;

 private:
  const mad::LocalPort own_;
  fabric::SnapshotBuilder builder_;
  std::shared_ptr<const fabric::FabricSnapshot> snapshot_;  // Never null.
  PortRef local_;
  std::vector<Unread> unread_;
  ActiveLinks active_links_;
};

}  // namespace fabricd::sweep
