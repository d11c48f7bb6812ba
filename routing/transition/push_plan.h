// SPDX-License-Identifier: Apache-2.0
// routing/transition: how to get from the tables that are in use to those of a plan.
//
// The order in which a plan is written over tables that carry traffic. Per destination a switch is
// written only when every changed switch further along its new way is already written, or works
// whatever has been written: then a written switch's whole way is sound, one that is not written
// follows old entries until it meets a written one, and there is neither a loop nor a dead end that
// the old tables did not have. An entry that led nowhere waits for nothing, unless a loop could
// come of it.
//
// Blocks couple only where they hold the same LIDs, so writes of one block number go in waves that
// wait for each other, and different block numbers do not. Where two LIDs of one block want the
// opposite order, the block is written twice, with a part of its entries each time. Where a mixture
// of both tables could let packets wait for each other in a circle (another engine, another order),
// the change is cut into stages, all of one before any of the next (push_stages.h).
//
// The writes are carried out from any prefix on: what was confirmed, and what may have been written
// or not, is the input of the next push.
//
// Pure. The same input gives the same bytes whatever the number of threads.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "common/ids.h"
#include "routing/plan/link_map.h"
#include "routing/plan/plan.h"
#include "routing/plan/row.h"

namespace fabricd::routing {

// What the switches hold, as far as it is known.
struct AppliedTables {
  // [NodeIndex] As last confirmed. Size 0: nothing is known, nothing is carried. Rows that share
  // their pages with the plan's (Row::ShareEqualPages) cost next to nothing to compare.
  std::vector<Row> rows;
  // A Set of the block was sent and not answered, or not yet: it holds what `rows` says or this.
  // By node, then block; several for one block where several are possible.
  struct Unsure {
    NodeIndex node;
    uint16_t block;
    std::array<uint8_t, Row::kBlock> maybe;
  };
  std::vector<Unsure> unsure;
};
// Those of a plan that switches hold as it is.
AppliedTables TablesOf(const RoutingPlan& plan);

struct TableWrite {
  NodeIndex node;
  uint16_t block;
  uint16_t stage;         // All writes of a stage are acknowledged before one of the next is sent.
  uint16_t wave;          // The same within the stage for writes with the same `block`.
  uint64_t lids;          // Bit i: LID 64 * block + i takes the plan's entry; the others stay.
  bool withdraw = false;  // They take kNoRoute; a later stage gives them the plan's.
  friend bool operator==(const TableWrite&, const TableWrite&) = default;
};

struct PushPlan {
  std::vector<TableWrite> writes;  // By stage, wave, block, node.
  uint16_t stages = 0, waves = 0;  // One more than the highest in `writes`.
  // False: entries towards end ports have to be taken away first, so that some are cut off for a
  // while. Those towards switches may have to be all the same: only their management goes there.
  bool hitless = true;
  std::string why_not;                    // Why entries are withdrawn; empty: none are.
  uint32_t destinations_interrupted = 0;  // LIDs of end ports that are withdrawn while they work,
  uint64_t paths_interrupted = 0;         // and their entries: (switch, LID).
  // What stood in the way: LIDs of blocks whose new entries at a switch wait for something to be
  // taken away. Empty: nothing, or not known.
  struct Stuck {
    NodeIndex node;
    uint16_t block;
    uint64_t lids;
  };
  std::vector<Stuck> stuck;
};

struct PushInput {
  // As observed: links that routes may not use any more still carry what old entries send there.
  const LinkMap& links;
  const AppliedTables& applied;
  // The plan before, whose service levels packets may still have; null: there was none.
  const RoutingPlan* before = nullptr;
  const RoutingPlan& desired;  // Proved. Switches without a row in it keep what they hold.
  int threads = 0;
};
PushPlan OrderPush(const PushInput& input);

}  // namespace fabricd::routing
