// SPDX-License-Identifier: Apache-2.0
// Lists through elements of an array.
#include "mad/index_list.h"

#include <array>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabricd::mad {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class IndexListTest : public testing::Test {
 protected:
  struct Element {
    uint32_t previous = kNoIndex, next = kNoIndex;
  };
  void Insert(uint32_t index, bool front) {
    list_.Insert(index, front, [this](uint32_t at) -> Element& { return elements_[at]; });
  }
  void Remove(uint32_t index) {
    list_.Remove(index, [this](uint32_t at) -> Element& { return elements_[at]; });
  }
  std::vector<uint32_t> Forward() const {
    std::vector<uint32_t> indices;
    for (uint32_t at = list_.head; at != kNoIndex; at = elements_[at].next) indices.push_back(at);
    return indices;
  }
  std::vector<uint32_t> Backward() const {
    std::vector<uint32_t> indices;
    for (uint32_t at = list_.tail; at != kNoIndex; at = elements_[at].previous)
      indices.push_back(at);
    return indices;
  }

  std::array<Element, 8> elements_;
  IndexList list_;
};

TEST_F(IndexListTest, ElementsGoInAtBothEnds) {
  EXPECT_TRUE(list_.empty());
  Insert(3, /*front=*/false);
  Insert(5, /*front=*/false);
  Insert(1, /*front=*/true);
  EXPECT_FALSE(list_.empty());
  EXPECT_THAT(Forward(), ElementsAre(1, 3, 5));
  EXPECT_THAT(Backward(), ElementsAre(5, 3, 1));
}

TEST_F(IndexListTest, ElementsGoOutAnywhere) {
  for (const uint32_t index : {0u, 1u, 2u, 3u}) Insert(index, /*front=*/false);
  Remove(1);
  EXPECT_THAT(Forward(), ElementsAre(0, 2, 3));
  Remove(3);
  EXPECT_THAT(Backward(), ElementsAre(2, 0));
  Remove(0);
  Remove(2);
  EXPECT_TRUE(list_.empty());
  EXPECT_THAT(Backward(), IsEmpty());
}

}  // namespace
}  // namespace fabricd::mad
