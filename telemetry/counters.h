// SPDX-License-Identifier: Apache-2.0
// telemetry: reads what every port counts, keeps it, and says how much of it is known.
//
// The counters, whatever attribute they are read by. Names of IBA vol 1 §16.1.3.5 and §16.1.4, and
// of NVIDIA's register description for those behind kRcvBits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace fabricd::telemetry {

enum class Counter : uint8_t {
  // PortCountersExtended, in its order, and PortCounters.
  kXmitData,  // Units of 4 bytes, as is kRcvData.
  kRcvData,
  kXmitPkts,
  kRcvPkts,
  kUnicastXmitPkts,
  kUnicastRcvPkts,
  kMulticastXmitPkts,
  kMulticastRcvPkts,
  kSymbolErrors,
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
  kXmitWait,  // Units of PortSamplesControl.Tick.
  kQp1Dropped,
  // PortRcvErrorDetails.
  kRcvLocalPhysicalErrors,
  kRcvMalformedPktErrors,
  kRcvBufferOverrunErrors,
  kRcvDlidMappingErrors,
  kRcvVlMappingErrors,
  kRcvLoopingErrors,
  // PortXmitDiscardDetails.
  kXmitInactiveDiscards,
  kXmitNeighborMtuDiscards,
  kXmitSwLifetimeDiscards,
  kXmitSwHoqLifetimeDiscards,
  // PPCNT group 0x16.
  kRcvBits,
  kPhySymbolErrors,  // Behind FEC and link-level retransmission.
  kCorrectedBits,
  kRawErrors,
  kEffectiveErrors,  // Behind FEC.
  // PPCNT group 0x12.
  kFecCorrectedBlocks,
  kFecUncorrectableBlocks,
  kLinkDownEvents,
  kSuccessfulRecoveries,
  kUnintentionalDowns,
  kIntentionalDowns,
};
inline constexpr size_t kCounters = 43;
constexpr size_t Index(Counter counter) { return static_cast<size_t>(counter); }
inline constexpr size_t kExtendedCounters = Index(Counter::kQp1Dropped) + 1;
inline constexpr size_t kFirstDetail = Index(Counter::kRcvLocalPhysicalErrors);
inline constexpr size_t kDetails = Index(Counter::kXmitSwHoqLifetimeDiscards) + 1 - kFirstDetail;
inline constexpr size_t kFirstRegister = Index(Counter::kRcvBits);
inline constexpr size_t kRegisters = kCounters - kFirstRegister;

// The attribute that a value was read from.
enum class Source : uint8_t {
  kPortCountersExtended,
  kPortCounters,
  kPortRcvErrorDetails,
  kPortXmitDiscardDetails,
  kPpcntStatistical,
  kPpcntPhysical,
  kPpcntLinkDowns,  // Second block of the physical group.
};
inline constexpr size_t kSources = 7;
std::string_view SourceName(Source source);  // "PortCountersExtended", "PPCNT 0x16"

struct CounterInfo {
  std::string_view name;  // As perfquery prints it: "SymbolErrorCounter".
  std::string_view key;   // As commands and JSON name it: "symbol_errors".
  // What follows "infiniband_switch_port_" and "infiniband_hca_port_" in the names of treydock's
  // exporter; empty where that has none.
  std::string_view metric;
  bool is_error = false;     // An increase is worth a line of `fabricctl errors`.
  uint8_t classic_bits = 0;  // Width in PortCounters; 0: not there.
};
const CounterInfo& InfoOf(Counter counter);
// By key or by perfquery's name; nullopt: none has it.
std::optional<Counter> FindCounter(std::string_view name);

// A set of counters. Bits by Index.
class CounterSet {
 public:
  constexpr CounterSet() = default;
  constexpr bool Has(Counter counter) const { return (bits_ >> Index(counter) & 1) != 0; }
  constexpr void Add(Counter counter) { bits_ |= uint64_t{1} << Index(counter); }
  constexpr void Remove(Counter counter) { bits_ &= ~(uint64_t{1} << Index(counter)); }
  constexpr bool IsEmpty() const { return bits_ == 0; }
  friend constexpr bool operator==(CounterSet, CounterSet) = default;

 private:
  uint64_t bits_ = 0;
};

template <typename Visit>
void ForEachCounter(Visit&& visit) {
  for (size_t i = 0; i < kCounters; ++i) visit(static_cast<Counter>(i));
}

}  // namespace fabricd::telemetry
