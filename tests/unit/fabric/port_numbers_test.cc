// SPDX-License-Identifier: Apache-2.0
// Port numbers from one to another.
#include "common/port_numbers.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabricd {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<int> Numbers(PortNumbers numbers) {
  std::vector<int> found;
  for (const PortNum number : numbers) found.push_back(number.value());
  return found;
}

TEST(PortNumbers, BothEndsAreIncluded) {
  EXPECT_THAT(Numbers({PortNum(0), PortNum(2)}), ElementsAre(0, 1, 2));
  EXPECT_THAT(Numbers({PortNum(3), PortNum(3)}), ElementsAre(3));
  EXPECT_THAT(Numbers({PortNum(254), PortNum(255)}), ElementsAre(254, 255));
}

TEST(PortNumbers, AnEndBelowTheStartMakesNone) {
  EXPECT_THAT(Numbers({PortNum(1), PortNum(0)}), IsEmpty());
}

}  // namespace
}  // namespace fabricd
