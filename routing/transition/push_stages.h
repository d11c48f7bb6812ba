// SPDX-License-Identifier: Apache-2.0
// Which LIDs may be written at the same time without a dependency cycle. While a stage is written,
// the entries of its LIDs may be old or new, those of earlier stages are new, those of later ones
// old; the channel dependencies of all of them together must be free of cycles on each VL.
//
// Where old and new entries of a LID follow one order no search is needed: no packet may rise after
// it fell, or none does if the switches are written in the right sequence. If all follow the plan's
// order, one stage is enough. If the plan before had another, first go those that follow that one
// as well; of the others those that follow neither are taken away where searching would take too
// long.
//
// The LIDs of a switch that routes do not go through end there, on ways that need not follow the
// order; they are written while nothing else goes through it.
//
// Entries that deliver nothing any more can be withdrawn without loss, and then the channels that
// lead to them are waited for by no packet: that is tried before any entry that works is withdrawn.
// So is writing the entries of all LIDs one by one, in as many stages as it takes (push_steps.h);
// on several lanes, one LID in several stages, some of its switches in each, nearest to its owner
// first.
//
// The search has a bound of steps. Behind it, all that is left is taken away and written in one
// more stage: what is new alone is proved.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "routing/transition/push_view.h"

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
    bool only_dead = false;  // Only entries that bring nothing home are taken away.
    std::vector<PushView::Changed> only = {};  // What is written, by switch; empty: all `lids`.
  };
  // For the parts.
  std::shared_ptr<const std::vector<uint32_t>> old_position, position, sunk_position;
  std::vector<Part> parts;  // By block, then stage.
  // By PushView::changed(): LIDs that nothing there arrives at before. Empty: nobody asked.
  std::vector<uint64_t> dead;
  std::string why_not;  // Why LIDs had to be withdrawn; empty: none.
  // Entries that could not be written before something was withdrawn, where that is known: all
  // others could. By block, then switch.
  std::vector<PushView::Changed> stuck;
};

PushStages FindStages(const PushInput& input, const PushView& view);

}  // namespace fabricd::routing
