// SPDX-License-Identifier: Apache-2.0
// routing/plan: plans as values: rows, blocks, differences, and what a plan was made for.
//
// RoutingPlan: the unicast part of the FabricPlan. One row of bytes per switch, shared between
// generations where equal; immutable once an engine has returned it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/ids.h"
#include "routing/plan/row.h"
#include "routing/plan/tree_layout.h"

namespace fabricd::routing {

inline constexpr uint8_t kNoRoute = 255;  // As LinearForwardingTable has it.

// A (switch, destination) that the plan leaves at kNoRoute on purpose, with the reason in the
// engine's notes. The verifier accepts these pairs and no others.
struct ExemptPair {
  NodeIndex source_switch;
  Lid destination;
  friend bool operator==(const ExemptPair&, const ExemptPair&) = default;
};

struct RoutingPlan {
  std::string engine;  // As RoutingEngine::name() has it.
  // [NodeIndex] Egress port by LID; null for what is not a living switch. The size is a multiple of
  // 64 (whole LFT blocks) and > LidTable::top().
  std::vector<std::shared_ptr<const Row>> rows;
  Lid lid_top;  // Highest LID of the tables.
  // Position of each switch in the engine's order ([NodeIndex]; a link is up iff it raises the
  // position). Empty: the ways follow none (several lanes, graphs that are no trees).
  std::vector<uint32_t> order;
  // The order before a least change turned it (turned_order.h); empty: none did.
  std::vector<uint32_t> unturned_order;
  std::vector<ExemptPair> exempt;
  // Left behind by plans of least change (repair.h), both sorted.
  // LIDs that some switch cannot reach: there their entries may still be those of an earlier plan
  // and end at a dead port, so that nothing is written when the owner goes and comes.
  std::vector<Lid> stale;
  // By source, then destination: pairs without a route that works although there is a way. Nothing
  // that one host sends to another crosses them; the settled plan serves them.
  std::vector<ExemptPair> pending;
  // Data VLs the proof needs; with more than one SL2VL is programmed so that SL n takes VL n %
  // lanes.
  uint8_t lanes = 1;
  // [NodeIndex] With more than one lane: the SL by destination LID of packets that start at this
  // switch or at an end port on it. Null, and beyond the vector's end: SL 0.
  std::vector<std::shared_ptr<const Row>> service_levels;
  // Highest all-to-all load of a cable, measured by the lower bound of its connected component of
  // the fabric (load_bound.h), where the engine knows it: it has looked, or it must be the bound
  // itself.
  std::optional<double> load_times_bound;
  // What the next plan is to number alike; may be null.
  std::shared_ptr<const TreeLayout> layout;
  std::vector<std::string> notes;  // For operators: what was found, what is not ideal.

  // REQUIRES: node has a row.
  uint8_t EgressPort(NodeIndex node, Lid lid) const {
    const Row& row = *rows[node.value()];
    return lid.value() < row.size() ? row[lid.value()] : kNoRoute;
  }
  bool NeedsOneVl() const { return lanes <= 1; }
  bool HasRow(NodeIndex node) const {
    return node.value() < rows.size() && rows[node.value()] != nullptr;
  }
  uint8_t ServiceLevel(NodeIndex source_switch, Lid destination) const {
    const size_t i = source_switch.value();
    if (i >= service_levels.size() || !service_levels[i]) return 0;
    const Row& row = *service_levels[i];
    return destination.value() < row.size() ? row[destination.value()] : 0;
  }
};

}  // namespace fabricd::routing
