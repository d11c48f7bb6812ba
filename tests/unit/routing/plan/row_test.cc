// SPDX-License-Identifier: Apache-2.0
#include "routing/plan/row.h"

#include <vector>

#include <gtest/gtest.h>

namespace fabricd::routing {
namespace {

constexpr size_t kSize = 2 * Row::kPage + 3 * Row::kBlock;  // The last page is a short one.

TEST(Row, WritingToACopyCopiesOnePage) {
  const Row original(kSize, 7);
  Row copy = original;
  EXPECT_TRUE(copy.SharesPage(original, 0) && copy.SharesPage(original, 2));
  copy.Set(Row::kPage + 5, 9);
  EXPECT_EQ(original[Row::kPage + 5], 7);
  EXPECT_EQ(copy[Row::kPage + 5], 9);
  EXPECT_EQ(copy[Row::kPage + 6], 7);
  EXPECT_TRUE(copy.SharesPage(original, 0) && copy.SharesPage(original, 2));
  EXPECT_FALSE(copy.SharesPage(original, 1));
  EXPECT_FALSE(copy == original);
}

TEST(Row, WritesUnsharedPagesInPlace) {
  Row row(kSize, 7);
  const uint8_t* before = row.page(1);
  row.Set(Row::kPage, 1);
  EXPECT_EQ(row.page(1), before);
}

TEST(Row, CopiesOfCopiesKeepTheirOwnWrites) {
  constexpr size_t kPages = 12;  // More than a copy keeps of its own.
  std::vector<Row> generations{Row(kPages * Row::kPage, 0)};
  for (uint8_t page = 0; page < kPages; ++page) {
    Row next = generations.back();
    next.Set(page * Row::kPage + page, static_cast<uint8_t>(page + 1));
    generations.push_back(std::move(next));
  }
  for (size_t g = 0; g < generations.size(); ++g)
    for (size_t page = 0; page < kPages; ++page) {
      EXPECT_EQ(generations[g][page * Row::kPage + page], page < g ? page + 1 : 0);
      EXPECT_EQ(generations[g].SharesPage(generations.back(), page), page < g || g == kPages);
    }
}

TEST(Row, WritesInPlaceThePageItCopied) {
  const Row original(kSize, 7);
  Row copy = original;
  copy.Set(5, 1);
  const uint8_t* own = copy.page(0);
  copy.Set(6, 1);
  EXPECT_EQ(copy.page(0), own);
  const Row third = copy;
  copy.Set(6, 2);
  EXPECT_EQ(third[6], 1);
}

TEST(Row, FindsEqualPagesAgain) {
  const Row original(kSize, 7);
  Row other(kSize, 7);
  other.Set(0, 8);
  other.ShareEqualPages(original);
  EXPECT_FALSE(other.SharesPage(original, 0));
  EXPECT_TRUE(other.SharesPage(original, 1) && other.SharesPage(original, 2));
}

TEST(Row, ResizingKeepsSharedPages) {
  const Row original(Row::kBlock, 7);
  Row row = original;
  row.Resize(kSize, 255);
  EXPECT_EQ(row[Row::kBlock - 1], 7);
  EXPECT_EQ(row[Row::kBlock], 255);
  EXPECT_EQ(row[kSize - 1], 255);
  row.Resize(Row::kBlock, 0);
  EXPECT_TRUE(row == original);
}

TEST(Row, ComparisonIgnoresBytesBehindTheEnd) {
  Row longer(2 * Row::kBlock, 7);
  longer.Set(Row::kBlock + 1, 9);
  longer.Resize(Row::kBlock, 0);
  EXPECT_TRUE(longer == Row(Row::kBlock, 7));
}

TEST(Row, BlocksAreWrittenWhole) {
  Row row(kSize, 7);
  std::array<uint8_t, Row::kBlock> block;
  block.fill(3);
  row.WriteBlock(33, block.data());
  EXPECT_EQ(row[33 * Row::kBlock - 1], 7);
  EXPECT_EQ(row[33 * Row::kBlock], 3);
  EXPECT_EQ(row[34 * Row::kBlock - 1], 3);
  EXPECT_EQ(row[34 * Row::kBlock], 7);
  EXPECT_EQ(row.block(33)[0], 3);
}

}  // namespace
}  // namespace fabricd::routing
