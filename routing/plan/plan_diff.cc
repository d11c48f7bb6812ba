// SPDX-License-Identifier: Apache-2.0
#include "routing/plan/plan_diff.h"

#include <algorithm>
#include <array>
#include <bit>

#include "routing/plan/block_mask.h"

namespace fabricd::routing {
namespace {

constexpr size_t kBlocksInPage = Row::kPage / Row::kBlock;

constexpr std::array<uint8_t, Row::kBlock> MakeEmptyBlock() {
  std::array<uint8_t, Row::kBlock> block{};
  for (uint8_t& entry : block) entry = kNoRoute;
  return block;
}
constexpr std::array<uint8_t, Row::kBlock> kEmptyBlock = MakeEmptyBlock();

const uint8_t* BlockOrEmpty(const Row* row, size_t block) {
  return row && block < row->blocks() ? row->block(block) : kEmptyBlock.data();
}

void AddRow(NodeIndex node, const Row* before, const Row& after, PlanDiff& diff) {
  const size_t found = diff.blocks.size();
  const size_t end = std::max(after.blocks(), before ? before->blocks() : 0);
  for (size_t block = 0; block < end;) {
    if (before && before->SharesPage(after, block / kBlocksInPage) &&
        before->size() == after.size()) {
      block = (block / kBlocksInPage + 1) * kBlocksInPage;
      continue;
    }
    const uint64_t lids = DifferenceMask(BlockOrEmpty(before, block), BlockOrEmpty(&after, block));
    if (lids) diff.blocks.push_back({node, static_cast<uint16_t>(block), lids});
    ++block;
  }
  diff.switches += diff.blocks.size() > found;
}

}  // namespace

PlanDiff DiffPlans(const RoutingPlan& before, const RoutingPlan& after) {
  PlanDiff diff;
  for (uint32_t i = 0; i < after.rows.size(); ++i) {
    const Row* is = after.rows[i].get();
    const Row* was = i < before.rows.size() ? before.rows[i].get() : nullptr;
    if (is && is != was) AddRow(NodeIndex(i), was, *is, diff);
  }
  std::array<uint64_t, 0x10000 / Row::kBlock> seen{};  // [block] A bit per LID.
  for (const ChangedBlock& changed : diff.blocks) {
    seen[changed.block] |= changed.lids;
    diff.entries += static_cast<uint64_t>(std::popcount(changed.lids));
  }
  for (uint64_t lids : seen) diff.destinations += static_cast<uint32_t>(std::popcount(lids));
  return diff;
}

}  // namespace fabricd::routing
