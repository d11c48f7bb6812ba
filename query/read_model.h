// SPDX-License-Identifier: Apache-2.0
// query: answers about a published view, without gRPC, threads or clocks.
// ReadModel: a published view with the names, orders and look-ups that answers need. Immutable,
// shared between calls.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <absl/status/statusor.h>

#include "fabric/hosts.h"
#include "fabric/names.h"
#include "query/missing_nics.h"
#include "query/places.h"
#include "query/policy_index.h"
#include "query/verdict_view.h"
#include "sweep/interface/view.h"

namespace fabricd::query {

// End a of a switch and another node is the switch, else the lower (GUID, port).
struct LinkEnds {
  PortRef a, b;
};
// REQUIRES: both ends exist in `snapshot`.
bool IsEndA(const fabric::FabricSnapshot& snapshot, PortRef a, PortRef b);

// What a link runs at and could run at.
struct LinkQuality {
  int width_supported = 0;  // Lanes that both ends support; 0 unknown.
  wire::LinkSpeed speed_supported = wire::LinkSpeed::kUnknown;  // That both ends support.
  bool degraded = false;                                        // Up, and below one of these.
};
// REQUIRES: both ends exist in `snapshot`.
LinkQuality QualityOf(const fabric::FabricSnapshot& snapshot, PortRef a, PortRef b);

// Good for all snapshots with the same nodes.
struct NodeOrder {
  NodeOrder(const fabric::FabricSnapshot& snapshot, const fabric::NodeNameMap& map);

  fabric::NodeNames by_name;
  std::vector<std::string> names;  // [NodeIndex], empty for tombstones.
  std::vector<NodeIndex> nodes;    // By name (numbers in it as numbers), then GUID.
};

// What the links of a snapshot come to.
class LinkCounts {
 public:
  struct Of {
    uint8_t as_a = 0;          // Links whose end a the node is.
    uint8_t degraded = 0;      // Its links that are.
    uint8_t ports_active = 0;  // Physical ports.
  };
  explicit LinkCounts(const fabric::FabricSnapshot& snapshot);
  // As if made of `now`, if it was made of `before`.
  LinkCounts Moved(const fabric::FabricSnapshot& before, const fabric::FabricSnapshot& now) const;

  const Of& of(NodeIndex node) const { return of_[node.value()]; }
  uint32_t links() const { return links_; }
  uint32_t degraded() const { return degraded_ends_ / 2; }
  uint32_t ports_active() const { return ports_active_; }

 private:
  void Count(const fabric::FabricSnapshot& snapshot, NodeIndex node);

  std::vector<Of> of_;  // [NodeIndex]
  uint32_t links_ = 0, degraded_ends_ = 0, ports_active_ = 0;
};

struct ReadModel {
  std::shared_ptr<const sweep::FabricView> view;
  std::shared_ptr<const NodeOrder> names;
  std::shared_ptr<const LinkCounts> links;
  std::shared_ptr<const fabric::HostTable> hosts;
  std::shared_ptr<const Places> places;
  std::shared_ptr<const MissingNics> missing;
  std::shared_ptr<const PolicyIndex> policy;    // With the conditions of `verdicts`.
  std::shared_ptr<const VerdictView> verdicts;  // Never null.

  const fabric::FabricSnapshot& snapshot() const { return *view->snapshot; }
  const std::string& name(NodeIndex node) const { return names->names[node.value()]; }
  // False before the first sweep: there is nothing to answer from.
  bool ready() const { return view->sweeps_done > 0 || snapshot().node_count() > 0; }

  // Calls visit(const LinkEnds&) for each link, by the place of its end a in `names->nodes`, then
  // port number.
  template <typename Visit>
  void ForEachLink(Visit&& visit) const {
    for (const NodeIndex index : names->nodes) {
      if (links->of(index).as_a == 0) continue;
      const fabric::Node& node = *snapshot().node(index);
      for (const auto& [ref, port] : node.LinkPorts()) {
        const LinkEnds link{ref, port.peer};
        if (!link.b.IsNone() && IsEndA(snapshot(), link.a, link.b)) visit(link);
      }
    }
  }

  // "leaf1/3", in valid UTF-8.
  std::string port_name(PortRef port) const { return fabric::PortName(name(port.node), port.port); }

  // What operators write (topology_service.proto). Errors carry their ErrorInfo. A node may also be
  // named by one of its ports, or by a host with one HCA.
  absl::StatusOr<fabric::NameTable::Address> Resolve(const std::string& text) const;
  absl::StatusOr<const fabric::Node*> FindNode(const std::string& text) const;
  absl::StatusOr<PortRef> FindPort(const std::string& text) const;

  // A packet's end: an end port and one of its LIDs.
  struct End {
    PortRef port;
    Lid lid;  // 0: the port has none.
  };
  // A node (its first linked end port), one of its end ports, or a LID, which is then the one
  // meant.
  absl::StatusOr<End> FindEnd(const std::string& text) const;

  // From the LID table, or what the port says where that has none (standby, before the first
  // assignment).
  fabric::LidRange LidsOf(PortRef end_port) const;
};

// What a view is read with beside itself.
struct ReadModelInputs {
  std::shared_ptr<const sweep::FabricView> view;
  std::shared_ptr<const fabric::HostTable> hosts;  // Of the view's snapshot.
  const fabric::NodeNameMap& name_map;
  const fabric::HostPatterns& patterns;  // How `hosts` was read.
  std::shared_ptr<const VerdictView> verdicts = NoVerdicts();
};
// What did not change since `before` (may be null) is taken from it: costs what differs.
std::shared_ptr<const ReadModel> MakeReadModel(ReadModelInputs inputs, const ReadModel* before);

}  // namespace fabricd::query
