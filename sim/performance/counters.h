// SPDX-License-Identifier: Apache-2.0
// sim/performance: what a simulated device counts, and the agents by which it is read.
//
// The counters of one port. What the device has counted since it got power is kept in 64 bits; what
// a Get shows of it depends on the attribute: its width, and what a Set has cleared since. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace fabricd::sim {

// In the order of PortCountersExtended (IBA vol 1 §16.1.4.11), then what splits them, then those of
// the physical layer.
enum class Counter : uint8_t {
  kXmitData,  // Units of 4 octets, as kRcvData.
  kRcvData,
  kXmitPackets,
  kRcvPackets,
  kUnicastXmitPackets,
  kUnicastRcvPackets,
  kMulticastXmitPackets,
  kMulticastRcvPackets,
  kSymbolErrors,  // After forward error correction, where the link has it.
  kLinkErrorRecovery,
  kLinkDowned,
  kRcvErrors,
  kRcvRemotePhysicalErrors,
  kRcvSwitchRelayErrors,
  kXmitDiscards,
  kXmitConstraintErrors,
  kRcvConstraintErrors,
  kLocalLinkIntegrityErrors,
  kExcessiveBufferOverrunErrors,
  kVl15Dropped,
  kXmitWait,  // Ticks, see PerformanceAgent::kTick.
  kQp1Dropped,
  // PortRcvErrorDetails: parts of kRcvErrors, the last three of kRcvSwitchRelayErrors.
  kRcvLocalPhysicalErrors,
  kRcvMalformedPacketErrors,
  kRcvBufferOverrunErrors,
  kRcvDlidMappingErrors,
  kRcvVlMappingErrors,
  kRcvLoopingErrors,
  // PortXmitDiscardDetails: parts of kXmitDiscards.
  kXmitInactiveDiscards,
  kXmitNeighborMtuDiscards,
  kXmitSwLifetimeDiscards,
  kXmitSwHoqLifetimeDiscards,
  // Vendors' registers (PPCNT).
  kRawErrors,  // Bits that arrived wrong, of all physical lanes.
  kCorrectedBits,
  kEffectiveErrors,
  kFecCorrectedBlocks,
  kFecUncorrectableBlocks,
  kFecCorrectedSymbols,
  kUnintentionalDowns,  // Link downs by cause; kLinkDowned counts both.
  kIntentionalDowns,
};
inline constexpr size_t kCounters = static_cast<size_t>(Counter::kIntentionalDowns) + 1;
// The first so many are in PortCountersExtended; they can be cleared, and the details with them.
inline constexpr size_t kExtendedCounters = static_cast<size_t>(Counter::kQp1Dropped) + 1;
inline constexpr size_t kClearedCounters =
    static_cast<size_t>(Counter::kXmitSwHoqLifetimeDiscards) + 1;

// "xmit-data", "symbol-errors": as operators type them.
std::string_view CounterName(Counter counter);
std::optional<Counter> ParseCounter(std::string_view name);
std::string CounterNames();  // All of them, "xmit-data, rcv-data, …".

class PortCounts {
 public:
  // Sticks at 2^64 - 1. A part adds to its sum too: kXmitInactiveDiscards to kXmitDiscards.
  void Add(Counter counter, uint64_t count);
  // Since power-up, or since Zero; what Clear does changes nothing here.
  uint64_t Total(Counter counter) const { return total_[static_cast<size_t>(counter)]; }

  // The two sets of registers that count the same and are cleared apart: those of PortCounters with
  // the details, and those of PortCountersExtended.
  enum class Registers : uint8_t { kClassic, kExtended };
  // REQUIRES of both: `counter` is one of the first kClearedCounters.
  uint64_t Shown(Registers registers, Counter counter) const;
  void Clear(Registers registers, Counter counter);

 private:
  using Cleared = std::array<uint64_t, kClearedCounters>;  // Totals when they were cleared.

  std::array<uint64_t, kCounters> total_{};
  std::array<std::unique_ptr<Cleared>, 2> cleared_;  // By Registers; null: never.
};

// What a register of `bits` bits shows: it sticks at its maximum (IBA vol 1 §16.1.3.5).
constexpr uint64_t ClampedTo(int bits, uint64_t count) {
  const uint64_t most = bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  return count < most ? count : most;
}

}  // namespace fabricd::sim
