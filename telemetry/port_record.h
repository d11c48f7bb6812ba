// SPDX-License-Identifier: Apache-2.0
// PortRecord: all that is known of the counters of one port end. Values only; accounting.h fills
// it. Some 1,250 bytes: a fabric of 69,984 port ends has 88 MB of them.
#pragma once

#include <array>
#include <cstdint>

#include "common/ids.h"
#include "telemetry/counters.h"
#include "telemetry/wait_windows.h"

namespace fabricd::telemetry {

// Time since the collector started, in milliseconds. 0: never. 64 bits: 32 would end after 49 days.
using Millis = uint64_t;

// What a link counts so long after its state has changed says nothing: it may still be adjusting.
inline constexpr Millis kYoung = 10 * 60 * 1000;

// What the port and its device say of themselves, as far as values depend on it.
struct LinkFacts {
  uint64_t bytes_per_second = 0;  // Of data, one direction; 0: link down or unknown.
  uint8_t width = 0;              // Physical lanes in use.
  uint8_t tick = 0;               // PortSamplesControl.Tick, where knows_tick.
  bool knows_tick = false;
};

// Why the deltas of a port begin again.
enum class EpochCause : uint8_t {
  kFirstSeen,      // The first reading.
  kCounterReset,   // A counter decreased: somebody cleared it.
  kDeviceRestart,  // Counters decreased after the port was down: the device started again.
  kLinkReplaced,   // Another far end, or another module.
  kImplausible,    // Two readings in a row that the link cannot have counted.
};
std::string_view EpochCauseName(EpochCause cause);  // "COUNTER_RESET"

// How old what is known of a port is.
enum class Freshness : uint8_t {
  kNever,  // Nothing was read yet.
  kFresh,
  kStale,    // More than 3 intervals old: rates are withheld.
  kUnknown,  // More than 10 intervals old: nothing may be concluded from it.
};
std::string_view FreshnessName(Freshness freshness);  // "FRESH"

// Deltas per second over `window`, of the last two good readings.
struct Rates {
  float xmit_bytes = 0, rcv_bytes = 0;  // Bytes per second.
  float xmit_pkts = 0, rcv_pkts = 0;
  Millis at = 0;      // Of the later reading.
  Millis window = 0;  // Between the two. 0: no rates.
};

// Share of time in which the port had data and no credits, in [0, 1], and when it was read. It may
// come by another attribute than the rates.
struct WaitShare {
  float share = 0;
  Millis at = 0;
  Millis window = 0;  // 0: not known.
};

// What the error ratios need, summed up since the port is known.
struct ErrorSums {
  double bits = 0;  // Received: read, or rate x time where the device does not tell.
  uint64_t symbol_errors = 0, effective_errors = 0, raw_errors = 0;
  uint64_t rcv_errors = 0;  // Without those that arrived marked as bad.
  uint64_t rcv_pkts = 0;
};

// A window of 12 to 24 minutes for error ratios: two marks, of which the older is the beginning.
struct ErrorWindow {
  ErrorSums now;
  ErrorSums older, newer;
  Millis older_at = 0, newer_at = 0;  // 0: no mark yet.
  Millis at = 0;                      // Of `now`.
  bool has_registers = false;         // Bits and errors were read by PPCNT 0x16.
};

// The cable module, PDDR page 3.
struct ModuleReading {
  Millis at = 0;
  int16_t temperature = 0;  // 1/256 degree Celsius; 0: not known.
  uint16_t rx_power = 0;    // Of the first physical lane, as the device sends it.
  uint16_t tx_power = 0;
};

struct PortRecord {
  PortRef port;
  LinkFacts facts;

  // The last readings.
  std::array<uint64_t, kExtendedCounters> extended{};
  std::array<uint32_t, kExtendedCounters> classic{};
  std::array<uint16_t, kDetails> details{};
  std::array<uint64_t, kRegisters> registers{};
  std::array<Millis, kSources> read_at{};  // By Source. 0: never.

  // Increases that were seen, of each counter: they never decrease, whoever clears what. Errors
  // have two, as two attributes tell them: devices have been seen whose 64-bit counter stays 0.
  // Traffic and wait of a device without PortCountersExtended are summed in the first.
  std::array<uint64_t, kExtendedCounters> extended_sum{};
  std::array<uint32_t, kExtendedCounters> classic_sum{};  // Sticks at its maximum.
  std::array<uint32_t, kDetails> detail_sum{};            // Sticks at its maximum.
  std::array<uint64_t, kRegisters> register_sum{};

  Rates rates;
  WaitShare wait;
  WaitWindows wait_windows;
  ErrorWindow window;
  ModuleReading module;

  CounterSet measured;       // At least one good reading.
  CounterSet saturated;      // At its maximum when last read: increases are lower bounds.
  CounterSet invalid;        // Last reading was a value that means "none", or cannot be.
  CounterSet zero_extended;  // The 64-bit counter stayed while the classic one grew.
  CounterSet by_classic;     // Traffic and wait that PortCounters was the last to be read for.
  EpochCause epoch_cause = EpochCause::kFirstSeen;
  uint32_t epoch = 0;  // Counts from 1; 0: no reading yet.
  Millis epoch_since = 0;
  uint32_t resets = 0;       // Epochs that a decrease began.
  uint32_t bad_samples = 0;  // Readings that were thrown away.
  uint8_t bad_in_a_row = 0;
  Millis down_at = 0;   // The link was last seen down.
  Millis ber_step = 0;  // Between the last two readings of PPCNT 0x16; 0: not known.
  // The link became ACTIVE, was first seen so, or came back after a LinkDowned; 0: it is not
  // ACTIVE.
  Millis up_since = 0;
  Millis changed_at = 0;  // It became ACTIVE, or ceased to be; 0: not that we know.
  PortRef peer;           // The last that is known.

  // Increases seen since the port is known. Data in units of 4 bytes.
  uint64_t Total(Counter counter) const;
  // The last reading of the attribute that the total is by. Meaningless unless measured.
  uint64_t Raw(Counter counter) const;
  // When the counter was last read; 0: never.
  Millis ReadAt(Counter counter) const;
  Source SourceOf(Counter counter) const;
};

Freshness FreshnessOf(Millis read_at, Millis now, Millis interval);

// An error ratio over the window. `bound`: no error was seen, and `value` is the upper bound at 95
// % (3 / bits).
struct ErrorRatio {
  bool known = false;
  bool bound = false;
  double value = 0;
  Millis window = 0;  // How long was observed.
  uint64_t errors = 0;
  bool by_registers = false;  // PPCNT, else PortCounters and rate x time.
};
ErrorRatio SymbolErrorRatio(const PortRecord& record);
// Known where the device has the registers.
ErrorRatio EffectiveErrorRatio(const PortRecord& record);
ErrorRatio RawErrorRatio(const PortRecord& record);
// Received packets with errors of this link, of all received. Known from 1e6 packets on.
ErrorRatio DropRatio(const PortRecord& record);

}  // namespace fabricd::telemetry
