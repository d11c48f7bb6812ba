// SPDX-License-Identifier: Apache-2.0
// Which LIDs may be under way together without packets waiting for each other in a circle. While a
// stage is written, the entries of its LIDs may be old or new, those of earlier stages are new,
// those of later ones old; the waiting of all of them together must be free of cycles on each lane.
//
// Where old and new entries of a LID follow one order no search is needed: no packet may rise after
// it fell, or none does if the switches are written in the right sequence. If all follow the plan's
// order, one stage is enough. If the plan before had another, first go those that follow that one
// as well; of the others those that follow neither are taken away where searching would take too
// long.
#pragma once

#include <cstdint>
#include <memory>
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
    // The order in which no packet may rise after it fell meanwhile ([switch]); null: the stage was
    // found by search.
    const std::vector<uint32_t>* position = nullptr;
  };
  std::shared_ptr<const std::vector<uint32_t>> old_position, position;  // For the parts.
  std::vector<Part> parts;                                              // By block, then stage.
  std::string why_not;  // Why LIDs had to be withdrawn; empty: none.
};

PushStages FindStages(const PushInput& input, const PushView& view);

}  // namespace fabricd::routing
