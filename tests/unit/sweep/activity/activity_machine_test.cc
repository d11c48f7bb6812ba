// SPDX-License-Identifier: Apache-2.0
#include "sweep/activity/activity_machine.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabricd::sweep {
namespace {

using S = CoreState;
using E = CoreEvent;

template <typename Enum>
std::vector<Enum> All(size_t count) {
  std::vector<Enum> all;
  for (size_t i = 0; i < count; ++i) all.push_back(static_cast<Enum>(i));
  return all;
}
const std::vector<S> kStates = All<S>(kCoreStates);
const std::vector<E> kEvents = All<E>(kCoreEvents);

// An ActivityMachine in this state.
ActivityMachine In(S state) {
  const std::map<S, std::vector<E>> events = {
      {S::kIdle, {}},
      {S::kDiscovering, {E::kSweepStarts}},
      {S::kElecting, {E::kSweepStarts, E::kDiscovered}},
      {S::kStoringLids, {E::kSweepStarts, E::kDiscovered, E::kAssignLids}},
      {S::kProgramming, {E::kSweepStarts, E::kDiscovered, E::kAssignLids, E::kProgram}},
      {S::kSurveying, {E::kSurveyStarts}},
      {S::kStandby, {E::kOtherIsMaster}},
      {S::kReading, {E::kSweepStarts, E::kDiscovered, E::kMustNotWrite}},
      {S::kWatching, {E::kSweepStarts, E::kDiscovered, E::kMustNotWrite, E::kEnd}}};
  ActivityMachine machine;
  for (const E event : events.at(state)) machine.On(event);
  return machine;
}

// By their first letters.
TEST(ActivityMachine, EachStateAndEventHasTheNextStateThatIsShownHere) {
  std::string table = fmt::format("{:20}", "");
  for (const S state : kStates) table += fmt::format(" {}", CoreStateName(state).substr(0, 4));
  for (const E event : kEvents) {
    table += fmt::format("\n{:20}", CoreEventName(event));
    for (const S state : kStates) {
      const std::optional<S> next = NextState(state, event);
      table += fmt::format(" {:>4}", next ? CoreStateName(*next).substr(0, 4) : "-");
    }
  }
  EXPECT_EQ(table + "\n",
            "                     idle disc elec stor prog surv stan read watc\n"
            "sweep starts         disc disc disc disc disc disc disc disc disc\n"
            "discovered              - elec    -    -    -    -    -    -    -\n"
            "wait for another SM     -    - elec    -    -    -    -    -    -\n"
            "assign LIDs          stor    - stor stor stor stor    -    -    -\n"
            "program                 -    -    - prog    -    -    -    -    -\n"
            "update program       prog    -    -    -    -    -    -    -    -\n"
            "survey starts        surv    -    -    - prog surv    -    -    -\n"
            "surveys end          idle    -    - stor    - idle    -    -    -\n"
            "light sweep ends     idle    -    - stor prog idle    -    -    -\n"
            "end                     - idle idle idle idle    -    - watc    -\n"
            "other SM is master   stan stan stan stan stan stan stan stan stan\n"
            "must not write          -    - read    -    -    -    -    -    -\n");
}

TEST(ActivityMachine, EachTransitionIsListedOnce) {
  std::set<std::pair<S, E>> pairs;
  for (const Transition& each : kTransitions)
    EXPECT_TRUE(pairs.insert({each.from, each.event}).second)
        << CoreEventName(each.event) << " while " << CoreStateName(each.from);
}

TEST(ActivityMachine, TheMachineGoesToTheNextState) {
  for (const S state : kStates)
    for (const E event : kEvents) {
      const std::optional<S> next = NextState(state, event);
      if (!next) continue;
      ActivityMachine machine = In(state);
      ASSERT_EQ(machine.state(), state);
      machine.On(event);
      EXPECT_EQ(machine.state(), *next);
    }
}

TEST(ActivityMachineDeathTest, AnEventThatCannotComeIsNamedWithTheState) {
  ActivityMachine machine = In(S::kStandby);
  EXPECT_DEATH(machine.On(E::kProgram), "\"program\" while standby");
}

TEST(ActivityMachine, AllButSweepsSurveysAndChangesStartInIdleOnly) {
  for (const S state : kStates)
    for (const Start start : {Start::kLightSweep, Start::kWholePlan, Start::kTrees, Start::kReads})
      EXPECT_EQ(Allows(state, start), state == S::kIdle) << CoreStateName(state);
}

TEST(ActivityMachine, WhereNothingMayBeWrittenOnlyHeavySweepsStart) {
  for (const S state : kStates)
    EXPECT_EQ(Allows(state, Start::kHeavySweep), state == S::kIdle || state == S::kWatching)
        << CoreStateName(state);
}

// The fabric was read, and its LIDs are in use.
TEST(ActivityMachine, SurveysAndChangesStartWhileIdleSurveyingOrProgramming) {
  const std::set<S> states = {S::kIdle, S::kSurveying, S::kProgramming};
  for (const S state : kStates)
    for (const Start start : {Start::kSurvey, Start::kReroute})
      EXPECT_EQ(Allows(state, start), states.contains(state)) << CoreStateName(state);
}

TEST(ActivityMachine, EachAllowedStartHasATransition) {
  for (const S state : kStates) {
    EXPECT_TRUE(!Allows(state, Start::kSurvey) || NextState(state, E::kSurveyStarts));
    EXPECT_TRUE(!Allows(state, Start::kReroute) || NextState(state, E::kAssignLids));
    EXPECT_TRUE(!Allows(state, Start::kWholePlan) || NextState(state, E::kUpdateProgram));
    EXPECT_TRUE(!Allows(state, Start::kTrees) || NextState(state, E::kUpdateProgram));
  }
}

}  // namespace
}  // namespace fabricd::sweep
