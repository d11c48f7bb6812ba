// SPDX-License-Identifier: Apache-2.0
// ReadModel: a published view with the names, orders and look-ups that answers need. Immutable,
// shared between calls. Models makes them, one index per snapshot, and keeps those that page tokens
// point to.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <absl/status/statusor.h>

#include "daemon/backend.h"
#include "daemon/rpc/places.h"
#include "daemon/rpc/policy_index.h"

namespace fabricd::rpc {

struct LinkEnds {
  PortRef a, b;
};

// What a link runs at and could run at.
struct LinkQuality {
  int width_supported = 0;  // Lanes that both ends support; 0 unknown.
  wire::LinkSpeed speed_supported = wire::LinkSpeed::kUnknown;  // That both ends support.
  bool degraded = false;                                        // Up, and below one of these.
};
// REQUIRES: both ends exist in `snapshot`.
LinkQuality QualityOf(const fabric::FabricSnapshot& snapshot, PortRef a, PortRef b);

// Of one snapshot and the node-name-map.
struct FabricIndex {
  FabricIndex(const fabric::FabricSnapshot& snapshot, const fabric::NodeNameMap& map);

  std::vector<std::string> names;  // [NodeIndex], empty for tombstones.
  std::vector<NodeIndex> nodes;    // By name (numbers in it as numbers), then GUID.
  // End a of a switch and another node is the switch, else the lower (GUID, port). By the place of
  // a in `nodes`, then port number.
  std::vector<LinkEnds> links;
  std::vector<uint8_t> links_degraded;  // [NodeIndex]
  uint32_t links_degraded_total = 0;
  uint32_t ports_active = 0;  // Physical ports.
};

struct ReadModel {
  std::shared_ptr<const sweep::FabricView> view;
  std::shared_ptr<const FabricIndex> index;
  std::shared_ptr<const fabric::HostTable> hosts;
  std::shared_ptr<const Places> places;
  std::shared_ptr<const fabric::NameTable> names;  // Of the view's snapshot and LIDs.
  std::shared_ptr<const PolicyIndex> policy;
  const fabric::NodeNameMap* name_map = nullptr;

  const fabric::FabricSnapshot& snapshot() const { return *view->snapshot; }
  const std::string& name(NodeIndex node) const { return index->names[node.value()]; }
  // False before the first sweep: there is nothing to answer from.
  bool ready() const { return view->sweeps_done > 0 || snapshot().node_count() > 0; }

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

// Any thread.
class Models {
 public:
  explicit Models(const daemon::Backend& backend);

  std::shared_ptr<const ReadModel> Current();
  // UNAVAILABLE, NOT_READY before the first sweep.
  absl::StatusOr<std::shared_ptr<const ReadModel>> Ready();
  // Keeps the model for kKeep, or until kMostKept others were kept later.
  void Keep(const std::shared_ptr<const ReadModel>& model);
  // Null: not kept (any more).
  std::shared_ptr<const ReadModel> Find(Generation generation);
  // Differs between starts of the daemon: generations begin anew.
  uint32_t epoch() const { return epoch_; }

 private:
  static constexpr std::chrono::seconds kKeep{60};
  static constexpr size_t kMostKept = 8;
  struct Kept {
    std::shared_ptr<const ReadModel> model;
    std::chrono::steady_clock::time_point until;
  };
  void DropOld();

  const daemon::Backend& backend_;
  const uint32_t epoch_;
  std::mutex mutex_;  // Also held while an index is made: it is made once.
  std::shared_ptr<const ReadModel> current_;
  std::vector<Kept> kept_;  // Oldest first.
};

}  // namespace fabricd::rpc
