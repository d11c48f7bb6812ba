// SPDX-License-Identifier: Apache-2.0
// Fault classes and how hard each may hit, as data: a table of classes, a text form for files, and
// the values that one seed draws.
//
// Text: one class a line, `NAME LOW [HIGH [EXTREME]]`, # begins a comment. One number: every seed
// has it. LOW HIGH: a seed in four has LOW, the others anything between. With EXTREME one seed in
// eight has that. A class that is not named has its standard range, or, where a line says `others
// low`, the LOW of that in every seed: nothing that is a fault.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <absl/status/statusor.h>

#include "common/rng.h"

namespace fabricd::sim {

// What one seed has drawn.
struct Faults {
  // Of each MAD, see MadFaults.
  double loss, duplicate, reorder, delay_us, jitter_us, hold_us;
  double sick_links, sick_loss;
  // In the safety phase.
  double phase_s, flaps, reboots, mutes, departures, outages, port_traps;
  double odd_devices, limited_keys;
  // Of the managers.
  double managers, foreign_sms, kills, moves, partitions, store_ms, plan_ms;
  double up_under_faults;
  // From here on drawn from a generator of their own: the seeds of before stay the runs they were.
  double trap_loss, from_s;
  double cuts, cut_gap_ms, push_cuts, deaths, switch_reboots, nic_flaps;
  double trains, train_period_s, train_down;
  double storms, storm_rate, storm_s, storm_trap, holds;
  double groups, joins, tenants;
  double foreign_writes;
  // Of GMPs of classes 0x04 and 0x0A only, see MadFaults, and of what counts.
  double gmp_loss, gmp_duplicate, gmp_delay_us, gmp_jitter_us;
  double counter_clears, host_reboots;
  double observers;
  double silences, silence_s;
};

struct FaultRange {
  double low = 0, high = 0, extreme = 0;
  friend bool operator==(const FaultRange&, const FaultRange&) = default;
};

struct FaultClass {
  const char* name;
  const char* what;  // With the unit.
  double Faults::*value;
  double most;  // The largest value that makes sense.
  FaultRange standard;
};
std::span<const FaultClass> FaultClasses();

// One range for each class, in the table's order.
using FaultSpec = std::vector<FaultRange>;
FaultSpec StandardFaults();

// kInvalidArgument lists every faulty line by number.
absl::StatusOr<FaultSpec> ReadFaults(const std::string& text);
// What ReadFaults reads back as the same, with what each class means as comments.
std::string WriteFaults(const FaultSpec& spec);

Faults DrawFaults(const FaultSpec& spec, Rng& rng);
// "loss 0.05, flaps 3": those that are not zero.
std::string Describe(const Faults& faults);

}  // namespace fabricd::sim
