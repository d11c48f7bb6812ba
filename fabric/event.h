// SPDX-License-Identifier: Apache-2.0
// FabricEvent: one thing that happened, as history keeps it and operators read it. The core makes
// them; the shell gives each its sequence number and wall-clock time, stores it and hands it to
// whoever watches.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/time.h"

namespace fabricd::fabric {

enum class Severity : uint8_t { kInfo, kWarning, kError };

// What it cost to get from a change to tables that fit it again. Times count from `begun`.
struct Reroute {
  std::string cause;    // "trap 128", "light sweep", "hold 7", "settling", "time-out", …
  std::string engine;   // Of the plan; "least change of rail" for a repair of rail's plan.
  Instant begun;        // Trap received, hold durable, timer due.
  Duration surveyed{};  // The change is known.
  Duration planned{};   // The plan is proved.
  Duration applied{};   // The last table write was acknowledged.
  uint64_t smps_sent = 0;
  uint32_t blocks_written = 0;
  uint32_t switches_written = 0;
  uint32_t destinations_changed = 0;
  uint32_t writes_failed = 0;
  uint32_t waves = 0;       // Rounds of writes that had to wait for each other.
  bool superseded = false;  // A newer change came before all was written.
};

// PascalCase and stable: scripts filter by them. By name.
inline constexpr std::array<std::string_view, 37> kEventTypes = {
    "CommonCauseEnded",
    "CommonCauseFound",
    "ConditionCleared",
    "ConditionRaised",
    "ConfigRefused",
    "ConfigReloaded",
    "CountersReset",
    "EngineChanged",
    "EventsLost",
    "HoldAcknowledged",
    "HoldCreated",
    "HoldDeleted",
    "HoldExpired",
    "HoldInEffect",
    "HoldKept",
    "LinkDown",
    "LinkReleased",
    "LinkSuppressed",
    "LinkUp",
    "MasterChanged",
    "NodeAppeared",
    "NodeVanished",
    "PartitionsChanged",
    "PathsInterrupted",
    "RerouteCompleted",
    "SmaResponsive",
    "SmaUnresponsive",
    "SubnetDown",
    "SubnetUp",
    "TableDiffers",
    "TakeoverHeld",
    "VerdictAcknowledged",
    "VerdictBreakerOpened",
    "VerdictBreakerReset",
    "VerdictChanged",
    "VerdictOverruled",
    "VerdictReleased",
};

struct FabricEvent {
  std::string type;  // One of kEventTypes.
  Severity severity = Severity::kInfo;
  std::string subject;  // "leaf1/3 ↔ spine2/7", "node12 mlx5_3/1", "subnet".
  Guid node;            // Of the subject; 0: the subnet.
  PortNum port;         // 0: the node.
  Guid peer;            // Of a link, the node at its other end; 0: it is not about a link.
  PortNum peer_port;
  std::string message;                                     // One sentence for people.
  std::vector<std::pair<std::string, std::string>> facts;  // Numbers and names, by key.
  std::optional<Reroute> reroute;
  Instant at;
};

// What the events asked for are about. None: all.
struct EventSubjects {
  std::vector<Guid> nodes;         // At either end of a link.
  std::vector<std::string> names;  // As events call them: of hosts, and of nodes that are gone.

  bool Has(const FabricEvent& event) const;
};

// Whether the node of this name, or one of the host, is at an end of "leaf1/3 ↔ node12 mlx5_3/1".
bool SubjectNames(const std::string& subject, const std::string& name);

}  // namespace fabricd::fabric
