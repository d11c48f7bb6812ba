// SPDX-License-Identifier: Apache-2.0
// sa/view: what answers are made of: end ports, P_Keys and paths of one view of the fabric.
//
// SaView: all that Subnet Administration answers from, of one moment: a snapshot, its LIDs and the
// verified plan for them, laid out for fast answers. Immutable, so any number of threads may answer
// from it, and an answer never mixes two states of the fabric.
//
// What clients leave behind (services, groups, subscriptions) is no part of it: that is state of
// its own, which changes by requests and not by sweeps.
#pragma once

#include <memory>
#include <vector>

#include "common/ids.h"
#include "fabric/lid_table.h"
#include "fabric/port_tables.h"
#include "fabric/snapshot.h"
#include "mad/wire/sa_state_records.h"
#include "mad/wire/sm_info.h"
#include "routing/plan/multicast_plan.h"
#include "routing/plan/plan.h"
#include "sa/view/end_ports.h"
#include "sa/view/p_key_sets.h"
#include "sa/view/path_table.h"
#include "sa/view/prefix_routes.h"

namespace fabricd::sa {

struct SmFacts {
  SmKey sm_key;  // A request that carries it is trusted. 0: none is.
  uint64_t gid_prefix = 0xFE80000000000000;
  uint8_t packet_life_time = 18;     // Of every path: 4.096 us * 2^n.
  uint8_t response_time_value = 16;  // That ClassPortInfo promises: 4.096 us * 2^n.
  struct Seen {
    PortRef port;
    wire::SmInfo info;
    friend bool operator==(const Seen&, const Seen&) = default;
  };
  std::vector<Seen> managers;  // This one, and the others that were seen.
  PrefixRoutes prefix_routes;  // To other subnets.
  friend bool operator==(const SmFacts&, const SmFacts&) = default;
};

// IPoIB's broadcast group of the default partition (RFC 4391 §5), with what OpenSM gives it: every
// port of the last twenty years can join.
wire::McMemberRecord DefaultBroadcast();

struct ViewInput {
  std::shared_ptr<const fabric::FabricSnapshot> snapshot;   // Not null.
  std::shared_ptr<const fabric::LidTable> lids;             // Not null.
  std::shared_ptr<const routing::RoutingPlan> plan;         // Verified. Null: no paths yet.
  std::vector<PortRef> isolated;                            // Sorted: no path to or from them.
  std::shared_ptr<const fabric::TablesByPort> tables;       // Null: none were read.
  std::shared_ptr<const routing::MulticastPlan> multicast;  // Proved. Null: none.
  // MLIDs of which switches still hold entries of another SM, sorted: allocated last. Null: none.
  std::shared_ptr<const std::vector<Lid>> foreign_mlids;
  // What a port of whose P_Key table nothing is known counts as holding.
  PKey unread_key = kDefaultFullPKey;
  SmFacts sm;
  // Groups that are there without members; of their records what a partition says: no MLID, no
  // selectors, no life time.
  std::vector<wire::McMemberRecord> standing_groups = {DefaultBroadcast()};
  // Of the same values, not only of equal ones.
  friend bool operator==(const ViewInput&, const ViewInput&) = default;
};

// Whether they differ in nothing but multicast tables and MLIDs, which cost nothing to show.
bool HasSameLayout(ViewInput a, const ViewInput& b);

class SaView {
 public:
  // Shares with `before` (may be null) what was laid out of the same values.
  explicit SaView(ViewInput input, const SaView* before = nullptr);

  const ViewInput& input() const { return input_; }
  const fabric::FabricSnapshot& snapshot() const { return *input_.snapshot; }
  const SmFacts& sm() const { return input_.sm; }
  const EndPorts& ends() const { return layout_->ends; }
  const PKeySets& p_keys() const { return layout_->p_keys; }
  const PathTable& paths() const { return layout_->paths; }
  // The number in ends() of the router's port by which other subnets with this prefix are reached;
  // kNone: none is. Of several routes the first whose router is there.
  uint32_t FindRouter(uint64_t prefix) const;
  const fabric::Node& NodeOf(const EndPort& end) const { return *snapshot().node(end.ref.node); }
  // Null: no table of it was read.
  const fabric::PortTables* TablesOf(PortRef end_port) const;

 private:
  // All that takes long to make.
  struct Layout {
    PKeySets p_keys;
    EndPorts ends;
    PathTable paths;
  };
  std::shared_ptr<const Layout> MakeLayout() const;
  EndPort Describe(PortRef ref, const fabric::Port& port, fabric::LidRange lids,
                   const routing::LinkMap& links) const;
  std::vector<PKey> KeysOf(PortRef end_port) const;

  ViewInput input_;
  std::shared_ptr<const Layout> layout_;
};

}  // namespace fabricd::sa
