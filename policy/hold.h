// SPDX-License-Identifier: Apache-2.0
// Hold: somebody's wish that a part of the fabric be used less, kept until it is taken back. Four
// kinds, each with its exact inverse, never mixed:
//   cordon   schedulers should place nothing there; routes stay as they are
//   drain    routes lead round it, the link stays up: hard, or soft = only where nothing else is
//            left
//   isolate  no route leads to it, and its end ports are out of all partitions
//   disable  the port is physically down, at the switch port that faces the target
// A target is held while at least one hold stands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"

namespace fabricd::policy {

enum class HoldKind : uint8_t { kCordon = 1, kDrain, kIsolate, kDisable };
enum class DrainMode : uint8_t { kHard, kSoft };
enum class TargetKind : uint8_t { kHost = 1, kHca, kSwitch, kPort, kLink };

// Milliseconds since 1970, UTC: what is durable cannot be an Instant. While a hold is in memory its
// times are points of the steady clock, written with the offset between the two clocks; when the
// wall clock is set, the offset changes and they are rewritten (HoldBook::Retime).
using WallMs = int64_t;

// fabricd itself, as the owner of holds: of what conditions lead to, and of what verdicts do.
inline constexpr char kOwnHoldOwner[] = "fabricd", kTelemetryHoldOwner[] = "telemetry";

struct HeldPort {
  Guid node;  // NodeGUID.
  PortNum port;
  friend auto operator<=>(const HeldPort&, const HeldPort&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const HeldPort& port) {
    return H::combine(std::move(h), port.node, port.port);
  }
};

// A target as it was understood when the hold was made: GUIDs, because names and LIDs change.
struct HoldTarget {
  TargetKind kind = TargetKind::kHost;
  std::string name;             // As operators know it: "node12", "node12/mlx5_3", "leaf1/3".
  std::vector<Guid> nodes;      // Of a host: its HCAs. Of an HCA or a switch: itself.
  std::vector<HeldPort> ports;  // Of a port: itself. Of a link: both ends.
  // Switch ports that face the target: where `disable` acts, also when the target has vanished
  // because of it.
  std::vector<HeldPort> facing;
  // The end ports that have no other link than those of the target, as operators know them:
  // "node12/mlx5_3". They vanish when it is disabled. By name.
  std::vector<std::string> behind = {};
  friend bool operator==(const HoldTarget&, const HoldTarget&) = default;
};

struct Hold {
  uint64_t id = 0;
  HoldKind kind = HoldKind::kCordon;
  DrainMode mode = DrainMode::kHard;
  HoldTarget target;
  std::string owner;
  std::string reason;
  WallMs created = 0;
  std::optional<WallMs> expires;
  std::string request_id;              // Empty: none was given.
  std::optional<WallMs> acknowledged;  // AckHold: the scheduler has taken its jobs away.
  bool forced = false;
  // Deleted, and kept until the ports that it disabled are known to be enabled again.
  bool lifted = false;
  // It is over, and kept to answer the requests that made it or took it back when they come again.
  std::optional<WallMs> ended;
  uint64_t fingerprint = 0;       // Of the request that made it; 0: not known.
  std::string delete_request_id;  // Of the request that took it back; empty: none was given.
  friend bool operator==(const Hold&, const Hold&) = default;
};

// All that is durable of holds.
struct StoredHolds {
  std::vector<Hold> holds;  // By id.
  uint64_t highest_id = 0;  // That was ever given, also to holds that are gone.
  friend bool operator==(const StoredHolds&, const StoredHolds&) = default;
};

}  // namespace fabricd::policy
