// SPDX-License-Identifier: Apache-2.0
#include "telemetry/accounting.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

namespace fabricd::telemetry {
namespace {

constexpr uint64_t kNoValue64 = uint64_t{1} << 63;
constexpr uint16_t kNoValue16 = 0xFFFF;
constexpr double kMillisPerSecond = 1000;
// What a link may have counted above its rate: readings are not taken at the same time as they are
// requested.
constexpr double kRateTolerance = 1.05;
constexpr double kSlackBytes = 1 << 20;
constexpr double kMaxPacketBytes = 4096 + 128;
constexpr double kMaxSymbolErrorsPerSecond = 1e9;
constexpr Millis kWindowStep = 12 * 60 * 1000;
constexpr uint8_t kSwitchIbTick = 31;
constexpr uint8_t kBadInARow = 2;

uint32_t AddSticking(uint32_t sum, uint64_t increase) {
  const uint64_t room = std::numeric_limits<uint32_t>::max() - sum;
  return sum + static_cast<uint32_t>(std::min(room, increase));
}

bool SetTo(CounterSet& set, Counter counter, bool value) {
  value ? set.Add(counter) : set.Remove(counter);
  return value;
}

Millis& ReadAtOf(PortRecord& record, Source source) {
  return record.read_at[static_cast<size_t>(source)];
}

// One reading of several counters of one attribute, whatever their width.
class Batch {
 public:
  Batch(PortRecord& record, Source source, const Reading& reading)
      : record_(record), source_(source), reading_(reading) {
    const Millis last = ReadAtOf(record, source);
    is_baseline_ = last == 0;
    elapsed_ = reading.at > last ? reading.at - last : 0;
  }

  // `before`: the last reading; `was_good`: it meant something.
  void Add(Counter counter, uint64_t before, uint64_t value, bool good, bool at_maximum) {
    // Traffic and wait have one sum: where the attribute changes that they are read by, the other
    // one's last value is not theirs.
    const bool by_classic = source_ == Source::kPortCounters && !InfoOf(counter).is_error;
    const bool same_attribute = by_classic == record_.by_classic.Has(counter);
    SetTo(record_.by_classic, counter, by_classic);
    values_.push_back({counter, before, value, good, at_maximum,
                       good && !is_baseline_ && same_attribute && record_.measured.Has(counter) &&
                           !record_.invalid.Has(counter)});
  }

  bool is_baseline() const { return is_baseline_; }
  double seconds() const { return elapsed_ / kMillisPerSecond; }

  // nullopt: no increase is known.
  std::optional<uint64_t> Delta(Counter counter) const {
    if (is_baseline_) return std::nullopt;
    for (const Value& value : values_) {
      if (value.counter == counter && value.comparable && value.value >= value.before) {
        return value.value - value.before;
      }
    }
    return std::nullopt;
  }

  // False: the batch ends here, and `outcome` says why.
  bool Check(Outcome& outcome) {
    const bool decreased = std::ranges::any_of(
        values_, [](const Value& v) { return v.comparable && v.value < v.before; });
    if (decreased) {
      const bool restarted = record_.down_at != 0 && record_.down_at >= ReadAtOf(record_, source_);
      Begin(outcome, restarted ? EpochCause::kDeviceRestart : EpochCause::kCounterReset);
      return true;
    }
    if (!is_baseline_ && !IsPlausible()) {
      ++record_.bad_samples;
      outcome.thrown_away = true;
      if (++record_.bad_in_a_row < kBadInARow) return false;
      Begin(outcome, EpochCause::kImplausible);
      return true;
    }
    record_.bad_in_a_row = 0;
    if (record_.epoch == 0) Begin(outcome, EpochCause::kFirstSeen);
    return true;
  }

  // Calls sum(Counter, increase) for each that has one, and keeps the marks of all.
  template <typename Sum>
  void Enter(Outcome& outcome, Sum&& sum) {
    for (const Value& value : values_) {
      const Counter counter = value.counter;
      if (SetTo(record_.invalid, counter, !value.good)) continue;
      SetTo(record_.saturated, counter, value.at_maximum);
      record_.measured.Add(counter);
      if (!value.comparable || is_baseline_ || value.value <= value.before) continue;
      const uint64_t total = record_.Total(counter);
      sum(counter, value.value - value.before);
      const uint64_t increase = record_.Total(counter) - total;
      if (increase > 0 && InfoOf(counter).is_error) outcome.errors.push_back({counter, increase});
    }
    outcome.since = std::exchange(ReadAtOf(record_, source_), reading_.at);
  }

