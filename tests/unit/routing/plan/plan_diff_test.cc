// SPDX-License-Identifier: Apache-2.0
#include "routing/plan/plan_diff.h"

#include <gtest/gtest.h>

#include "common/rng.h"

namespace fabricd::routing {
namespace {

constexpr size_t kSize = 2 * Row::kPage + 2 * Row::kBlock;

RoutingPlan PlanOf(std::vector<std::shared_ptr<const Row>> rows) {
  RoutingPlan plan;
  plan.rows = std::move(rows);
  return plan;
}

TEST(DiffPlans, NamesEachEntryThatDiffers) {
  Rng rng(1);
  for (int run = 0; run < 50; ++run) {
    std::vector<std::shared_ptr<const Row>> before, after;
    uint64_t entries = 0;
    for (uint32_t node = 0; node < 4; ++node) {
      const Row row(kSize, static_cast<uint8_t>(node));
      Row other = rng.Chance(0.5) ? row : Row(kSize, static_cast<uint8_t>(node));
      for (uint64_t i = rng.Below(6); i > 0; --i)
        other.Set(rng.Below(kSize), static_cast<uint8_t>(rng.Below(6)));
      for (size_t lid = 0; lid < kSize; ++lid) entries += row[lid] != other[lid];
      before.push_back(std::make_shared<const Row>(row));
      after.push_back(std::make_shared<const Row>(other));
    }
    const PlanDiff diff = DiffPlans(PlanOf(before), PlanOf(after));
    EXPECT_EQ(diff.entries, entries);
    uint64_t named = 0;
    for (const ChangedBlock& block : diff.blocks)
      for (uint32_t i = 0; i < Row::kBlock; ++i) {
        const size_t lid = block.block * Row::kBlock + i;
        const bool differs =
            (*before[block.node.value()])[lid] != (*after[block.node.value()])[lid];
        EXPECT_EQ(block.lids >> i & 1, differs);
        named += differs;
      }
    EXPECT_EQ(named, entries);
  }
}

TEST(DiffPlans, CountsBlocksSwitchesAndDestinations) {
  const auto row = std::make_shared<const Row>(kSize, uint8_t{1});
  Row one = *row, two = *row;
  one.Set(5, 2);
  one.Set(6, 2);
  one.Set(Row::kPage + 70, 2);
  two.Set(5, 3);
  const PlanDiff diff =
      DiffPlans(PlanOf({row, row, row}),
                PlanOf({std::make_shared<const Row>(one), row, std::make_shared<const Row>(two)}));
  ASSERT_EQ(diff.blocks.size(), 3u);
  EXPECT_EQ(diff.blocks[0].block, 0);
  EXPECT_EQ(diff.blocks[1].block, 33);
  EXPECT_EQ(diff.blocks[2].node, NodeIndex(2));
  EXPECT_EQ(diff.switches, 2u);
  EXPECT_EQ(diff.destinations, 3u);
  EXPECT_EQ(diff.entries, 4u);
}

TEST(DiffPlans, NewSwitchesAndLongerTablesCountTheirFilledBlocks) {
  Row longer(Row::kBlock, 1);
  longer.Resize(3 * Row::kBlock, kNoRoute);
  longer.Set(2 * Row::kBlock, 4);
  const auto old = std::make_shared<const Row>(Row::kBlock, uint8_t{1});
  EXPECT_EQ(DiffPlans(PlanOf({old}), PlanOf({std::make_shared<const Row>(longer)})).blocks.size(),
            1u);
  EXPECT_EQ(
      DiffPlans(PlanOf({nullptr}), PlanOf({std::make_shared<const Row>(longer)})).blocks.size(),
      2u);
  EXPECT_TRUE(DiffPlans(PlanOf({old}), PlanOf({nullptr})).blocks.empty());
}

}  // namespace
}  // namespace fabricd::routing
