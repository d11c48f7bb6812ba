// SPDX-License-Identifier: Apache-2.0
// Which LIDs may be under way together without packets waiting for each other in a circle.
// While a stage is written, the entries of its LIDs may be old or new, those of earlier stages are
// new, those of later ones old; the waiting of all of them together must be free of cycles on each
// lane. If old and new follow the plan's order where they differ, one stage is enough, and only
// what differs is looked at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "routing/push_view.h"

namespace fabricd::routing {

struct PushStages {
  // LIDs of one block number that are under way together.
  struct Part {
    uint16_t block;
    uint16_t stage;
    bool withdraw;  // Their changed entries are taken away; a later part writes the plan's.
    uint64_t lids;
  };
  bool one = true;          // All in stage 0, no parts.
  std::vector<Part> parts;  // By block, then stage.
  std::string why_not;      // Why LIDs had to be withdrawn; empty: none.
};

PushStages FindStages(const PushInput& input, const PushView& view);

}  // namespace fabricd::routing
