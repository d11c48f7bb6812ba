// SPDX-License-Identifier: Apache-2.0
#include "policy/verdict/rows.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "policy/verdict/readings.h"

namespace fabricd::policy {
namespace {

// A count that makes a level within a window, by a ratio of the bits.
struct BerTest {
  Window window;
  double ber, probability;
  Level level;
};

constexpr double kMostBits = 1e18;       // A day of 10 Tb/s.
constexpr uint8_t kCableUnplugged = 23;  // PDDR page 6.
constexpr uint64_t kMostBlocks = 1'000'000'000;

Level LevelOf(double value, const CountLevels& levels) {
  if (levels.fatal != 0 && value >= levels.fatal) return Level::kFatal;
  if (levels.strong != 0 && value >= levels.strong) return Level::kStrong;
  return levels.suspect != 0 && value >= levels.suspect ? Level::kSuspect : Level::kNone;
}

uint32_t LimitOf(Level level, const CountLevels& levels) {
  if (level == Level::kFatal) return levels.fatal;
  return level == Level::kStrong ? levels.strong : levels.suspect;
}

void Take(const Reading& reading, EvidenceRow& row) {
  row.value = static_cast<double>(reading.events);
  row.count = reading.found->count;
  row.readings = reading.found->readings;
  row.note = reading.note;
}

// What is left behind retransmission was an error before it. Both are read at once.
bool IsImplausible(const EndEvidence& end, Window window) {
  const WindowCount* effective = end.Find(Signal::kEffectiveErrors, window);
  return end.has_registers && (effective == nullptr || effective->count == 0);
}

// By what the end sends to its peer it decides about a host.
bool FacesHost(const LinkEvidence& link, Side side) {
  return side == Side::kB && link.a.role == EndRole::kHost && link.b.role == EndRole::kLeaf;
}

// The rows of one link, one after the other.
class RowMaker {
 public:
  RowMaker(const LinkEvidence& link, const Limits& limits) : link_(link), limits_(limits) {}
  std::vector<EvidenceRow> Make();

 private:
  void MakeEnd(Side side);
  CountLevels UncorrectableLevels(Side side) const;
  void AddBers(Side side);
  void AddBer(EvidenceRow row, Signal signal, std::span<const BerTest> tests);
  void AddCount(Row row, Side side, Signal signal, Window window, const CountLevels& levels,
                bool is_error);
  void AddLocalPhysical(Side side);
  void AddLinkDowns();
  void AddConduct(Side side);
  void AddWait(Side side);
  void AddTemperature(Side side);
  void AddDeviceVerdict(Side side);
  void AddBelowCapability();

  const EndEvidence& End(Side side) const { return side == Side::kA ? link_.a : link_.b; }
  bool IsYoung() const { return link_.up_for < limits_.min_up; }
  EvidenceRow Start(Row row, Side side, Window window, std::string_view signal,
                    std::string_view source) const;
  void AddMissing(EvidenceRow row, std::string_view why);