  void UpdateWait() {
    const LinkFacts& facts = record_.facts;
    const std::optional<uint64_t> waited = Delta(Counter::kXmitWait);
    if (!waited || !facts.knows_tick || facts.bytes_per_second == 0 || is_baseline_ || IsLate() ||
        elapsed_ == 0) {
      return;
    }
    double lost = static_cast<double>(*waited) * (facts.tick + 1);
    // Devices that count each 32 bytes count them on each physical lane.
    if (facts.tick == kSwitchIbTick) lost *= facts.width;
    const double share = lost / (static_cast<double>(facts.bytes_per_second) * seconds());
    record_.wait = {static_cast<float>(std::min(share, 1.0)), reading_.at, elapsed_};
    record_.wait_windows.AddWait(reading_.at, elapsed_, share);
  }

  void UpdateRates() {
    if (is_baseline_ || IsLate() || elapsed_ == 0) return;
    const auto per_second = [&](Counter counter, double unit) {
      return static_cast<float>(static_cast<double>(Delta(counter).value_or(0)) * unit / seconds());
    };
    record_.rates = {per_second(Counter::kXmitData, 4),
                     per_second(Counter::kRcvData, 4),
                     per_second(Counter::kXmitPkts, 1),
                     per_second(Counter::kRcvPkts, 1),
                     reading_.at,
                     elapsed_};
    const auto link = static_cast<double>(record_.facts.bytes_per_second);
    if (link > 0) {
      record_.wait_windows.AddSent(reading_.at, elapsed_,
                                   static_cast<double>(record_.rates.xmit_bytes) / link);
    }
  }

  void Begin(Outcome& outcome, EpochCause cause) {
    StartEpoch(record_, cause, reading_.at);
    outcome.epoch = cause;
    is_baseline_ = true;
  }

 private:
  struct Value {
    Counter counter;
    uint64_t before, value;
    bool good, at_maximum, comparable;
  };

  bool IsLate() const { return reading_.round_trip > reading_.interval / 4; }

  bool IsPlausible() const {
    const double rate = static_cast<double>(record_.facts.bytes_per_second);
    for (const auto& [data, packets] : {std::pair(Counter::kXmitData, Counter::kXmitPkts),
                                        std::pair(Counter::kRcvData, Counter::kRcvPkts)}) {
      const double bytes = 4.0 * static_cast<double>(Delta(data).value_or(0));
      if (rate > 0 && bytes > rate * seconds() * kRateTolerance + kSlackBytes) return false;
      const std::optional<uint64_t> count = Delta(packets);
      // A counter at its maximum says nothing of the other.
      if (count && !AtMaximum(packets) &&
          bytes > static_cast<double>(*count) * kMaxPacketBytes + kSlackBytes) {
        return false;
      }
    }
    const double symbols = static_cast<double>(Delta(Counter::kSymbolErrors).value_or(0));
    return symbols <= kMaxSymbolErrorsPerSecond * std::max(seconds(), 1.0);
  }

  bool AtMaximum(Counter counter) const {
    return std::ranges::any_of(
        values_, [&](const Value& v) { return v.counter == counter && v.at_maximum; });
  }

