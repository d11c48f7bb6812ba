// SPDX-License-Identifier: Apache-2.0
#include "sim/performance/counters.h"

namespace fabricd::sim {
namespace {

constexpr std::array<std::string_view, kCounters> kNames = {
    "xmit-data",
    "rcv-data",
    "xmit-packets",
    "rcv-packets",
    "unicast-xmit-packets",
    "unicast-rcv-packets",
    "multicast-xmit-packets",
    "multicast-rcv-packets",
    "symbol-errors",
    "link-error-recovery",
    "link-downed",
    "rcv-errors",
    "rcv-remote-physical-errors",
    "rcv-switch-relay-errors",
    "xmit-discards",
    "xmit-constraint-errors",
    "rcv-constraint-errors",
    "local-link-integrity-errors",
    "excessive-buffer-overrun-errors",
    "vl15-dropped",
    "xmit-wait",
    "qp1-dropped",
    "rcv-local-physical-errors",
    "rcv-malformed-packet-errors",
    "rcv-buffer-overrun-errors",
    "rcv-dlid-mapping-errors",
    "rcv-vl-mapping-errors",
    "rcv-looping-errors",
    "xmit-inactive-discards",
    "xmit-neighbor-mtu-discards",
    "xmit-sw-lifetime-discards",
    "xmit-sw-hoq-lifetime-discards",
    "raw-errors",
    "corrected-bits",
    "effective-errors",
    "fec-corrected-blocks",
    "fec-uncorrectable-blocks",
    "fec-corrected-symbols",
    "unintentional-downs",
    "intentional-downs",
};

// What a counter is a part of.
std::optional<Counter> SumOf(Counter counter) {
  if (counter >= Counter::kRcvLocalPhysicalErrors && counter <= Counter::kRcvBufferOverrunErrors) {
    return Counter::kRcvErrors;
  }
  if (counter >= Counter::kRcvDlidMappingErrors && counter <= Counter::kRcvLoopingErrors) {
    return Counter::kRcvSwitchRelayErrors;
  }
  if (counter >= Counter::kXmitInactiveDiscards && counter <= Counter::kXmitSwHoqLifetimeDiscards) {
    return Counter::kXmitDiscards;
  }
  if (counter == Counter::kUnintentionalDowns || counter == Counter::kIntentionalDowns) {
    return Counter::kLinkDowned;
  }
  return std::nullopt;
}

}  // namespace

std::string_view CounterName(Counter counter) { return kNames[static_cast<size_t>(counter)]; }

std::optional<Counter> ParseCounter(std::string_view name) {
  for (size_t i = 0; i < kCounters; ++i) {
    if (kNames[i] == name) return static_cast<Counter>(i);
  }
  return std::nullopt;
}

std::string CounterNames() {
  std::string all;
  for (std::string_view name : kNames) {
    if (!all.empty()) all += ", ";
    all += name;
  }
  return all;
}

void PortCounts::Add(Counter counter, uint64_t count) {
  uint64_t& total = total_[static_cast<size_t>(counter)];
  total = count > ~uint64_t{0} - total ? ~uint64_t{0} : total + count;
  if (const std::optional<Counter> sum = SumOf(counter)) Add(*sum, count);
}

uint64_t PortCounts::Shown(Registers registers, Counter counter) const {
  const auto& cleared = cleared_[static_cast<size_t>(registers)];
  const size_t at = static_cast<size_t>(counter);
  return total_[at] - (cleared == nullptr ? 0 : (*cleared)[at]);
}

void PortCounts::Clear(Registers registers, Counter counter) {
  auto& cleared = cleared_[static_cast<size_t>(registers)];
  if (cleared == nullptr) cleared = std::make_unique<Cleared>();
  const size_t at = static_cast<size_t>(counter);
  (*cleared)[at] = total_[at];
}

}  // namespace fabricd::sim
