// SPDX-License-Identifier: Apache-2.0
// Every checker of the seeds of a shared store finds the breakage that is meant for it. This
// program has the breakable files of store/etcd compiled with FABRICD_BREAKABLE
// (common/breakage.h).
#include <ostream>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/breakage.h"
#include "sim/store/store_run.h"

namespace fabricd::test {
namespace {

struct Case {
  const char* name;
  Breakage breakage;
  const char* checker;  // As sim::StoreCheckerNames has it.
  friend void PrintTo(const Case& of, std::ostream* out) { *out << of.name; }
};

constexpr Case kCases[] = {
    {"Acknowledged", Breakage::kWriteNotSent, "acknowledged"},
    {"CarriedOver", Breakage::kNeverCarriedOver, "carried over"},
    {"Copies", Breakage::kCopyNotWritten, "copies"},
    {"EventNumbers", Breakage::kNumbersGivenTwice, "event numbers"},
    {"Fencing", Breakage::kNotFenced, "fencing"},
    {"History", Breakage::kHistoryNotTaken, "history"},
    {"HoldIds", Breakage::kSharedStateNotLoaded, "hold ids"},
    {"LaterWrites", Breakage::kBatchNotCompared, "acknowledged"},
    {"Lids", Breakage::kSharedStateNotLoaded, "LIDs"},
    {"Memory", Breakage::kMemoryNotUpdated, "memory"},
    {"Opened", Breakage::kSharedStateNotLoaded, "opened"},
    {"Owner", Breakage::kEpochNeverTaken, "owner"},
    {"TwoEpochs", Breakage::kLeaseNeverOver, "two epochs"},
    {"Whole", Breakage::kLargeWriteInParts, "whole"},
    {"Writes", Breakage::kWritesRefused, "writes"},
};

class StoreCheckers : public testing::TestWithParam<Case> {};

// Not every seed has the faults that a breakage needs.
TEST_P(StoreCheckers, FindTheirBreakage) {
  const std::string begin = std::string(GetParam().checker) + ": ";
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    breakage = GetParam().breakage;
    const auto broken = sim::RunStoreSeed(seed);
    breakage = Breakage::kNone;
    for (const std::string& failure : broken.failures) {
      if (!failure.starts_with(begin)) continue;
      EXPECT_THAT(sim::RunStoreSeed(seed).failures, testing::IsEmpty());
      return;
    }
  }
  ADD_FAILURE() << "no seed of 60 has a finding of " << begin;
}

INSTANTIATE_TEST_SUITE_P(All, StoreCheckers, testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(StoreCheckersTable, EveryCheckerHasItsBreakage) {
  std::set<std::string> covered;
  for (const Case& each : kCases) covered.insert(each.checker);
  const auto names = sim::StoreCheckerNames();
  EXPECT_EQ(covered, std::set<std::string>(names.begin(), names.end()));
}

TEST(StoreCheckersTable, EveryBreakageHasACase) {
  std::set<Breakage> covered;
  for (const Case& each : kCases) covered.insert(each.breakage);
  EXPECT_EQ(covered.size(), static_cast<size_t>(Breakage::kFirstOfShared) -
                                static_cast<size_t>(Breakage::kFirstOfStore));
}

TEST(StoreSeeds, AreTheSameRunEachTime) {
  const auto first = sim::RunStoreSeed(7), second = sim::RunStoreSeed(7);
  EXPECT_EQ(first.digest, second.digest);
  EXPECT_GT(first.acknowledged, 20u);
  EXPECT_NE(first.digest, sim::RunStoreSeed(8).digest);
}

}  // namespace
}  // namespace fabricd::test
