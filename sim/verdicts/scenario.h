// SPDX-License-Identifier: Apache-2.0
// sim/verdicts: what a verdict engine concludes of causes that are known.
//
// Scenarios: physical causes, where, how bad, and when, and the traffic that meets them, as text.
// docs/TESTING.md has the form and what each cause does. A scenario never says what is to be
// concluded. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <absl/status/statusor.h>

#include "sim/traffic/patterns.h"

namespace fabricd::sim {

enum class CauseKind : uint8_t {
  kNoisyCable,
  kNoisyTransmitter,
  kNoisyReceiver,
  kDirtyCable,
  kHotModule,
  kSlowReceiver,
  kIncast,
  kFlappingCable,
  kCablePulled,
  kPeerDisable,
  kHostReboot,
  kSwitchReboot,
  kFirmwareDefect,
  kCounterClear,
  kTelemetryBlackout,
  kMulticastNoise,
  kRailStorm,
  kCableSwapped,
  kRoughLinkUp,
  kOddAgent,
  kSickPath,
  kVl15Drops,
  kFabricdRestart,
};

enum class PlaceKind : uint8_t {
  kNamed,  // A node, a host, "NODE/PORT", or the number of a rail.
  kRandomLink,
  kRandomHostLink,
  kRandomTrunk,
  kRandomHost,
  kRandomSwitch,
  kRandomLeaf,
  kRandomRail,
  kAll,
};

struct Place {
  PlaceKind kind = PlaceKind::kNamed;
  std::string name;  // Of kNamed.
  friend bool operator==(const Place&, const Place&) = default;
};
std::string ToText(const Place& place);

// One number, or two between which each seed draws: severities with a uniform logarithm.
struct Range {
  double low = 0, high = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

// What there is to say of a kind of cause.
struct CauseInfo {
  CauseKind kind;
  const char* name;
  const char* unit;    // Of its severity; null: it has none.
  double least, most;  // Severities that make sense.
  Range severity;      // Where the line gives none.
  double duration;     // The same, in seconds; 0: to the end of the run.
  uint32_t places;     // Bits by PlaceKind.
  bool has_burst, has_share;
  bool has_agent = false;
};
std::span<const CauseInfo> Causes();
const CauseInfo& InfoOf(CauseKind kind);

struct Cause {
  CauseKind kind = CauseKind::kNoisyCable;
  Place place;
  Range severity;
  Range start, duration;  // Seconds; a duration of 0: to the end of the run.
  double burst = 1;       // Mean number of symbol errors that come together.
  double share = 0;       // Of the HCAs of a family.
  std::string agent;      // What ParsePerformanceOptions reads.
  friend bool operator==(const Cause&, const Cause&) = default;
};

struct ScenarioTraffic {
  TrafficPattern pattern = TrafficPattern::kRing;
  std::string hosts;  // "all", how many drawn ones, or names with commas between.
  double load = 1;
  double start = 0, duration = 0;  // Seconds; a duration of 0: to the end of the run.
  friend bool operator==(const ScenarioTraffic&, const ScenarioTraffic&) = default;
};

struct Scenario {
  static constexpr size_t kMostLines = 1000;  // Of causes and traffic.
  double interval = 30;                       // Seconds from one reading of a port to the next.
  double length = 7200;                       // Seconds, from when the subnet is up.
  std::vector<Cause> causes;
  std::vector<ScenarioTraffic> traffic;
  friend bool operator==(const Scenario&, const Scenario&) = default;
};

// kInvalidArgument lists every faulty line by number.
absl::StatusOr<Scenario> ReadScenario(const std::string& text);
// What ReadScenario reads back as the same.
std::string WriteScenario(const Scenario& scenario);

}  // namespace fabricd::sim
