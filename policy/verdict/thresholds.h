// SPDX-License-Identifier: Apache-2.0
// Limits of the evidence rows as data: bit-error ratios by speed, FEC and media, and counts. How
// many errors a ratio allows within a window follows from the bits of that window (Poisson).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/time.h"
#include "policy/evidence.h"

namespace fabricd::policy {

struct BerLevels {
  double normal = 1e-15, warning = 5e-15, error = 1e-14;
};

// Limits of a kind of link. The first row of the table that fits a link is its own.
struct BerRow {
  double min_gigabits = 0;      // Of a physical lane.
  std::optional<FecClass> fec;  // nullopt: any.
  std::optional<Media> media;   // nullopt: any.
  BerLevels symbol, effective;
  bool is_documented = false;  // By the vendor, for such links; else verdicts are less certain.
};
// The documented ones of NDR. XDR has no official limits: it shares the general rows.
std::vector<BerRow> DefaultBerTable();

// So many within the window make the level; 0: never.
struct CountLevels {
  uint32_t suspect = 0, strong = 0, fatal = 0;
};

struct Limits {
  std::vector<BerRow> ber = DefaultBerTable();
  double fatal_ber = 1e-12;  // Over 60 s.
  // How probable it may be that a link exactly at a ratio is called suspect, or strongly so, by one
  // test. A large fabric makes 8 million tests a day.
  double suspect_probability = 0.01, strong_probability = 1e-6;
  uint16_t spread_readings = 3;  // An increase in fewer readings is one event: bursts.

  CountLevels uncorrectable{1, 3, 0};
  CountLevels link_downs{1, 2, 3};  // Within 24 h, 24 h, 10 min.
  CountLevels recoveries{3, 10, 0};
  CountLevels local_physical{1, 10, 10};
  double drop_strong = 1e-12, drop_fatal = 1e-9;  // Of the packets received, beside the count.
  double min_packets = 1e6;                       // Below it no ratio is computed.
  CountLevels link_integrity{1, 3, 0};
  CountLevels overrun{1, 3, 0};
  double wait_suspect = 0.01, wait_strong = 0.10;            // Shares of time.
  double low_utilisation = 0.50, incast_utilisation = 0.85;  // Of what the waiting port sends.
  uint16_t wait_windows = 2;                                 // Of three.
  CountLevels hoq_discards{1, 100, 0};
  CountLevels traps{10, 60, 250};  // Within 90 s.
  CountLevels timeouts{2, 5, 0};
  double hot = 70, hotter_than_usual = 10, alarm = 80;  // Degrees Celsius.
  CountLevels malformed{1, 10, 0};

  Duration min_up = std::chrono::minutes(10);        // A link that is younger says nothing,
  Duration observation = std::chrono::minutes(125);  // and nothing about ratios of 1e-15.
};

// What is wrong with limits that an operator configured, each with the name of the field. Empty:
// nothing.
using Faults = std::vector<std::string>;
Faults Check(const Limits& limits);

// Limits of the link. The last row of a checked table fits every link.
const BerRow& BerRowOf(const LinkEvidence& link, const Limits& limits);

// P(X >= count) of a Poisson distribution. REQUIRES: mean >= 0.
double PoissonTail(double mean, uint64_t count);
// The smallest count, at least 1, that is reached with at most this probability.
uint64_t CriticalCount(double mean, double probability);

}  // namespace fabricd::policy
