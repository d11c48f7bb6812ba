// SPDX-License-Identifier: Apache-2.0
// Every checker of the seeds of whole nodes that share a store finds the breakage that is meant for
// it. This program has the breakable files of sweep, shell and store/etcd compiled with
// FABRICD_BREAKABLE (common/breakage.h). What the Ledger and the Watch find there too is shown by
// store_checkers_test and checkers_test.
#include <ostream>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/breakage.h"
#include "sim/shared/shared_run.h"

namespace fabricd::test {
namespace {

struct Case {
  const char* name;
  Breakage breakage;
  const char* checker;  // As sim::SharedCheckerNames has it.
  uint64_t first = 1;   // Of 60 seeds; one in a hundred has a master without a link for long.
  friend void PrintTo(const Case& of, std::ostream* out) { *out << of.name; }
};

constexpr Case kCases[] = {
    {"Holds", Breakage::kHoldsForgotten, "holds"},
    {"HoldEnds", Breakage::kHoldsNeverEnd, "holds"},
    {"PKeys", Breakage::kPartitionsForgotten, "P_Keys"},
    {"Lids", Breakage::kLidGivenTwice, "LIDs"},
    {"OldMaster", Breakage::kPauseNotNoticed, "old master", /*first=*/110},
    {"ForeignMaster", Breakage::kPortsNotSaid, "foreign master"},
    {"Manager", Breakage::kNoLinkNotSaid, "manager", /*first=*/64101},
    {"ManagerWithoutEpoch", Breakage::kEpochNeverTaken, "manager"},
    {"OneMaster", Breakage::kNeverUp, "one master"},
    {"Tables", Breakage::kBlockNotSent, "tables"},
    {"Unreachable", Breakage::kHoleInPlan, "unreachable"},
};

class SharedCheckers : public testing::TestWithParam<Case> {};

// Not every seed has the faults that a breakage needs.
TEST_P(SharedCheckers, FindTheirBreakage) {
  const std::string begin = std::string(GetParam().checker) + ": ";
  for (uint64_t seed = GetParam().first; seed < GetParam().first + 60; ++seed) {
    breakage = GetParam().breakage;
    const auto broken = sim::RunSharedSeed(seed);
    breakage = Breakage::kNone;
    for (const std::string& failure : broken.failures) {
      if (!failure.starts_with(begin)) continue;
      EXPECT_THAT(sim::RunSharedSeed(seed).failures, testing::IsEmpty());
      return;
    }
  }
  ADD_FAILURE() << "no seed of 60 has a finding of " << begin;
}

INSTANTIATE_TEST_SUITE_P(All, SharedCheckers, testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(SharedCheckersTable, EveryCheckerHasItsBreakage) {
  std::set<std::string> covered;
  for (const Case& each : kCases) covered.insert(each.checker);
  const auto names = sim::SharedCheckerNames();
  EXPECT_EQ(covered, std::set<std::string>(names.begin(), names.end()));
}

TEST(SharedCheckersTable, EveryBreakageHasACase) {
  std::set<Breakage> covered;
  for (const Case& each : kCases)
    if (each.breakage >= Breakage::kFirstOfShared) covered.insert(each.breakage);
  EXPECT_EQ(covered.size(),
            static_cast<size_t>(Breakage::kCount) - static_cast<size_t>(Breakage::kFirstOfShared));
}

TEST(SharedSeeds, AreTheSameRunEachTime) {
  const auto first = sim::RunSharedSeed(7), second = sim::RunSharedSeed(7);
  EXPECT_EQ(first.digest, second.digest);
  EXPECT_GT(first.masterships, 0u);
  EXPECT_NE(first.digest, sim::RunSharedSeed(8).digest);
}

}  // namespace
}  // namespace fabricd::test
