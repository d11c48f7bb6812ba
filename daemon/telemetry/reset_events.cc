// SPDX-License-Identifier: Apache-2.0
#include "daemon/telemetry/reset_events.h"

#include <utility>

#include <fmt/format.h>

#include "fabric/names.h"

namespace fabricd::daemon {
namespace {

fabric::FabricEvent Event(std::string subject, std::string message) {
  fabric::FabricEvent event;
  event.type = "CountersReset";
  event.subject = std::move(subject);
  event.message = std::move(message);
  return event;
}

std::string_view Reason(telemetry::EpochCause cause) {
  switch (cause) {
    case telemetry::EpochCause::kDeviceRestart: return "its device has started again";
    case telemetry::EpochCause::kLinkReplaced: return "its cable or its far end is another one";
    case telemetry::EpochCause::kImplausible: return "they jumped by more than the link carries";
    case telemetry::EpochCause::kFirstSeen:
    case telemetry::EpochCause::kCounterReset: break;
  }
  return "somebody has cleared them";
}

}  // namespace

std::vector<fabric::FabricEvent> ResetEvents::Take(
    const std::vector<telemetry::EpochStarted>& epochs, const fabric::FabricSnapshot& snapshot,
    Instant now) {
  std::vector<fabric::FabricEvent> events;
  if (now >= minute_ends_) {
    if (in_minute_ > kEach) {
      events.push_back(Event(
          "subnet", fmt::format("counters of {} more ports have begun again", in_minute_ - kEach)));
    }
    in_minute_ = 0;
    minute_ends_ = now + std::chrono::minutes(1);
  }
  for (const telemetry::EpochStarted& epoch : epochs) {
    if (++in_minute_ > kEach) continue;
    const fabric::Node* node = snapshot.node(epoch.port.node);
    if (node == nullptr) continue;
    fabric::FabricEvent event =
        Event(fabric::PortName(*node, epoch.port.port),
              fmt::format("counters have begun again: {}", Reason(epoch.cause)));
    event.node = node->guid();
    event.port = epoch.port.port;
    event.facts = {{"cause", std::string(telemetry::EpochCauseName(epoch.cause))}};
    events.push_back(std::move(event));
  }
  return events;
}

}  // namespace fabricd::daemon
