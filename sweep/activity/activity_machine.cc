// SPDX-License-Identifier: Apache-2.0
#include "sweep/activity/activity_machine.h"

#include <array>

#include "common/check.h"

namespace fabricd::sweep {

std::string_view CoreStateName(CoreState state) {
  constexpr std::array<std::string_view, kCoreStates> kNames{
      "idle",      "discovering", "electing", "storing LIDs", "programming",
      "surveying", "standby",     "reading",  "watching"};
  return kNames[static_cast<size_t>(state)];
}

std::string_view CoreEventName(CoreEvent event) {
  constexpr std::array<std::string_view, kCoreEvents> kNames{
      "sweep starts",       "discovered",    "wait for another SM", "assign LIDs",      "program",
      "update program",     "survey starts", "surveys end",         "light sweep ends", "end",
      "other SM is master", "must not write"};
  return kNames[static_cast<size_t>(event)];
}

void ActivityMachine::On(CoreEvent event) {
  const std::optional<CoreState> next = NextState(state_, event);
  FABRICD_CHECK(next.has_value(), "\"{}\" while {}", CoreEventName(event), CoreStateName(state_));
  state_ = *next;
}

}  // namespace fabricd::sweep