  const LinkEvidence& link_;
  const Limits& limits_;
  std::vector<EvidenceRow> rows_;
};

std::vector<EvidenceRow> RowMaker::Make() {
  rows_.reserve(32);
  MakeEnd(Side::kA);
  AddLinkDowns();
  AddBelowCapability();
  MakeEnd(Side::kB);
  return std::move(rows_);
}

void RowMaker::MakeEnd(Side side) {
  AddBers(side);
  AddCount(Row::kUncorrectable, side, Signal::kUncorrectableBlocks, Window::k720s,
           UncorrectableLevels(side), true);
  AddCount(Row::kRecoveries, side, Signal::kRecoveries, Window::k600s, limits_.recoveries, false);
  AddLocalPhysical(side);
  AddCount(Row::kLinkIntegrity, side, Signal::kLinkIntegrity, Window::k600s, limits_.link_integrity,
           true);
  const bool has_overrun = End(side).Find(Signal::kBufferOverrun, Window::k600s) != nullptr;
  AddCount(Row::kOverrun, side, has_overrun ? Signal::kBufferOverrun : Signal::kExcessiveOverrun,
           Window::k600s, limits_.overrun, true);
  AddConduct(side);
  AddTemperature(side);
  AddDeviceVerdict(side);
  AddCount(Row::kMalformed, side, Signal::kMalformed, Window::k720s, limits_.malformed, true);
}

// With low-latency FEC such blocks are sent again, and their number follows from the effective
// errors that are allowed: each block has one at least.
CountLevels RowMaker::UncorrectableLevels(Side side) const {
  CountLevels levels = limits_.uncorrectable;
  if (link_.fec != FecClass::kLowLatency) return levels;
  levels.suspect = std::max(levels.suspect, 2u);  // Retransmission covers a single one.
  const WindowCount* found = End(side).Find(Signal::kUncorrectableBlocks, Window::k720s);
  if (found == nullptr || found->count < levels.suspect) return levels;
  const double bits = End(side).bits[static_cast<size_t>(Window::k720s)];
  if (!(bits > 0 && bits < kMostBits)) return levels;
  const BerLevels& effective = BerRowOf(link_, limits_).effective;
  const auto allowed = [&](double ber, double probability) {
    return static_cast<uint32_t>(
        std::min<uint64_t>(CriticalCount(bits * ber, probability), kMostBlocks));
  };
  levels.suspect =
      std::max(levels.suspect, allowed(effective.warning, limits_.suspect_probability));
  levels.strong = std::max(levels.strong, allowed(effective.error, limits_.strong_probability));
  return levels;
}

EvidenceRow RowMaker::Start(Row row, Side side, Window window, std::string_view signal,
                            std::string_view source) const {
  EvidenceRow made;
  made.row = row;
  made.side = side;
  made.window = LengthOf(window);
  made.age = side == Side::kLink ? std::max(link_.a.age, link_.b.age) : End(side).age;
  made.signal = signal;
  made.source = source;
  return made;
}

void RowMaker::AddMissing(EvidenceRow row, std::string_view why) {
  row.is_missing = true;
  row.note = why;
  rows_.push_back(row);
}

void RowMaker::AddBers(Side side) {
  const EndEvidence& end = End(side);
  const BerRow& ber = BerRowOf(link_, limits_);
  const double strong = limits_.strong_probability, suspect = limits_.suspect_probability;
  // The nearer to the limit, the longer it takes to tell.
  const std::array<BerTest, 6> symbol = {{
      {Window::k60s, limits_.fatal_ber, strong, Level::kFatal},
      {Window::k720s, ber.symbol.error, strong, Level::kStrong},
      {Window::k3600s, ber.symbol.error, strong, Level::kStrong},
      {Window::k7500s, ber.symbol.error, strong, Level::kStrong},
      {Window::k7500s, ber.symbol.normal, suspect, Level::kSuspect},
      {Window::k720s, ber.symbol.error, suspect, Level::kSuspect},
  }};
  EvidenceRow row = Start(Row::kSymbolBer, side, Window::k720s, "symbol errors",
                          end.has_registers ? "PPCNT 0x16" : "SymbolErrorCounter");
  row.is_fallback = !end.has_registers;
  AddBer(row, Signal::kSymbolErrors, symbol);
  const std::array<BerTest, 2> effective = {{
      {Window::k720s, ber.effective.error, strong, Level::kStrong},
      {Window::k720s, ber.effective.warning, suspect, Level::kSuspect},
  }};
  AddBer(Start(Row::kEffectiveBer, side, Window::k720s, "effective errors", "PPCNT 0x16"),
         Signal::kEffectiveErrors, effective);
}

// The first test that is reached decides; else the suspect test that is nearest to its limit.
void RowMaker::AddBer(EvidenceRow row, Signal signal, std::span<const BerTest> tests) {
  if (IsYoung()) return AddMissing(row, "link is too young");
  const EndEvidence& end = End(row.side);
  std::optional<EvidenceRow> nearest;
  std::string_view why = kNotMeasured;
  for (const BerTest& test : tests) {
    const Reading reading = ReadErrors(end, signal, test.window, limits_);
    const double bits = end.bits[static_cast<size_t>(test.window)];
    if (!reading.IsKnown()) {
      why = reading.note;
      continue;
    }
    if (!(bits > 0 && bits < kMostBits)) continue;
    const bool is_of_normal = test.level == Level::kSuspect && test.window == Window::k7500s;
    if (is_of_normal && link_.up_for < limits_.observation) continue;
    EvidenceRow found = row;
    Take(reading, found);
    found.window = LengthOf(test.window);
    found.ratio = static_cast<double>(reading.found->count) / bits;
    if (reading.events > 0)
      found.limit = static_cast<double>(CriticalCount(bits * test.ber, test.probability));
    if (reading.events > 0 && found.value >= found.limit) {
      found.level = test.level;
      if (signal == Signal::kSymbolErrors && IsImplausible(end, test.window)) {
        found.is_implausible = true;
        found.note = "without effective errors: perhaps the counter";
      }
      rows_.push_back(found);
      return;
    }
    // The largest share of its limit, so that "below half" is true of all tests.
    if (test.level == Level::kSuspect &&
        (!nearest || found.value * nearest->limit >= nearest->value * found.limit))
      nearest = found;
  }
  if (!nearest) return AddMissing(row, why);
  rows_.push_back(*nearest);
}

void RowMaker::AddCount(Row row, Side side, Signal signal, Window window, const CountLevels& levels,
                        bool is_error) {
  EvidenceRow made = Start(row, side, window, SignalName(signal), SourceOf(signal));
  if (is_error && IsYoung()) return AddMissing(made, "link is too young");
  const Reading reading =
      is_error ? ReadErrors(End(side), signal, window, limits_) : Read(End(side), signal, window);
  if (!reading.IsKnown()) return AddMissing(made, reading.note);
  Take(reading, made);
  made.level = LevelOf(made.value, levels);
  made.limit = LimitOf(made.level, levels);
  rows_.push_back(made);
}

// Without the details, PortRcvErrors less those that are no physical errors. Errors that arrived
// marked (EBP) are in neither: they happened upstream.
void RowMaker::AddLocalPhysical(Side side) {
  const EndEvidence& end = End(side);
  const bool has_details = end.Find(Signal::kLocalPhysical, Window::k720s) != nullptr;
  const Signal signal = has_details ? Signal::kLocalPhysical : Signal::kRcvErrors;
  EvidenceRow row =
      Start(Row::kLocalPhysical, side, Window::k720s, SignalName(signal), SourceOf(signal));
  row.is_fallback = !has_details;
  if (IsYoung()) return AddMissing(row, "link is too young");
  const Reading reading = ReadErrors(end, signal, Window::k720s, limits_);
  if (!reading.IsKnown()) return AddMissing(row, reading.note);
  Take(reading, row);
  row.limit = limits_.local_physical.suspect;
  const double packets = end.rcv_packets[static_cast<size_t>(Window::k720s)];
  const bool is_spread =
      reading.found->readings > 0 && IsSpread(end, signal, Window::k720s, limits_);
  if (is_spread && row.value >= row.limit) row.level = Level::kSuspect;
  // Of few packets one error is a large share: it says nothing.
  const bool has_ratio = packets >= limits_.min_packets;
  if (has_ratio) row.ratio = row.value / packets;
  if (!has_ratio && row.value > 0 && row.note.empty()) row.note = "too few packets for a ratio";
  if (is_spread && has_ratio) {
    if (row.value >= limits_.local_physical.strong && row.ratio > limits_.drop_strong)
      row.level = Level::kStrong;
    // Without the details some of them may be no physical errors.
    if (has_details && limits_.local_physical.fatal != 0 &&
        row.value >= limits_.local_physical.fatal && row.ratio > limits_.drop_fatal)
      row.level = Level::kFatal;
    row.limit = LimitOf(row.level, limits_.local_physical);
  }
  rows_.push_back(row);
}

// Both ends count each of them, so the larger number is taken.
void RowMaker::AddLinkDowns() {
  EvidenceRow row =
      Start(Row::kLinkDowns, Side::kLink, Window::k24h, "unintended link downs", "LinkDowned");
  const auto count = [&](Window window) -> std::optional<double> {
    std::optional<double> most;
    for (const EndEvidence* end : {&link_.a, &link_.b}) {
      const Reading reading = Read(*end, Signal::kLinkDowns, window);
      if (!reading.IsKnown()) continue;
      // Registers leave intended ones out, the classic counter does not.
      const bool is_intended = end->last_down && end->last_down->is_intentional;
      // Somebody did that by hand.
      const bool is_unplugged = end->last_down && end->last_down->local_reason == kCableUnplugged;
      const uint64_t excused = link_.excused_downs[static_cast<size_t>(window)] +
                               ((is_intended && !end->has_registers) || is_unplugged ? 1 : 0);
      most = std::max(most.value_or(0), static_cast<double>(reading.events) -
                                            std::min<double>(reading.events, excused));
    }
    return most;
  };
  const std::optional<double> in_day = count(Window::k24h), in_10_min = count(Window::k600s);
  if (!in_day && !in_10_min) return AddMissing(row, kNotMeasured);
  if (link_.is_with_its_host) return AddMissing(row, "all links of the host went down");
  const CountLevels& levels = limits_.link_downs;
  row.value = in_day.value_or(*in_10_min);
  row.level = LevelOf(row.value, {levels.suspect, levels.strong, 0});
  if (in_10_min && *in_10_min >= levels.fatal) {
    row.level = Level::kFatal;
    row.value = *in_10_min;
    row.window = LengthOf(Window::k600s);
  }
  row.limit = LimitOf(row.level, levels);
  row.count = static_cast<uint64_t>(row.value);
  rows_.push_back(row);
}

// What a host does, or does not do: of links between switches it says nothing about a culprit.
void RowMaker::AddConduct(Side side) {
  AddWait(side);
  if (FacesHost(link_, side))
    AddCount(Row::kHoqDiscards, side, Signal::kHoqDiscards, Window::k300s, limits_.hoq_discards,
             false);
  if (End(side).role != EndRole::kHost) return;
  // Limits are for 90 s; what is counted is 60 s.
  const auto scaled = [](uint32_t count) { return (count * 2 + 2) / 3; };
  const CountLevels& traps = limits_.traps;
  AddCount(Row::kTraps, side, Signal::kTraps, Window::k60s,
           {scaled(traps.suspect), scaled(traps.strong), scaled(traps.fatal)}, false);
  AddCount(Row::kTimeouts, side, Signal::kTimeouts, Window::k600s, limits_.timeouts, false);
}

void RowMaker::AddWait(Side side) {
  EvidenceRow row = Start(Row::kWait, side, Window::k300s, "time without credits", "PortXmitWait");
  row.unit = Unit::kShare;
  row.limit = limits_.wait_suspect;
  const EndEvidence& end = End(side);
  int strong = 0;
  bool is_suspect = false, is_known = false;
  for (const std::optional<WaitWindow>& wait : end.wait) {
    if (!wait) continue;
    is_known = true;
    // Many send to a host that receives as fast as it can: no fault of the host's.
    if (wait->utilisation >= limits_.incast_utilisation) {
      if (wait->share >= limits_.wait_suspect) row.note = "incast: the link is busy";
      continue;
    }
    row.value = std::max(row.value, wait->share);
    is_suspect |= wait->share >= limits_.wait_suspect;
    strong += wait->share >= limits_.wait_strong && wait->utilisation < limits_.low_utilisation;
  }
  if (!is_known) return AddMissing(row, kNotMeasured);
  if (!FacesHost(link_, side)) {
    row.limit = 0;
    if (row.value >= limits_.wait_suspect) row.note = "held up by what lies downstream";
  } else if (strong >= limits_.wait_windows) {
    row.level = Level::kStrong;
    row.limit = limits_.wait_strong;
    const Reading discards = Read(end, Signal::kHoqDiscards, Window::k300s);
    if (discards.IsKnown() && discards.events > 0) {
      row.level = Level::kFatal;
      row.note = "and packets were discarded";
    }
  } else if (is_suspect) {
    row.level = Level::kSuspect;
  }
  rows_.push_back(row);
}

void RowMaker::AddTemperature(Side side) {
  EvidenceRow row =
      Start(Row::kTemperature, side, Window::k300s, "module temperature", "PDDR module page");
  row.unit = Unit::kCelsius;
  const EndEvidence& end = End(side);
  if (!end.temperature) return AddMissing(row, kNotMeasured);
  const double alarm = end.temperature_alarm.value_or(limits_.alarm);
  row.value = *end.temperature;
  row.limit = limits_.hot;
  if (row.value > alarm) {
    row.level = Level::kStrong;
    row.limit = alarm;
  } else if (row.value > limits_.hot) {
    row.level = Level::kSuspect;
  } else if (end.temperature_median &&
             row.value - *end.temperature_median > limits_.hotter_than_usual) {
    row.level = Level::kSuspect;
    row.limit = *end.temperature_median + limits_.hotter_than_usual;
    row.note = "far above its median of 24 h";
  }
  rows_.push_back(row);
}

void RowMaker::AddDeviceVerdict(Side side) {
  EvidenceRow row = Start(Row::kDeviceVerdict, side, Window::k300s, "the device's own monitor",
                          "PPBMC, ExtPortInfo");
  row.unit = Unit::kYes;
  switch (End(side).device_verdict) {
    case DeviceVerdict::kUnknown: return AddMissing(row, kNotMeasured);
    case DeviceVerdict::kNormal: break;
    case DeviceVerdict::kWarning:
      row.level = Level::kSuspect;
      row.note = "warning";
      break;
    case DeviceVerdict::kAlarm:
      row.level = Level::kStrong;
      row.note = "alarm";
      break;
  }
  row.value = row.level == Level::kNone ? 0 : 1;
  row.limit = 1;
  rows_.push_back(row);
}

// Stronger together with errors: then it is no question of configuration.
void RowMaker::AddBelowCapability() {
  EvidenceRow row = Start(Row::kBelowCapability, Side::kLink, Window::k720s,
                          "width or speed below capability", "PortInfo");
  row.unit = Unit::kYes;
  row.limit = 1;
  if (!link_.is_up || link_.up_for < std::chrono::seconds(60))
    return AddMissing(row, "link is too young");
  if (link_.is_below_capability) {
    row.value = 1;
    row.level = Level::kSuspect;
  }
  rows_.push_back(row);
}

}  // namespace

std::string_view RowName(Row row) {
  static constexpr std::array<std::string_view, kRows + 1> kNames = {
      "E?", "E1",  "E2",  "E3",  "E4",  "E5",  "E6",  "E7", "E8",
      "E9", "E10", "E11", "E12", "E13", "E14", "E15", "E16"};
  const size_t index = static_cast<size_t>(row);
  return kNames[index <= kRows ? index : 0];
}

std::string_view LevelName(Level level) {
  switch (level) {
    case Level::kNone: return "none";
    case Level::kSuspect: return "suspect";
    case Level::kStrong: return "strong";
    case Level::kFatal: return "fatal";
  }
  return "?";
}

int StrongWaits(const EndEvidence& end, const Limits& limits) {
  return static_cast<int>(
      std::count_if(end.wait.begin(), end.wait.end(), [&](const std::optional<WaitWindow>& wait) {
        return wait && wait->share >= limits.wait_strong &&
               wait->utilisation < limits.incast_utilisation;
      }));
}

std::vector<EvidenceRow> RowsOf(const LinkEvidence& link, const Limits& limits) {
  std::vector<EvidenceRow> rows = RowMaker(link, limits).Make();
  const bool has_errors = std::any_of(rows.begin(), rows.end(), [](const EvidenceRow& row) {
    return row.row >= Row::kSymbolBer && row.row <= Row::kLinkIntegrity &&
           row.IsAtLeast(Level::kSuspect);
  });
  const auto is_seen = [&](Side side) {
    return std::any_of(rows.begin(), rows.end(), [&](const EvidenceRow& row) {
      return row.row <= Row::kEffectiveBer && row.side == side && row.IsAtLeast(Level::kSuspect) &&
             !row.is_implausible;
    });
  };
  for (EvidenceRow& row : rows) {
    if (has_errors && row.row == Row::kBelowCapability && row.level == Level::kSuspect)
      row.level = Level::kStrong;
    // How far back a monitor looks is not known: it may be about errors of long ago.
    const bool is_monitor =
        row.row == Row::kDeviceVerdict && !(row.side == Side::kA ? link.a : link.b).is_unhealthy;
    if (is_monitor && row.level == Level::kStrong && !is_seen(row.side)) {
      row.level = Level::kSuspect;
      row.note = "alarm, and the registers show few errors";
    }
  }
  return rows;
}

}  // namespace fabricd::policy
