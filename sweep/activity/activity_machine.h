// SPDX-License-Identifier: Apache-2.0
// sweep/activity: the activities of the core and the order in which they run.
//
// ActivityMachine: the state of the core. The state and the table of transitions decide which
// activity may start. The Phase that operators see is derived from the state, for display only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace fabricd::sweep {

// Light sweeps, surveys, read-backs and reads of VL tables run beside the state.
enum class CoreState : uint8_t {
  kIdle,         // Nothing is programmed. Surveys may remain from the previous state.
  kDiscovering,  // A heavy sweep reads everything.
  kElecting,     // Everything was read. The election decides which SM is master.
  kStoringLids,  // Before the first Set, LIDs are stored, and a mastership from a new port.
  kProgramming,  // Devices are brought to the desired state.
  kSurveying,    // Surveys that began in kIdle. They take precedence over other work.
  kStandby,      // Another SM is master.
  kReading,      // Everything is read, to show what this SM would write. It must not write.
  kWatching      // Nothing but heavy sweeps: the mode, or the takeover guard, allows no writes.
};
inline constexpr size_t kCoreStates = 9;
std::string_view CoreStateName(CoreState state);  // "storing LIDs"

enum class CoreEvent : uint8_t {
  kSweepStarts,    // A heavy sweep.
  kDiscovered,     // The heavy sweep has read everything.
  kWaitForOther,   // This SM should be master, but another one has to hand over first.
  kAssignLids,     // This SM is master, or has found a change: LIDs come first.
  kProgram,        // What kStoringLids waits for is stored, or cannot be.
  kUpdateProgram,  // LIDs stay: the whole plan is due, or multicast groups have changed.
  kSurveyStarts,   // After a report.
  kSurveysEnd,     // After the last survey.
  kLightSweepEnds,
  kEnd,  // The activity of this state has ended or failed.
  kOtherIsMaster,
  kMustNotWrite  // This SM only reads, or the takeover guard has stopped it.
};
inline constexpr size_t kCoreEvents = 12;
std::string_view CoreEventName(CoreEvent event);  // "sweep starts"

// Activities that a state can allow or refuse. The caller checks any further conditions.
enum class Start : uint8_t {
  kHeavySweep,  // A requested one. A sweep that another SM causes starts in any state.
  kLightSweep,
  kWholePlan,  // In place of an urgent or incremental repair.
  kTrees,      // For multicast groups that have changed.
  kReads,      // Read-backs, and VL tables that clients request.
  kSurvey,
  kReroute  // Plan for a change that was found.
};

struct Transition {
  CoreState from;
  CoreEvent event;
  CoreState to;
};
// Also, in every state a heavy sweep may start and another SM may become master. No other event can
// occur in a state.
inline constexpr Transition kTransitions[] = {
    {CoreState::kDiscovering, CoreEvent::kDiscovered, CoreState::kElecting},
    {CoreState::kDiscovering, CoreEvent::kEnd, CoreState::kIdle},
    {CoreState::kElecting, CoreEvent::kWaitForOther, CoreState::kElecting},
    {CoreState::kElecting, CoreEvent::kAssignLids, CoreState::kStoringLids},
    {CoreState::kElecting, CoreEvent::kMustNotWrite, CoreState::kReading},
    {CoreState::kElecting, CoreEvent::kEnd, CoreState::kIdle},
    {CoreState::kReading, CoreEvent::kEnd, CoreState::kWatching},
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

// nullopt: the event cannot occur in this state.
constexpr std::optional<CoreState> NextState(CoreState state, CoreEvent event) {
  if (event == CoreEvent::kSweepStarts) return CoreState::kDiscovering;
  if (event == CoreEvent::kOtherIsMaster) return CoreState::kStandby;
  for (const Transition& each : kTransitions)
    if (each.from == state && each.event == event) return each.to;
  return std::nullopt;
}

constexpr bool Allows(CoreState state, Start start) {
  switch (start) {
    case Start::kHeavySweep: return state == CoreState::kIdle || state == CoreState::kWatching;
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
  // REQUIRES: the event can occur in this state.
  void On(CoreEvent event);

 private:
  CoreState state_ = CoreState::kIdle;
};

}  // namespace fabricd::sweep
