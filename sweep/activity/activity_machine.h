// SPDX-License-Identifier: Apache-2.0
// sweep/activity: what the core does, one thing after the other.
//
// ActivityMachine: the state of the core, which decides what may start: by the table of
// transitions, and by what each state allows. The Phase that operators see is derived from the
// state, for display only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace fabricd::sweep {

// Light sweeps, surveys, read-backs and reads of VL tables go on beside a state.
enum class CoreState : uint8_t {
  kIdle,         // Nothing is programmed. Surveys may be left from the state before.
  kDiscovering,  // A heavy sweep reads everything.
  kElecting,     // All was read; which SM is master is being found out.
  kStoringLids,  // LIDs have to be durable before they are used.
  kProgramming,  // Devices are made to hold what is wanted.
  kSurveying,    // Surveys that began in kIdle: they come before other work.
  kStandby       // Another SM is master.
};
inline constexpr size_t kCoreStates = 7;
std::string_view CoreStateName(CoreState state);  // "storing LIDs"

enum class CoreEvent : uint8_t {
  kSweepStarts,    // A heavy sweep.
  kDiscovered,     // The heavy sweep has read everything.
  kWaitForOther,   // This SM is to be master, and another one has to hand over first.
  kAssignLids,     // This SM is master, or has found a change: LIDs come first.
  kProgram,        // LIDs are durable.
  kUpdateProgram,  // LIDs stay: the whole plan is due, or multicast groups have changed.
  kSurveyStarts,   // After a report.
  kSurveysEnd,     // The last of them.
  kLightSweepEnds,
  kEnd,  // What the state is about has ended or failed.
  kOtherIsMaster
};
inline constexpr size_t kCoreEvents = 11;
std::string_view CoreEventName(CoreEvent event);  // "sweep starts"

// What may start, as far as a state decides it.
enum class Start : uint8_t {
  kHeavySweep,  // One that is wanted. One that another SM causes starts in any state.
  kLightSweep,
  kWholePlan,  // In place of an urgent or incremental repair.
  kTrees,      // Of multicast groups that have changed.
  kReads,      // Read-backs, and VL tables that clients ask for.
  kSurvey,
  kReroute  // A change that was found is planned for.
};

struct Transition {
  CoreState from;
  CoreEvent event;
  CoreState to;
};
// Beside these a heavy sweep may start, and another SM become master, in each state. Any other
// event cannot come in a state.
inline constexpr Transition kTransitions[] = {
    {CoreState::kDiscovering, CoreEvent::kDiscovered, CoreState::kElecting},
    {CoreState::kDiscovering, CoreEvent::kEnd, CoreState::kIdle},
    {CoreState::kElecting, CoreEvent::kWaitForOther, CoreState::kElecting},
    {CoreState::kElecting, CoreEvent::kAssignLids, CoreState::kStoringLids},
    {CoreState::kElecting, CoreEvent::kEnd, CoreState::kIdle},
    {CoreState::kStoringLids, CoreEvent::kProgram, CoreState::kProgramming},
    {CoreState::kStoringLids, CoreEvent::kAssignLids, CoreState::kStoringLids},
    {CoreState::kStoringLids, CoreEvent::kSurveysEnd, CoreState::kStoringLids},
    {CoreState::kStoringLids, CoreEvent::kLightSweepEnds, CoreState::kStoringLids},
    {CoreState::kStoringLids, CoreEvent::kEnd, CoreState::kIdle},
    {CoreState::kProgramming, CoreEvent::kAssignLids, CoreState::kStoringLids},
    {CoreState::kProgramming, CoreEvent::kSurveyStarts, CoreState::kProgramming},
    {CoreState::kProgramming, CoreEvent::kLightSweepEnds, CoreState::kProgramming},
    {CoreState::kProgramming, CoreEvent::kEnd, CoreState::kIdle},
    {CoreState::kIdle, CoreEvent::kAssignLids, CoreState::kStoringLids},
    {CoreState::kIdle, CoreEvent::kUpdateProgram, CoreState::kProgramming},
    {CoreState::kIdle, CoreEvent::kSurveyStarts, CoreState::kSurveying},
    {CoreState::kIdle, CoreEvent::kSurveysEnd, CoreState::kIdle},
    {CoreState::kIdle, CoreEvent::kLightSweepEnds, CoreState::kIdle},
    {CoreState::kSurveying, CoreEvent::kAssignLids, CoreState::kStoringLids},
    {CoreState::kSurveying, CoreEvent::kSurveyStarts, CoreState::kSurveying},
    {CoreState::kSurveying, CoreEvent::kSurveysEnd, CoreState::kIdle},
    {CoreState::kSurveying, CoreEvent::kLightSweepEnds, CoreState::kIdle},
};

// nullopt: the event cannot come in this state.
constexpr std::optional<CoreState> NextState(CoreState state, CoreEvent event) {
  if (event == CoreEvent::kSweepStarts) return CoreState::kDiscovering;
  if (event == CoreEvent::kOtherIsMaster) return CoreState::kStandby;
  for (const Transition& each : kTransitions)
    if (each.from == state && each.event == event) return each.to;
  return std::nullopt;
}

constexpr bool Allows(CoreState state, Start start) {
  switch (start) {
    case Start::kHeavySweep:
    case Start::kLightSweep:
    case Start::kWholePlan:
    case Start::kTrees:
    case Start::kReads: return state == CoreState::kIdle;
    case Start::kSurvey:
    case Start::kReroute:
      return state == CoreState::kIdle || state == CoreState::kSurveying ||
             state == CoreState::kProgramming;
  }
  return false;
}

class ActivityMachine {
 public:
  CoreState state() const { return state_; }
  bool Allows(Start start) const { return sweep::Allows(state_, start); }
  // REQUIRES: the event can come in this state.
  void On(CoreEvent event);

 private:
  CoreState state_ = CoreState::kIdle;
};

}  // namespace fabricd::sweep
