// SPDX-License-Identifier: Apache-2.0
#include "daemon/record/view_events.h"

#include <utility>

#include <fmt/format.h>

namespace fabricd::daemon {
namespace {

using fabric::FabricEvent;
using fabric::Severity;

FabricEvent OfSubnet(const char* type, Severity severity, std::string message) {
  FabricEvent event;
  event.type = type;
  event.severity = severity;
  event.subject = "subnet";
  event.message = std::move(message);
  return event;
}

std::string EngineOf(const sweep::FabricView& view) {
  return view.plan ? view.plan->engine : std::string();
}

// Of the SM. Several nodes share a history.
std::string PlaceOf(const sweep::FabricView& view) {
  const fabric::Node* node = view.snapshot->node(view.snapshot->FindPort(view.sm.guid).node);
  if (node == nullptr || node->description.empty()) return fmt::format("{}", view.sm.guid);
  return fmt::format("{} ({})", node->description, view.sm.guid);
}

// Changes between two transitional states emit no event.
bool IsSettled(wire::SmState state) {
  return state == wire::SmState::kMaster || state == wire::SmState::kStandby;
}

}  // namespace

std::vector<FabricEvent> EventsBetween(const sweep::FabricView& before,
                                       const sweep::FabricView& after) {
  std::vector<FabricEvent> events;
  if (before.sm.state != after.sm.state &&
      (IsSettled(after.sm.state) || before.sm.state == wire::SmState::kMaster)) {
    FabricEvent event = OfSubnet(
        "MasterChanged",
        before.sm.state == wire::SmState::kMaster ? Severity::kWarning : Severity::kInfo,
        fmt::format("the SM at {} was {} and is {}", PlaceOf(after),
                    wire::SmStateName(before.sm.state), wire::SmStateName(after.sm.state)));
    event.facts = {{"state", std::string(wire::SmStateName(after.sm.state))}};
    events.push_back(std::move(event));
  }
  if (const std::string engine = EngineOf(after); !engine.empty() && engine != EngineOf(before)) {
    FabricEvent event =
        OfSubnet("EngineChanged", EngineOf(before).empty() ? Severity::kInfo : Severity::kWarning,
                 fmt::format("routing is by {}", engine));
    event.facts = {{"engine", engine}, {"before", EngineOf(before)}};
    events.push_back(std::move(event));
  }
  if (!before.subnet_up && after.subnet_up) {
    events.push_back(OfSubnet("SubnetUp", Severity::kInfo,
                              fmt::format("{} nodes, {} switches", after.snapshot->node_count(),
                                          after.snapshot->switch_count())));
  } else if (before.subnet_up && !after.subnet_up) {
    events.push_back(OfSubnet("SubnetDown", Severity::kError,
                              "not every link is ACTIVE or not every table is written"));
  }
  return events;
}

}  // namespace fabricd::daemon
