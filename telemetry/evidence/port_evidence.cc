// SPDX-License-Identifier: Apache-2.0
#include "telemetry/evidence/port_evidence.h"

#include <algorithm>
#include <limits>

#include "fabric/aggregation_node.h"

namespace fabricd::telemetry {
namespace {

using policy::EndEvidence;
using policy::kSignals;
using policy::kWindows;
using policy::Signal;
using policy::WindowCount;
using Counts = std::array<WindowCount, kWindows>;

constexpr Millis kMargin = 60 * 1000;  // Around a change of the link's state.
constexpr Millis kStaleAfter = 3;      // Intervals.

Millis ToMillis(Duration duration) {
  return static_cast<Millis>(
      std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

Millis LengthInMillis(size_t window) {
  return ToMillis(policy::LengthOf(static_cast<policy::Window>(window)));
}

// How often an attribute is read. 0: when something calls for it.
Millis StepOf(const TelemetryView& view, const PortRecord& record, Source source) {
  switch (source) {
    case Source::kPortCountersExtended: return view.interval;
    case Source::kPortCounters: {
      const auto extended = static_cast<size_t>(Source::kPortCountersExtended);
      if (record.read_at[extended] == 0) return view.interval;
      return std::max(view.interval, ToMillis(view.options.classic_interval));
    }
    case Source::kPpcntStatistical:
      return std::max(view.interval, ToMillis(view.options.ber_interval));
    case Source::kPpcntPhysical:
      return std::max(view.interval, ToMillis(view.options.module_interval));
    case Source::kPortRcvErrorDetails:
    case Source::kPortXmitDiscardDetails:
    case Source::kPpcntLinkDowns: return 0;
  }
  return 0;
}

bool IsRecent(Millis read_at, Millis now, Millis step) {
  return read_at != 0 && (step == 0 || now <= read_at + kStaleAfter * step);
}

bool IsMeasured(const TelemetryView& view, const PortFacts& port, Counter counter) {
  const PortRecord& record = *port.record;
  if (!record.measured.Has(counter) || record.invalid.Has(counter)) return false;
  const Source source = record.SourceOf(counter);
  if (!IsRecent(record.ReadAt(counter), view.at, StepOf(view, record, source))) return false;
  const CounterInfo& info = InfoOf(counter);
  if (!info.is_error || info.classic_bits == 0 || port.node->IsSwitch()) return true;
  return IsRecent(record.read_at[static_cast<size_t>(Source::kPortCounters)], view.at,
                  StepOf(view, record, Source::kPortCounters));
}

// By Signal. Where two are named, the first that is measured is taken.
struct Choice {
  Counter first, second;
};
constexpr std::array<Choice, 15> kChoices = {{
    {Counter::kPhySymbolErrors, Counter::kSymbolErrors},
    {Counter::kEffectiveErrors, Counter::kEffectiveErrors},
    {Counter::kFecUncorrectableBlocks, Counter::kFecUncorrectableBlocks},
    {Counter::kUnintentionalDowns, Counter::kLinkDowned},
    {Counter::kSuccessfulRecoveries, Counter::kLinkErrorRecovery},
    {Counter::kRcvErrors, Counter::kRcvErrors},
    {Counter::kRcvRemotePhysicalErrors, Counter::kRcvRemotePhysicalErrors},
    {Counter::kRcvLocalPhysicalErrors, Counter::kRcvLocalPhysicalErrors},
    {Counter::kRcvMalformedPktErrors, Counter::kRcvMalformedPktErrors},
    {Counter::kRcvBufferOverrunErrors, Counter::kRcvBufferOverrunErrors},
    {Counter::kLocalLinkIntegrityErrors, Counter::kLocalLinkIntegrityErrors},
    {Counter::kExcessiveBufferOverrunErrors, Counter::kExcessiveBufferOverrunErrors},
    {Counter::kXmitDiscards, Counter::kXmitDiscards},
    {Counter::kXmitSwHoqLifetimeDiscards, Counter::kXmitSwLifetimeDiscards},
    {Counter::kXmitInactiveDiscards, Counter::kXmitInactiveDiscards},
}};
static_assert(kChoices.size() == static_cast<size_t>(Signal::kTraps));

void AddSticking(uint16_t& to, uint64_t more) {
  to = static_cast<uint16_t>(std::min<uint64_t>(to + more, std::numeric_limits<uint16_t>::max()));
}

// To every window that `at` is in.
void AddTo(Counts& counts, Millis now, Millis at, uint64_t count, uint64_t readings) {
  const Millis age = now > at ? now - at : 0;
  for (size_t i = kWindows; i-- > 0 && age < LengthInMillis(i);) {
    counts[i].count += count;
    AddSticking(counts[i].readings, readings);
  }
}

// Errors that arrived marked as bad are counted by both counters.
void SubtractMarked(EndEvidence& end) {
  auto& errors = end.signals[static_cast<size_t>(Signal::kRcvErrors)];
  const auto& marked = end.signals[static_cast<size_t>(Signal::kRemotePhysical)];
  if (!errors || !marked) return;
  for (size_t i = 0; i < kWindows; ++i) {
    WindowCount& count = (*errors)[i];
    count.count -= std::min(count.count, (*marked)[i].count);
    if (count.count == 0) count.readings = 0;
  }
}

void FillSignals(const TelemetryView& view, const PortFacts& port, EndEvidence& end) {
  const PortRecord& record = *port.record;
  std::array<Counter, kChoices.size()> chosen{};
  for (size_t i = 0; i < kChoices.size(); ++i) {
    end.signals[i].reset();
    const bool by_first = IsMeasured(view, port, kChoices[i].first);
    if (!by_first && !IsMeasured(view, port, kChoices[i].second)) continue;
    chosen[i] = by_first ? kChoices[i].first : kChoices[i].second;
    Counts& counts = end.signals[i].emplace();
    if (!record.saturated.Has(chosen[i])) continue;
    for (WindowCount& count : counts) count.is_saturated = true;
  }
  end.has_registers = end.signals[0] && chosen[0] == Counter::kPhySymbolErrors;
  const auto downs = static_cast<size_t>(Signal::kLinkDowns);
  const auto hoq = static_cast<size_t>(Signal::kHoqDiscards);
  for (const ErrorEntry* entry : port.errors) {
    for (size_t i = 0; i < kChoices.size(); ++i) {
      const bool is_part = i == hoq && entry->counter == kChoices[i].second;
      if (!end.signals[i] || (chosen[i] != entry->counter && !is_part)) continue;
      if (i != downs && entry->at_change != 0) break;
      AddTo(*end.signals[i], view.at, entry->at, entry->count, entry->readings);
      break;
    }
  }
  SubtractMarked(end);
}

void FillIncidents(const TelemetryView& view, const PortFacts& port, EndEvidence& end) {
  for (const auto& [what, signal, is_known] :
       {std::tuple(Incident::kTrap, Signal::kTraps, view.receives_traps),
        std::tuple(Incident::kTimeout, Signal::kTimeouts,
                   view.state == State::kPolling && !port.node->IsSwitch())}) {
    end.signals[static_cast<size_t>(signal)].reset();
    if (!is_known) continue;
    Counts& counts = end.signals[static_cast<size_t>(signal)].emplace();
    for (const IncidentEntry& entry : port.incidents) {
      if (entry.what != what || entry.port != port.ref.port) continue;
      AddTo(counts, view.at, entry.at, entry.count, entry.count);
    }
  }
}

// Seconds of a window that the readings in it are about: one each `step`, the last at `read_at`,
// while the link was up. `own_step`: that of the last two of them; 0: not known.
double SecondsRead(const TelemetryView& view, const PortRecord& record, size_t window,
                   Millis read_at, Millis step, Millis own_step) {
  const Millis age = view.at > read_at ? view.at - read_at : 0;
  const Millis length = LengthInMillis(window);
  // Links that are watched are read more often; longer windows may hold readings from before.
  if (own_step != 0 && length <= step) step = std::min(step, own_step);
  if (read_at == 0 || step == 0 || age >= length || record.up_since == 0) return 0;
  const Millis readings = (length - age - 1) / step + 1;
  // What was counted before is left out.
  const bool came_up = record.changed_at != 0 && record.changed_at >= record.up_since;
  const Millis begin = record.up_since + (came_up ? kYoung : kMargin);
  const Millis observed = read_at > begin ? read_at - begin : 0;
  return static_cast<double>(std::min(readings * step, observed)) / 1000;
}

void FillAmounts(const TelemetryView& view, const PortFacts& port, EndEvidence& end) {
  const PortRecord& record = *port.record;
  const ErrorWindow& mean = record.window;
  const double seconds = mean.older_at != 0 && mean.at > mean.older_at
                             ? static_cast<double>(mean.at - mean.older_at) / 1000
                             : 0;
  double bits = 8 * static_cast<double>(record.facts.bytes_per_second);
  if (end.has_registers && mean.has_registers && seconds > 0) {
    bits = (mean.now.bits - mean.older.bits) / seconds;
  }
  double packets = static_cast<double>(record.rates.rcv_pkts);
  if (seconds > 0) {
    packets = static_cast<double>(mean.now.rcv_pkts - mean.older.rcv_pkts) / seconds;
  }
  const Source source =
      end.has_registers ? Source::kPpcntStatistical : record.SourceOf(Counter::kSymbolErrors);
  const Millis read_at = record.read_at[static_cast<size_t>(source)];
  const Millis step = StepOf(view, record, source);
  for (size_t i = 0; i < kWindows; ++i) {
    end.bits[i] =
        bits * SecondsRead(view, record, i, read_at, step, end.has_registers ? record.ber_step : 0);
    end.rcv_packets[i] =
        packets * SecondsRead(view, record, i, TrafficReadAt(record), view.interval, 0);
  }
}

policy::DeviceVerdict DeviceVerdictOf(const TelemetryView& view, const PortInventory& inventory) {
  using policy::DeviceVerdict;
  using Reason = wire::ExtPortInfo::UnhealthyReason;
  const Millis step = std::max(view.interval, ToMillis(view.options.module_interval));
  DeviceVerdict verdict = DeviceVerdict::kUnknown;
  if (IsRecent(inventory.monitor_at, view.at, step)) {
    switch (inventory.monitor) {
      case wire::Ppbmc::State::kNotMonitored: break;
      case wire::Ppbmc::State::kNormal: verdict = DeviceVerdict::kNormal; break;
      case wire::Ppbmc::State::kWarning: verdict = DeviceVerdict::kWarning; break;
      case wire::Ppbmc::State::kAlarm: verdict = DeviceVerdict::kAlarm; break;
    }
  }
  if (IsRecent(inventory.ext_at, view.at, step)) {
    switch (inventory.unhealthy) {
      case Reason::kUnknown: break;
      case Reason::kNone: verdict = std::max(verdict, DeviceVerdict::kNormal); break;
      default: verdict = DeviceVerdict::kAlarm; break;
    }
  }
  return verdict;
}

void FillInventory(const TelemetryView& view, const PortFacts& port, EndEvidence& end) {
  end.temperature = end.temperature_median = end.temperature_alarm = std::nullopt;
  end.device_verdict = policy::DeviceVerdict::kUnknown;
  end.is_unhealthy = false;
  end.last_down.reset();
  if (port.inventory == nullptr) return;
  const PortInventory& inventory = *port.inventory;
  const Millis step = std::max(view.interval, ToMillis(view.options.module_interval));
  const ModuleReading& module = port.record->module;
  if (IsRecent(module.at, view.at, step) && module.temperature != 0) {
    end.temperature = module.temperature / 256.0;
  }
  end.temperature_median = inventory.temperatures.Median(view.at, inventory.module_at);
  if (inventory.alarm_high != 0 || inventory.alarm_low != 0) {
    end.temperature_alarm = inventory.alarm_high / 256.0;
  }
  end.device_verdict = DeviceVerdictOf(view, inventory);
  end.is_unhealthy = IsRecent(inventory.ext_at, view.at, step) &&
                     inventory.unhealthy > wire::ExtPortInfo::UnhealthyReason::kNone;
  if (inventory.link_down_at == 0) return;
  using Blame = policy::LinkDownReport::Blame;
  const wire::PddrLinkDown& down = inventory.link_down;
  policy::LinkDownReport& report = end.last_down.emplace();
  if (down.blame == wire::PddrLinkDown::Blame::kLocal) report.blame = Blame::kLocal;
  if (down.blame == wire::PddrLinkDown::Blame::kRemote) report.blame = Blame::kRemote;
  report.is_intentional = down.intent == wire::PddrLinkDown::Intent::kIntentional;
  report.local_reason = static_cast<uint8_t>(down.local_reason);
  report.remote_reason = static_cast<uint8_t>(down.remote_reason);
}

bool IsHostAdapter(const fabric::Node& node) {
  return node.info.node_type == wire::NodeType::kChannelAdapter && !fabric::IsAggregationNode(node);
}

}  // namespace

bool IsLinkDown(const ErrorEntry& entry) {
  switch (entry.counter) {
    case Counter::kLinkDowned:
    case Counter::kLinkDownEvents:
    case Counter::kUnintentionalDowns:
    case Counter::kIntentionalDowns: return true;
    default: return false;
  }
}

std::array<uint64_t, kWindows> CountExcusedDowns(const TelemetryView& view, const PortFacts& port,
                                                 absl::FunctionRef<bool(Millis)> is_excused) {
  const Choice& choice = kChoices[static_cast<size_t>(Signal::kLinkDowns)];
  const Counter counter = IsMeasured(view, port, choice.first) ? choice.first : choice.second;
  Counts counts{};
  for (const ErrorEntry* entry : port.errors)
    if (entry->counter == counter && is_excused(entry->at))
      AddTo(counts, view.at, entry->at, entry->count, entry->readings);
  std::array<uint64_t, kWindows> excused{};
  for (size_t i = 0; i < kWindows; ++i) excused[i] = counts[i].count;
  return excused;
}

policy::EndRole RoleOf(const fabric::FabricSnapshot& snapshot, PortRef port, PortRef peer) {
  using policy::EndRole;
  const fabric::Node* own = snapshot.node(port.node);
  const fabric::Node* other = snapshot.node(peer.node);
  if (own == nullptr || other == nullptr) return EndRole::kOther;
  const bool is_usual =
      (own->IsSwitch() || IsHostAdapter(*own)) && (other->IsSwitch() || IsHostAdapter(*other));
  if (!is_usual) return EndRole::kOther;
  if (!own->IsSwitch()) return EndRole::kHost;
  return other->IsSwitch() ? EndRole::kTrunk : EndRole::kLeaf;
}

void FillEnd(const TelemetryView& view, const PortFacts& port, EndEvidence& end) {
  const PortRecord& record = *port.record;
  const Millis read_at = TrafficReadAt(record);
  end.is_fresh = view.FreshnessOf(record) == Freshness::kFresh;
  end.age = std::chrono::milliseconds(view.at - std::min(view.at, read_at));
  FillSignals(view, port, end);
  FillIncidents(view, port, end);
  FillAmounts(view, port, end);
  for (uint32_t i = 0; i < end.wait.size(); ++i) {
    end.wait[i] = record.wait_windows.Read(view.at, i + 1);
  }
  FillInventory(view, port, end);
}

policy::FecClass FecClassOf(wire::PddrFecMode mode) {
  using policy::FecClass;
  using Mode = wire::PddrFecMode;
  switch (mode) {
    case Mode::kNone: return FecClass::kNone;
    case Mode::kLowLatencyRs271:
    case Mode::kLowLatencyRs272:
    case Mode::kInterleavedLowLatencyRs272:
    case Mode::kLowLatencyRs271Plr:
    case Mode::kLowLatencyRs272Plr:
    case Mode::kInterleavedLowLatencyRs272Plr: return FecClass::kLowLatency;
    case Mode::kQuadInterleavedRs544:
    case Mode::kQuadInterleavedRs544Plr:
    case Mode::kInterleavedRs544:
    case Mode::kRs544:
    case Mode::kOctetInterleavedRs544Plr:
    case Mode::kInterleavedRs544Plr:
    case Mode::kRs544Plr: return FecClass::kKp4;
    // No limits are published for them.
    default: return FecClass::kUnknown;
  }
}

policy::Media MediaOf(const PortInventory& inventory, const ModuleReading& module, bool is_up) {
  using policy::Media;
  using Cable = wire::PddrModule::CableType;
  if (inventory.module_at == 0) return Media::kUnknown;
  switch (inventory.cable_type) {
    case Cable::kPassiveCopper: return Media::kCopper;
    case Cable::kOpticalModule: return Media::kOptical;
    // Copper or optical; light has a power, and a link that is up has light.
    case Cable::kActive:
      if (module.rx_power != 0 || module.tx_power != 0) return Media::kOptical;
      return is_up ? Media::kActiveCopper : Media::kUnknown;
    default: return Media::kUnknown;
  }
}

}  // namespace fabricd::telemetry
