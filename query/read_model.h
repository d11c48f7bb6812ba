// SPDX-License-Identifier: Apache-2.0
// ReadModel: a published view with the names, orders and look-ups that answers need. Immutable,
// shared between calls. Models makes them, each from the one before, at the cost of what differs,
// and keeps those that page tokens point to.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <absl/status/statusor.h>

#include "daemon/base/backend.h"
#include "query/missing_nics.h"
#include "query/places.h"
#include "query/policy_index.h"

namespace fabricd::rpc {

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
  std::shared_ptr<const PolicyIndex> policy;

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
      for (size_t number = 1; number < node.ports.size(); ++number) {
        const LinkEnds link{{index, PortNum(static_cast<uint8_t>(number))},
                            node.ports[number].peer};
        if (!link.b.IsNone() && IsEndA(snapshot(), link.a, link.b)) visit(link);
      }
    }
  }

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
  ~Models();

  // Of the latest view. Where it is not made yet, waits for the thread that makes it: once for all
  // who ask, and at ordinary priority. Threads with a niceness ask too, and a model that one of
  // them made would keep all others waiting for as long as the processors are busy.
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
  static constexpr size_t kMostKept = 32;
  struct Kept {
    std::shared_ptr<const ReadModel> model;
    std::chrono::steady_clock::time_point until;
  };
  void DropOld();
  void MakeModels();
  std::shared_ptr<const ReadModel> Make(std::shared_ptr<const sweep::FabricView> view) const;

  const daemon::Backend& backend_;
  const uint32_t epoch_;
  std::mutex mutex_;
  std::condition_variable asked_changed_, made_changed_;
  uint64_t asked_ = 0, made_ = 0;  // How often Current() had to ask; up to which that is answered.
  bool stopping_ = false;
  std::shared_ptr<const ReadModel> current_;  // Set by the thread alone.
  std::vector<Kept> kept_;                    // Oldest first.
  std::thread thread_;
};

}  // namespace fabricd::rpc
