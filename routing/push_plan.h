// SPDX-License-Identifier: Apache-2.0
// The order in which a plan is written over tables that carry traffic. Per destination a switch is
// written only when every changed switch further along its new way is already written: then a
// written switch's whole way is new, one that is not written follows old entries until it meets a
// written one, and there is neither a loop nor a dead end that the old tables did not have.
//
// Blocks couple only where they hold the same LIDs, so writes of one block number go in waves that
// wait for each other, and different block numbers do not. Where two LIDs of one block want the
// opposite order, the block is written twice, with a part of its entries each time. Where a mixture
// of both tables could let packets wait for each other in a circle (another engine, another order),
// the change is cut into stages, all of one before any of the next.
//
// Pure. The same input gives the same bytes whatever the number of threads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/ids.h"
#include "routing/link_map.h"
#include "routing/plan.h"
#include "routing/row.h"

namespace fabricd::routing {

// What the switches hold, as far as it is known.
struct AppliedTables {
  struct Block {
    NodeIndex node;
    uint16_t block;
    friend auto operator<=>(const Block&, const Block&) = default;
  };
  std::vector<Row> rows;  // [NodeIndex] As last confirmed. Size 0: nothing is known, nothing is
                          // carried: it may be written at once.
  // Sorted. Their last Set was not answered, or not yet: they hold what `rows` says or what the
  // plan before this one (`RouteState before` of the same ReplanInput) says.
  std::vector<Block> unsure;
};

struct TableWrite {
  NodeIndex node;
  uint16_t block;
  uint16_t stage;  // All writes of a stage are acknowledged before one of the next is sent.
  uint16_t wave;   // The same within the stage for writes with the same `block`.
  uint64_t lids;   // Bit i: LID 64 * block + i takes the plan's entry; the others stay.
  friend bool operator==(const TableWrite&, const TableWrite&) = default;
};

struct PushPlan {
  std::vector<TableWrite> writes;  // By stage, wave, block, node.
  uint16_t stages = 0, waves = 0;  // One more than the highest in `writes`.
  // False: entries had to be taken away first, so that some pairs are cut off for a while; why.
  bool hitless = true;
  std::string why_not;
};

struct PushInput {
  const LinkMap& links;  // As they are now, made for `desired`.
  const AppliedTables& applied;
  const RoutingPlan* before = nullptr;  // What `applied` was written from; may be null.
  const RoutingPlan& desired;           // Proved on `links`.
  int threads = 0;
};
PushPlan OrderPush(const PushInput& input);

}  // namespace fabricd::routing
