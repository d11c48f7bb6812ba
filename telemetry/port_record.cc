// SPDX-License-Identifier: Apache-2.0
#include "telemetry/port_record.h"

#include <algorithm>

namespace fabricd::telemetry {
namespace {

constexpr double kBoundErrors = 3;  // Poisson: none seen, at most 3 expected, at 95 %.
constexpr uint64_t kMinPackets = 1'000'000;
constexpr Millis kStaleIntervals = 3, kUnknownIntervals = 10;

ErrorRatio Ratio(const ErrorWindow& window, uint64_t ErrorSums::*errors, double of) {
  ErrorRatio ratio;
  if (window.older_at == 0 || window.at <= window.older_at || of <= 0) return ratio;
  ratio.known = true;
  ratio.window = window.at - window.older_at;
  ratio.errors = window.now.*errors - window.older.*errors;
  ratio.bound = ratio.errors == 0;
  ratio.value = (ratio.bound ? kBoundErrors : static_cast<double>(ratio.errors)) / of;
  ratio.by_registers = window.has_registers;
  return ratio;
}

double BitsOf(const ErrorWindow& window) { return window.now.bits - window.older.bits; }

}  // namespace

std::string_view EpochCauseName(EpochCause cause) {
  switch (cause) {
    case EpochCause::kFirstSeen: return "FIRST_SEEN";
    case EpochCause::kCounterReset: return "COUNTER_RESET";
    case EpochCause::kDeviceRestart: return "DEVICE_RESTART";
    case EpochCause::kLinkReplaced: return "LINK_REPLACED";
    case EpochCause::kImplausible: return "IMPLAUSIBLE";
  }
  return "UNKNOWN";
}

std::string_view FreshnessName(Freshness freshness) {
  switch (freshness) {
    case Freshness::kNever: return "NEVER";
    case Freshness::kFresh: return "FRESH";
    case Freshness::kStale: return "STALE";
    case Freshness::kUnknown: return "UNKNOWN";
  }
  return "UNKNOWN";
}

Freshness FreshnessOf(Millis read_at, Millis now, Millis interval) {
  if (read_at == 0) return Freshness::kNever;
  const Millis age = now > read_at ? now - read_at : 0;
  if (age > kUnknownIntervals * interval) return Freshness::kUnknown;
  if (age > kStaleIntervals * interval) return Freshness::kStale;
  return Freshness::kFresh;
}

uint64_t PortRecord::Total(Counter counter) const {
  const size_t i = Index(counter);
  if (i < kExtendedCounters) return std::max<uint64_t>(extended_sum[i], classic_sum[i]);
  if (i < kFirstRegister) return detail_sum[i - kFirstDetail];
  return register_sum[i - kFirstRegister];
}

Source PortRecord::SourceOf(Counter counter) const {
  const size_t i = Index(counter);
  if (i < kExtendedCounters) {
    if (!InfoOf(counter).is_error)
      return by_classic.Has(counter) ? Source::kPortCounters : Source::kPortCountersExtended;
    const bool has_extended = read_at[static_cast<size_t>(Source::kPortCountersExtended)] != 0;
    const bool from_classic = classic_sum[i] > extended_sum[i] || zero_extended.Has(counter) ||
                              !has_extended || (extended[i] == 0 && classic[i] != 0);
    return from_classic ? Source::kPortCounters : Source::kPortCountersExtended;
  }
  if (counter < Counter::kXmitInactiveDiscards) return Source::kPortRcvErrorDetails;
  if (i < kFirstRegister) return Source::kPortXmitDiscardDetails;
  if (counter < Counter::kFecCorrectedBlocks) return Source::kPpcntStatistical;
  if (counter < Counter::kUnintentionalDowns) return Source::kPpcntPhysical;
  return Source::kPpcntLinkDowns;
}

uint64_t PortRecord::Raw(Counter counter) const {
  const size_t i = Index(counter);
  if (i < kExtendedCounters) {
    return SourceOf(counter) == Source::kPortCounters ? classic[i] : extended[i];
  }
  return i < kFirstRegister ? details[i - kFirstDetail] : registers[i - kFirstRegister];
}

Millis PortRecord::ReadAt(Counter counter) const {
  return read_at[static_cast<size_t>(SourceOf(counter))];
}

ErrorRatio SymbolErrorRatio(const PortRecord& record) {
  return Ratio(record.window, &ErrorSums::symbol_errors, BitsOf(record.window));
}

ErrorRatio EffectiveErrorRatio(const PortRecord& record) {
  if (!record.window.has_registers) return {};
  return Ratio(record.window, &ErrorSums::effective_errors, BitsOf(record.window));
}

ErrorRatio RawErrorRatio(const PortRecord& record) {
  if (!record.window.has_registers) return {};
  return Ratio(record.window, &ErrorSums::raw_errors, BitsOf(record.window));
}

ErrorRatio DropRatio(const PortRecord& record) {
  const uint64_t packets = record.window.now.rcv_pkts - record.window.older.rcv_pkts;
  if (packets < kMinPackets) return {};
  ErrorRatio ratio = Ratio(record.window, &ErrorSums::rcv_errors, static_cast<double>(packets));
  ratio.by_registers = false;
  return ratio;
}

}  // namespace fabricd::telemetry
