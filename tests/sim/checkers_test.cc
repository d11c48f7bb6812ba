// SPDX-License-Identifier: Apache-2.0
// Every checker of a simulated run finds the breakage that is meant for it. This program has
// sweep/ compiled with FABRICD_BREAKABLE (see common/breakage.h): the same runs pass while nothing
// is broken.
#include <fstream>
#include <iterator>
#include <ostream>
#include <set>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/breakage.h"
#include "sim/generate/generate.h"
#include "sim/run/run.h"

namespace fabricd::test {
namespace {

using testing::Contains;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct FaultValue {
  double sim::Faults::*of;
  double value;
};

struct Case {
  const char* name;
  Breakage breakage;
  const char* checker;        // As sim::CheckerNames has it.
  const char* finding;        // A regular expression of what it says.
  FaultValue faults[3] = {};  // In every seed; all others are zero.
  uint32_t window_max = 128;  // Requests in flight.
  bool watch_tables = false;
  uint64_t first_seed = 1;  // The faults of some seeds leave nothing to find.
  const char* topology = "superpod:sus=1,hosts=4,rails=2";
  friend void PrintTo(const Case& of, std::ostream* out) { *out << of.name; }
};

constexpr Case kCases[] = {
    {"Tables", Breakage::kBlockNotSent, "tables", "block 0: LID [0-9]+ leaves by 255, the plan"},
    {"TablesReadBack",
     Breakage::kNotReadBack,
     "tables",
     "LID [0-9]+ leaves by (1|255), the plan says",
     {{&sim::Faults::foreign_writes, 10}, {&sim::Faults::phase_s, 20}}},
    {"Reachability", Breakage::kHoleInPlan, "unreachable", "-> LID 1 of "},
    {"Loops", Breakage::kCircleInPlan, "loops", "LID 1 at "},
    {"LidsUnchanged",
     Breakage::kLidRecordsIgnored,
     "LIDs",
     "had LID [0-9]+ and gets",
     {{&sim::Faults::kills, 1}, {&sim::Faults::flaps, 2}}},
    {"LidsUniqueWhenGiven", Breakage::kLidGivenTwice, "LIDs", "1 was that of port .* is given to"},
    {"LidsUniqueAtRest", Breakage::kLidGivenTwice, "LIDs", "LID 1 of .* is held twice"},
    {"LidsThere", Breakage::kLidNotGiven, "LIDs", " has no LID"},
    {"PortsActive", Breakage::kPortNotArmed, "not ACTIVE", "/1$"},
    {"PKeys", Breakage::kWrongPKey, "P_Keys", "holds .0xfffe 0xffff. instead of .0xffff."},
    {"IdleSet", Breakage::kSwitchInfoAlwaysSet, "idle Set", "SwitchInfo 0 of .* changes nothing"},
    {"Multicast",
     Breakage::kBranchNotWritten,
     "multicast",
     "MLID 0xc0.* reaches [0-9]+ ports",
     {{&sim::Faults::groups, 20}, {&sim::Faults::joins, 5}}},
    {"MulticastLoops",
     Breakage::kTreesAtOnce,
     "multicast loop",
     "MLID 0xc0",
     {{&sim::Faults::groups, 200}, {&sim::Faults::holds, 12}, {&sim::Faults::phase_s, 20}}},
    {"SecondSweepQuiet", Breakage::kSwitchInfoAlwaysSet, "second sweep", "sends [1-9][0-9]* Sets"},
    {"SecondSweepEnds", Breakage::kSweepCommandNotEnded, "second sweep", "does not end"},
    {"WindowOfADevice", Breakage::kWindowsTooWide, "window", "[0-9]+ requests in flight to "},
    {"WindowOfAll", Breakage::kWindowsTooWide, "window", "[0-9]+ requests in flight$", {}, 8},
    {"Log", Breakage::kErrorLogged, "ERROR in the log", "logged deliberately"},
    {"OneWriter",
     Breakage::kAlwaysMaster,
     "two writers",
     "write at the same time",
     {{&sim::Faults::managers, 4}, {&sim::Faults::plan_ms, 1800}}},
    {"OneMaster",
     Breakage::kAlwaysMaster,
     "masters",
     "can reach each other and stay masters",
     {{&sim::Faults::managers, 2}}},
    {"SomeMaster",
     Breakage::kNeverMaster,
     "no master",
     "fabricds run, and none of them rises",
     {{&sim::Faults::managers, 2}, {&sim::Faults::phase_s, 40}}},
    {"Settles", Breakage::kNeverUp, "settle", "no quiet subnet with one master"},
    {"LoopOnTheWay", Breakage::kCircleInPlan, "transient loop", "LID 1 at ", {}, 128, true},
    {"CreditLoopOnTheWay",
     Breakage::kCircleInPlan,
     "transient credit loop",
     "-> back after ",
     {},
     128,
     true},
    {"CutOnTheWay",
     Breakage::kHoleInLaterPlan,
     "transient cut",
     "-> LID 1 and ",
     {{&sim::Faults::reboots, 3}, {&sim::Faults::phase_s, 20}},
     128,
     true,
     2},
    {"UnresponsiveKept",
     Breakage::kUnresponsiveLost,
     "transient cut",
     "-> LID [0-9]+ and ",
     {{&sim::Faults::silences, 4}, {&sim::Faults::silence_s, 120}, {&sim::Faults::phase_s, 150}},
     128,
     true,
     1,
     "torus:dims=3x4,hosts=1"},
    {"Holds",
     Breakage::kHoldsForgotten,
     "holds",
     "hold [0-9]+ is gone",
     {{&sim::Faults::holds, 20}, {&sim::Faults::kills, 20}, {&sim::Faults::phase_s, 20}},
     128,
     false,
     7},
    {"Quality",
     Breakage::kNeverSettled,
     "quality",
     "(LID [0-9]+ leaves|the most loaded cable carries) .* after a fresh start",
     {{&sim::Faults::reboots, 6}, {&sim::Faults::flaps, 6}, {&sim::Faults::phase_s, 20}}},
    {"Tenants",
     Breakage::kPartitionsForgotten,
     "tenants",
     "revision [0-9]+ was confirmed",
     {{&sim::Faults::tenants, 2}, {&sim::Faults::kills, 40}, {&sim::Faults::phase_s, 20}},
     128,
     false,
     16},
    {"Observer",
     Breakage::kLidGivenTwice,
     "observer",
     "change 1 LIDs",
     {{&sim::Faults::observers, 2}}},
    {"Restart",
     Breakage::kTablesNotAdopted,
     "restart",
     "writes [0-9]+ blocks of tables",
     {{&sim::Faults::cuts, 6}, {&sim::Faults::flaps, 6}, {&sim::Faults::phase_s, 60}},
     128,
     false,
     7,
     "torus:dims=5x5,hosts=1"},
    {"Up", Breakage::kNeverUp, "up", "does not come up", {{&sim::Faults::up_under_faults, 1}}},
};

sim::RunResult RunWith(const Case& of, Breakage which, uint64_t seed) {
  sim::RunOptions options;
  options.seed = seed;
  options.core.smp.window_max = of.window_max;
  options.watch_tables = of.watch_tables;
  for (size_t i = 0; i < options.faults.size(); ++i) {
    const auto value = sim::FaultClasses()[i].value;
    double of_every_seed = 0;
    if (value == &sim::Faults::managers || value == &sim::Faults::phase_s) of_every_seed = 1;
    if (value == &sim::Faults::delay_us) of_every_seed = 10;
    for (const FaultValue& fault : of.faults)
      if (fault.of == value) of_every_seed = fault.value;
    options.faults[i] = {of_every_seed, of_every_seed, of_every_seed};
  }
  breakage = which;
  sim::RunResult result = sim::RunSeed(**sim::Generate(of.topology), options);
  breakage = Breakage::kNone;
  return result;
}

class Checkers : public testing::TestWithParam<Case> {};

TEST_P(Checkers, FindTheirBreakage) {
  const Case& of = GetParam();
  for (uint64_t seed = of.first_seed; seed < of.first_seed + 3; ++seed) {
    SCOPED_TRACE(seed);
    EXPECT_THAT(RunWith(of, Breakage::kNone, seed).failures, IsEmpty());
    EXPECT_THAT(RunWith(of, of.breakage, seed).failures,
                Contains(ContainsRegex(std::string("^") + of.checker + ": .*" + of.finding)));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Checkers, testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(CheckersTable, EveryCheckerHasItsBreakage) {
  std::set<std::string> covered;
  for (const Case& each : kCases) covered.insert(each.checker);
  const auto names = sim::CheckerNames();
  EXPECT_EQ(covered, std::set<std::string>(names.begin(), names.end()));
}

TEST(CheckersTable, EveryBreakageHasACase) {
  std::set<Breakage> covered;
  for (const Case& each : kCases) covered.insert(each.breakage);
  EXPECT_EQ(covered.size() + 1, static_cast<size_t>(Breakage::kFirstOfStore));
  EXPECT_FALSE(covered.contains(Breakage::kNone));
}

std::string BytesOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(BreakagesTest, NothingOfThemIsInANormalBuild) {
  const std::string message = "logged deliberately";
  std::string breakable;
  std::istringstream objects(BREAKABLE_OBJECTS);
  for (std::string object; std::getline(objects, object, '|');) breakable += BytesOf(object);
  EXPECT_THAT(breakable, HasSubstr(message));
  EXPECT_THAT(BytesOf(NORMAL_LIBRARY), Not(HasSubstr(message)));
}

}  // namespace
}  // namespace fabricd::test
