// SPDX-License-Identifier: Apache-2.0
// Which LIDs may be under way together without packets waiting for each other in a circle. While a
// stage is written, the entries of its LIDs may be old or new, those of earlier stages are new,
// those of later ones old; the waiting of all of them together must be free of cycles on each lane.
//
// Where old entries follow the plan's order as well, one stage is enough, and only what differs is
// looked at: either no mixture lets a packet rise after it fell, or none does if the switches are
// written in the right order (Turns::kByOrder).
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

// Whether a packet may rise after it fell, in the plan's order, while old and new entries are
// mixed.
enum class Turns : uint8_t {
  kNone,
  kByOrder,  // None if what falls to a switch is written before that switch rises, and what will
             // fall to it after it does not rise any more.
  kMany,     // Or the plan follows no order.
};
Turns FindTurns(const PushInput& input, const PushView& view);

PushStages FindStages(const PushInput& input, const PushView& view);

}  // namespace fabricd::routing
