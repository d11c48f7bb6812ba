// SPDX-License-Identifier: Apache-2.0
#include "sweep/interface/problems.h"

#include <gtest/gtest.h>

namespace fabricd::sweep {
namespace {

TEST(ProblemList, NamesEachKindOfASubjectOnceAndKeepsTheFirstMessage) {
  ProblemList problems;
  EXPECT_TRUE(problems.empty());
  problems.Add("SetRefused", "a", "one");
  problems.Add("SetRefused", "a", "two");
  problems.Add("Unresponsive", "a", "three");
  problems.Add("SetRefused", "b", "four");
  const auto list = problems.List();
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].message, "one");
  EXPECT_EQ(list[2].subject, "b");
}

TEST(ProblemList, RemovesByKindAndByTheNodeThatIsLookedAtAgain) {
  ProblemList problems;
  problems.Add("SetRefused", "\"x\" (0x0000000000000010) port 1", "one");
  problems.Add("NoPlan", "subnet", "two");
  problems.Add("Unresponsive", "\"x\" (0x0000000000000010)", "three");
  problems.Remove("NoPlan");
  EXPECT_EQ(problems.List().size(), 2u);
  problems.RemoveAbout("0x0000000000000010");
  EXPECT_TRUE(problems.empty());
}

TEST(ProblemList, CountsThoseBeyondItsBound) {
  ProblemList problems;
  for (size_t i = 0; i < ProblemList::kMax + 5; ++i)
    problems.Add("SetRefused", std::to_string(i), "x");
  const auto list = problems.List();
  ASSERT_EQ(list.size(), ProblemList::kMax + 1);
  EXPECT_EQ(list.back().kind, "MoreProblems");
  EXPECT_EQ(list.back().message, "5 more");
}

}  // namespace
}  // namespace fabricd::sweep