  PortRecord& record_;
  const Source source_;
  const Reading& reading_;
  bool is_baseline_ = false;
  Millis elapsed_ = 0;
  absl::InlinedVector<Value, kExtendedCounters> values_;
};

void MoveMarks(ErrorWindow& window, Millis at) {
  window.at = at;
  if (window.older_at == 0) {
    window.older = window.newer = window.now;
    window.older_at = window.newer_at = at;
  } else if (at - window.newer_at >= kWindowStep) {
    window.older = window.newer;
    window.older_at = window.newer_at;
    window.newer = window.now;
    window.newer_at = at;
  }
}

// After a reading of PortCounters or PortCountersExtended. An idle link carries symbols too, so
// bits are rate x time.
void UpdateWindow(PortRecord& record, const Reading& reading) {
  ErrorWindow& window = record.window;
  const uint64_t errors = record.Total(Counter::kRcvErrors);
  window.now.rcv_errors =
      errors - std::min(errors, record.Total(Counter::kRcvRemotePhysicalErrors));
  window.now.rcv_pkts = record.Total(Counter::kRcvPkts);
  if (!window.has_registers) {
    if (window.at != 0 && reading.at > window.at) {
      window.now.bits += 8.0 * static_cast<double>(record.facts.bytes_per_second) *
                         (reading.at - window.at) / kMillisPerSecond;
    }
    window.now.symbol_errors = record.Total(Counter::kSymbolErrors);
  }
  MoveMarks(window, reading.at);
}

uint64_t MaximumOf(uint8_t bits) { return (uint64_t{1} << bits) - 1; }

template <size_t kCount>
Outcome EnterNarrow(PortRecord& record, Source source, Counter first,
                    const std::array<uint16_t, kCount>& values, const Reading& reading) {
  Outcome outcome;
  Batch batch(record, source, reading);
  for (size_t i = 0; i < kCount; ++i) {
    const auto counter = static_cast<Counter>(Index(first) + i);
    // All ones is "none" where it was never less, and the maximum where it was.
    const bool at_maximum = values[i] == kNoValue16;
    const bool good = !at_maximum || (record.measured.Has(counter) && !record.invalid.Has(counter));
    batch.Add(counter, record.details[Index(counter) - kFirstDetail], values[i], good, at_maximum);
  }
  if (!batch.Check(outcome)) return outcome;
  batch.Enter(outcome, [&](Counter counter, uint64_t increase) {
    uint32_t& sum = record.detail_sum[Index(counter) - kFirstDetail];
    sum = AddSticking(sum, increase);
  });
  std::ranges::copy(values,
                    record.details.begin() + static_cast<ptrdiff_t>(Index(first) - kFirstDetail));
  return outcome;
}

struct RegisterValue {
  Counter counter;
  uint64_t value = 0;
  uint64_t none = std::numeric_limits<uint64_t>::max();  // From here on it is no value.
};

Outcome EnterRegisters(PortRecord& record, Source source, std::span<const RegisterValue> values,
                       const Reading& reading) {
  Outcome outcome;
  Batch batch(record, source, reading);
  for (const RegisterValue& v : values) {
    batch.Add(v.counter, record.registers[Index(v.counter) - kFirstRegister], v.value,
              v.value < v.none, false);
  }
  if (!batch.Check(outcome)) return outcome;
  batch.Enter(outcome, [&](Counter counter, uint64_t increase) {
    record.register_sum[Index(counter) - kFirstRegister] += increase;
  });
  for (const RegisterValue& v : values) {
    record.registers[Index(v.counter) - kFirstRegister] = v.value;
  }
  return outcome;
}

// Of an error counter that two attributes have: whether the one that its total is by is at its
// maximum. Whichever was read last says nothing of that.
void MarkSaturatedErrors(PortRecord& record) {
  const bool has_classic = ReadAtOf(record, Source::kPortCounters) != 0;
  for (size_t i = Index(Counter::kSymbolErrors); i < kExtendedCounters; ++i) {
    const auto counter = static_cast<Counter>(i);
    const CounterInfo& info = InfoOf(counter);
    if (!info.is_error) continue;
    SetTo(record.saturated, counter,
          has_classic && record.measured.Has(counter) &&
              record.SourceOf(counter) == Source::kPortCounters &&
              record.classic[i] == MaximumOf(info.classic_bits));
  }
}

constexpr uint64_t kNone32 = std::numeric_limits<uint32_t>::max();

}  // namespace

void StartEpoch(PortRecord& record, EpochCause cause, Millis at) {
  if (record.epoch != 0 && cause != EpochCause::kLinkReplaced) ++record.resets;
  ++record.epoch;
  record.epoch_cause = cause;
  record.epoch_since = at;
  record.read_at = {};
  record.bad_in_a_row = 0;
  record.saturated = {};
  record.rates = {};
  record.wait = {};
  record.window.older = record.window.newer = record.window.now;
  record.window.older_at = record.window.newer_at = record.window.at = 0;
  if (cause != EpochCause::kLinkReplaced) return;
  record.wait_windows = {};
  if (record.up_since != 0) record.up_since = at;
}

Outcome EnterExtended(PortRecord& record, const wire::PortCountersExtended& read,
                      ExtendedSupport support, const Reading& reading) {
  const std::array<uint64_t, kExtendedCounters> values = {read.xmit_data,
                                                          read.rcv_data,
                                                          read.xmit_pkts,
                                                          read.rcv_pkts,
                                                          read.unicast_xmit_pkts,
                                                          read.unicast_rcv_pkts,
                                                          read.multicast_xmit_pkts,
                                                          read.multicast_rcv_pkts,
                                                          read.symbol_error,
                                                          read.link_error_recovery,
                                                          read.link_downed,
                                                          read.rcv_errors,
                                                          read.rcv_remote_physical_errors,
                                                          read.rcv_switch_relay_errors,
                                                          read.xmit_discards,
                                                          read.xmit_constraint_errors,
                                                          read.rcv_constraint_errors,
                                                          read.local_link_integrity_errors,
                                                          read.excessive_buffer_overrun_errors,
                                                          read.vl15_dropped,
                                                          read.xmit_wait,
                                                          read.qp1_dropped};
  Outcome outcome;
  Batch batch(record, Source::kPortCountersExtended, reading);
  const size_t end = support.errors ? kExtendedCounters : Index(Counter::kSymbolErrors);
  for (size_t i = 0; i < end; ++i) {
    const bool split = i >= Index(Counter::kUnicastXmitPkts) && i < Index(Counter::kSymbolErrors);
    if (split && !support.unicast_multicast) continue;
    batch.Add(static_cast<Counter>(i), record.extended[i], values[i], values[i] < kNoValue64,
              false);
  }
  if (!batch.Check(outcome)) return outcome;
  batch.Enter(outcome, [&](Counter counter, uint64_t increase) {
    record.extended_sum[Index(counter)] += increase;
    record.zero_extended.Remove(counter);
  });
  batch.UpdateRates();
  if (support.errors) batch.UpdateWait();
  UpdateWindow(record, reading);
  std::copy_n(values.begin(), end, record.extended.begin());
  MarkSaturatedErrors(record);
  return outcome;
}

Outcome EnterClassic(PortRecord& record, const wire::PortCounters& read, ClassicSupport support,
                     const Reading& reading) {
  struct Entry {
    Counter counter;
    uint32_t value;
  };
  const Entry entries[] = {
      {Counter::kSymbolErrors, read.symbol_error},
      {Counter::kLinkErrorRecovery, read.link_error_recovery},
      {Counter::kLinkDowned, read.link_downed},
      {Counter::kRcvErrors, read.rcv_errors},
      {Counter::kRcvRemotePhysicalErrors, read.rcv_remote_physical_errors},
      {Counter::kRcvSwitchRelayErrors, read.rcv_switch_relay_errors},
      {Counter::kXmitDiscards, read.xmit_discards},
      {Counter::kXmitConstraintErrors, read.xmit_constraint_errors},
      {Counter::kRcvConstraintErrors, read.rcv_constraint_errors},
      {Counter::kLocalLinkIntegrityErrors, read.local_link_integrity_errors},
      {Counter::kExcessiveBufferOverrunErrors, read.excessive_buffer_overrun_errors},
      {Counter::kVl15Dropped, read.vl15_dropped},
      {Counter::kQp1Dropped, read.qp1_dropped},
      {Counter::kXmitWait, read.xmit_wait},
      {Counter::kXmitData, read.xmit_data},
      {Counter::kRcvData, read.rcv_data},
      {Counter::kXmitPkts, read.xmit_pkts},
      {Counter::kRcvPkts, read.rcv_pkts},
  };
  Outcome outcome;
  Batch batch(record, Source::kPortCounters, reading);
  for (const Entry& entry : entries) {
    const CounterInfo& info = InfoOf(entry.counter);
    if (entry.counter == Counter::kQp1Dropped && !support.qp1_dropped) continue;
    if (entry.counter == Counter::kXmitWait && !support.xmit_wait) continue;
    const bool traffic = !info.is_error && entry.counter != Counter::kXmitWait;
    if (traffic && !support.traffic) continue;
    batch.Add(entry.counter, record.classic[Index(entry.counter)], entry.value, true,
              entry.value == MaximumOf(info.classic_bits));
  }
  if (!batch.Check(outcome)) return outcome;
  batch.Enter(outcome, [&](Counter counter, uint64_t increase) {
    if (!InfoOf(counter).is_error) {
      record.extended_sum[Index(counter)] += increase;
      return;
    }
    uint32_t& sum = record.classic_sum[Index(counter)];
    sum = AddSticking(sum, increase);
    const bool extended = !support.traffic && record.extended[Index(counter)] == 0;
    if (extended && record.measured.Has(counter)) record.zero_extended.Add(counter);
  });
  if (support.traffic) batch.UpdateRates();
  if (support.xmit_wait) batch.UpdateWait();
  UpdateWindow(record, reading);
  for (const Entry& entry : entries) record.classic[Index(entry.counter)] = entry.value;
  MarkSaturatedErrors(record);
  return outcome;
}

Outcome EnterDetails(PortRecord& record, const wire::PortRcvErrorDetails& read,
                     const Reading& reading) {
  const std::array<uint16_t, 6> values = {read.local_physical_errors, read.malformed_packet_errors,
                                          read.buffer_overrun_errors, read.dlid_mapping_errors,
                                          read.vl_mapping_errors,     read.looping_errors};
  return EnterNarrow(record, Source::kPortRcvErrorDetails, Counter::kRcvLocalPhysicalErrors, values,
                     reading);
}

Outcome EnterDetails(PortRecord& record, const wire::PortXmitDiscardDetails& read,
                     const Reading& reading) {
  const std::array<uint16_t, 4> values = {read.inactive_discards, read.neighbor_mtu_discards,
                                          read.sw_lifetime_limit_discards,
                                          read.sw_hoq_lifetime_limit_discards};
  return EnterNarrow(record, Source::kPortXmitDiscardDetails, Counter::kXmitInactiveDiscards,
                     values, reading);
}

Outcome EnterStatistical(PortRecord& record, const wire::PpcntStatistical& read,
                         const Reading& reading) {
  const uint64_t raw = std::accumulate(read.raw_errors_of_physical_lane.begin(),
                                       read.raw_errors_of_physical_lane.end(), uint64_t{0});
  const RegisterValue values[] = {{Counter::kRcvBits, read.received_bits, kNoValue64},
                                  {Counter::kPhySymbolErrors, read.symbol_errors, kNoValue64},
                                  {Counter::kCorrectedBits, read.corrected_bits, kNoValue64},
                                  {Counter::kRawErrors, raw, kNoValue64},
                                  {Counter::kEffectiveErrors, read.effective_errors, kNoValue64}};
  ErrorWindow& window = record.window;
  const auto sum = [&](Counter c) { return record.register_sum[Index(c) - kFirstRegister]; };
  const uint64_t bits_before = sum(Counter::kRcvBits);
  const Outcome outcome = EnterRegisters(record, Source::kPpcntStatistical, values, reading);
  if (outcome.thrown_away && !outcome.epoch) return outcome;
  const bool is_later = outcome.since != 0 && reading.at > outcome.since;
  record.ber_step = is_later ? reading.at - outcome.since : 0;
  if (!window.has_registers) {
    // What was estimated until now ends.
    window.has_registers = true;
    window.older_at = 0;
  }
  window.now.bits += static_cast<double>(sum(Counter::kRcvBits) - bits_before);
  window.now.symbol_errors = sum(Counter::kPhySymbolErrors);
  window.now.effective_errors = sum(Counter::kEffectiveErrors);
  window.now.raw_errors = sum(Counter::kRawErrors);
  MoveMarks(window, reading.at);
  return outcome;
}

Outcome EnterPhysical(PortRecord& record, const wire::PpcntPhysical& read, const Reading& reading) {
  const RegisterValue values[] = {
      {Counter::kFecCorrectedBlocks, read.rs_fec_corrected_blocks, kNoValue64},
      {Counter::kFecUncorrectableBlocks, read.rs_fec_uncorrectable_blocks, kNoValue64},
      {Counter::kLinkDownEvents, read.link_down_events, kNone32},
      {Counter::kSuccessfulRecoveries, read.successful_recoveries, kNone32}};
  return EnterRegisters(record, Source::kPpcntPhysical, values, reading);
}

Outcome EnterLinkDowns(PortRecord& record, const wire::PpcntLinkDowns& read,
                       const Reading& reading) {
  const RegisterValue values[] = {{Counter::kUnintentionalDowns, read.unintentional, kNone32},
                                  {Counter::kIntentionalDowns, read.intentional, kNone32}};
  return EnterRegisters(record, Source::kPpcntLinkDowns, values, reading);
}

}  // namespace fabricd::telemetry
