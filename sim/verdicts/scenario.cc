// SPDX-License-Identifier: Apache-2.0
#include "sim/verdicts/scenario.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "common/number_text.h"
#include "common/status.h"
#include "sim/performance/performance_options.h"

namespace fabricd::sim {
namespace {

constexpr std::string_view kPlaceNames[] = {
    "",
    "random-link",
    "random-host-link",
    "random-trunk",
    "random-host",
    "random-switch",
    "random-leaf",
    "random-rail",
    "all",
};

constexpr uint32_t Bit(PlaceKind kind) { return uint32_t{1} << static_cast<int>(kind); }
constexpr uint32_t kNamedPlace = Bit(PlaceKind::kNamed);
constexpr uint32_t kOfHostLink = kNamedPlace | Bit(PlaceKind::kRandomHostLink);
constexpr uint32_t kOfLink =
    kOfHostLink | Bit(PlaceKind::kRandomLink) | Bit(PlaceKind::kRandomTrunk);
constexpr uint32_t kOfHost = kNamedPlace | Bit(PlaceKind::kRandomHost);
constexpr uint32_t kOfSwitch =
    kNamedPlace | Bit(PlaceKind::kRandomSwitch) | Bit(PlaceKind::kRandomLeaf);
constexpr uint32_t kOfLeaf = kNamedPlace | Bit(PlaceKind::kRandomLeaf);
constexpr uint32_t kEverywhere = Bit(PlaceKind::kAll);

constexpr const char* kLimits = "times the limit of the symbol BER";

constexpr CauseInfo kCauses[] = {
    {CauseKind::kNoisyCable, "noisy-cable", kLimits, 0.01, 1e6, {2, 100}, 0, kOfLink, true, false},
    {CauseKind::kNoisyTransmitter,
     "noisy-transmitter",
     kLimits,
     0.01,
     1e6,
     {2, 100},
     0,
     kOfLink,
     true,
     false},
    {CauseKind::kNoisyReceiver,
     "noisy-receiver",
     kLimits,
     0.01,
     1e6,
     {2, 100},
     0,
     kOfLink,
     true,
     false},
    {CauseKind::kDirtyCable,
     "dirty-cable",
     "wrong bits in 1e9, before FEC",
     0.01,
     1e7,
     {100, 3000},
     0,
     kOfLink,
     true,
     false},
    {CauseKind::kHotModule,
     "hot-module",
     "degrees Celsius",
     1,
     120,
     {82, 92},
     0,
     kOfLink,
     true,
     false},
    {CauseKind::kSlowReceiver,
     "slow-receiver",
     "times slower than its link",
     1,
     1e6,
     {3, 30},
     0,
     kOfHostLink,
     false,
     false},
    {CauseKind::kIncast, "incast", "senders", 2, 1e4, {8, 16}, 0, kOfHostLink, false, false},
    {CauseKind::kFlappingCable,
     "flapping-cable",
     "drops an hour",
     0.01,
     3600,
     {20, 60},
     0,
     kOfLink,
     false,
     false},
    {CauseKind::kCablePulled, "cable-pulled", nullptr, 0, 0, {}, 300, kOfLink, false, false},
    {CauseKind::kPeerDisable, "peer-disable", nullptr, 0, 0, {}, 300, kOfLink, false, false},
    {CauseKind::kHostReboot, "host-reboot", nullptr, 0, 0, {}, 180, kOfHost, false, false},
    {CauseKind::kSwitchReboot, "switch-reboot", nullptr, 0, 0, {}, 120, kOfSwitch, false, false},
    {CauseKind::kFirmwareDefect,
     "firmware-defect",
     kLimits,
     0.01,
     1e6,
     {10, 100},
     0,
     kEverywhere,
     false,
     true},
    {CauseKind::kCounterClear,
     "counter-clear",
     nullptr,
     0,
     0,
     {},
     0,
     kOfLink | kEverywhere,
     false,
     false},
    {CauseKind::kTelemetryBlackout,
     "telemetry-blackout",
     nullptr,
     0,
     0,
     {},
     600,
     kOfHost | kOfSwitch | kEverywhere,
     false,
     false},
    {CauseKind::kMulticastNoise,
     "multicast-noise",
     "packets a second",
     0.001,
     1e6,
     {1, 100},
     0,
     kOfSwitch,
     false,
     false},
    {CauseKind::kRailStorm,
     "rail-storm",
     nullptr,
     0,
     0,
     {},
     600,
     kNamedPlace | Bit(PlaceKind::kRandomRail),
     false,
     false},
    {CauseKind::kCableSwapped, "cable-swapped", nullptr, 0, 0, {}, 300, kOfLink, false, false},
    {CauseKind::kRoughLinkUp,
     "rough-link-up",
     kLimits,
     0.01,
     1e6,
     {100, 1000},
     480,
     kOfLink,
     false,
     false},
    {CauseKind::kOddAgent,
     "odd-agent",
     nullptr,
     0,
     0,
     {},
     0,
     kOfHost | kOfSwitch | kEverywhere,
     false,
     false,
     true},
    {CauseKind::kSickPath, "sick-path", nullptr, 0, 0, {}, 600, kOfLeaf, false, false},
    {CauseKind::kVl15Drops,
     "vl15-drops",
     "packets a second",
     0.001,
     1e6,
     {1, 100},
     0,
     kOfSwitch | kEverywhere,
     false,
     false},
    {CauseKind::kFabricdRestart,
     "fabricd-restart",
     nullptr,
     0,
     0,
     {},
     30,
     kEverywhere,
     false,
     false},
};

constexpr double kDefaultStart = 900, kDefaultShare = 0.2;
constexpr double kLongest = 30 * 86400.0;

using Words = std::vector<std::string>;

// Blanks and # within quotes belong to a word.
absl::StatusOr<Words> SplitWords(std::string_view line) {
  Words words;
  std::string word;
  bool quoted = false, any = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
      any = true;
    } else if (!quoted && c == '#') {
      break;
    } else if (!quoted && (c == ' ' || c == '\t' || c == '\r')) {
      if (any) words.push_back(std::move(word));
      word.clear();
      any = false;
    } else {
      word += c;
      any = true;
    }
  }
  if (quoted) return InvalidArgument("a quote is not closed");
  if (any) words.push_back(std::move(word));
  return words;
}

// "90s", "15m", "2h", as seconds.
std::optional<double> SecondsOf(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const char unit = text.back();
  const double scale = unit == 's' ? 1 : unit == 'm' ? 60 : unit == 'h' ? 3600 : 0;
  const auto count = ParseNumber<double>(text.substr(0, text.size() - 1));
  if (scale == 0 || !count || !(*count >= 0 && *count * scale <= kLongest)) return std::nullopt;
  return *count * scale;
}

template <typename Read>
absl::StatusOr<Range> RangeOf(const std::string& key, const std::string& value, const char* wanted,
                              Read&& read) {
  const size_t dots = value.find("..");
  const std::optional<double> low = read(std::string_view(value).substr(0, dots));
  const std::optional<double> high =
      dots == std::string::npos ? low : read(std::string_view(value).substr(dots + 2));
  if (!low || !high) return InvalidArgument("{}={}: {} is wanted", key, value, wanted);
  if (*high < *low) return InvalidArgument("{}={}: the second is below the first", key, value);
  return Range{*low, *high};
}

absl::StatusOr<double> SingleOf(const std::string& key, const std::string& value, double least,
                                double most) {
  const auto number = ParseNumber<double>(value);
  if (!number || !(*number >= least && *number <= most)) {
    return InvalidArgument("{}={}: a number from {} to {} is wanted", key, value, least, most);
  }
  return *number;
}

constexpr const char* kTimeWanted = "a time as 90s, 15m or 2h, or two with .. between,";

absl::StatusOr<double> TimeOf(const std::string& key, const std::string& value) {
  const std::optional<double> time = SecondsOf(value);
  if (!time) return InvalidArgument("{} {}: a time as 90s, 15m or 2h is wanted", key, value);
  return *time;
}

// "a, b or c": what may stand for the place of this cause.
std::string PlacesOf(const CauseInfo& info) {
  std::string all;
  for (size_t i = 1; i < std::size(kPlaceNames); ++i) {
    if ((info.places >> i & 1) == 0) continue;
    all += fmt::format("{}{}", all.empty() ? "" : ", ", kPlaceNames[i]);
  }
  return (info.places & kNamedPlace) != 0 ? all + " or a name" : all;
}

absl::StatusOr<Place> PlaceOf(const CauseInfo& info, const std::string& word) {
  Place place;
  for (size_t i = 1; i < std::size(kPlaceNames); ++i) {
    if (word == kPlaceNames[i]) place.kind = static_cast<PlaceKind>(i);
  }
  if (place.kind == PlaceKind::kNamed) place.name = word;
  if ((info.places & Bit(place.kind)) == 0 || word.empty()) {
    return InvalidArgument("{} is at {}, not at '{}'", info.name, PlacesOf(info), word);
  }
  return place;
}

absl::Status SetOption(const CauseInfo& info, const std::string& key, const std::string& value,
                       Cause& cause) {
  if (key == "start" || key == "duration") {
    const auto range = RangeOf(key, value, kTimeWanted, SecondsOf);
    if (!range.ok()) return range.status();
    if (key == "duration" && range->low <= 0) return InvalidArgument("duration=0 is no duration");
    (key == "start" ? cause.start : cause.duration) = *range;
    return absl::OkStatus();
  }
  if (key == "severity" && info.unit != nullptr) {
    const std::string wanted =
        fmt::format("a number from {} to {}, or two with .. between,", info.least, info.most);
    const auto range = RangeOf(key, value, wanted.c_str(), [&](std::string_view text) {
      const auto number = ParseNumber<double>(text);
      return number && *number >= info.least && *number <= info.most ? number : std::nullopt;
    });
    if (!range.ok()) return range.status();
    cause.severity = *range;
    return absl::OkStatus();
  }
  if (key == "as" && info.has_agent) {
    const auto options = ParsePerformanceOptions(value);
    if (!options.ok()) return options.status();
    cause.agent = value;
    return absl::OkStatus();
  }
  const bool is_burst = key == "burst" && info.has_burst;
  if (!is_burst && !(key == "share" && info.has_share)) {
    return InvalidArgument("{} has no {}", info.name, key);
  }
  const auto number = is_burst ? SingleOf(key, value, 1, 1e6) : SingleOf(key, value, 0, 1);
  if (!number.ok()) return number.status();
  (is_burst ? cause.burst : cause.share) = *number;
  return absl::OkStatus();
}

// KEY=VALUE from `first` on, each key once.
template <typename Set>
absl::Status ReadOptions(const Words& words, size_t first, Set&& set) {
  Words keys;
  for (size_t i = first; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    if (equals == std::string::npos) return InvalidArgument("'{}' is not KEY=VALUE", words[i]);
    const std::string key = words[i].substr(0, equals);
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) {
      return InvalidArgument("{} is given twice", key);
    }
    keys.push_back(key);
    FABRICD_RETURN_IF_ERROR(set(key, words[i].substr(equals + 1)));
  }
  return absl::OkStatus();
}

absl::Status ReadCause(const CauseInfo& info, const Words& words, Scenario& scenario) {
  if (words.size() < 2) return InvalidArgument("{} where? At {}", info.name, PlacesOf(info));
  auto place = PlaceOf(info, words[1]);
  if (!place.ok()) return place.status();
  Cause cause{info.kind,
              *std::move(place),
              info.severity,
              {kDefaultStart, kDefaultStart},
              {info.duration, info.duration},
              1,
              info.has_share ? kDefaultShare : 0,
              ""};
  FABRICD_RETURN_IF_ERROR(ReadOptions(words, 2, [&](const auto& key, const auto& value) {
    return SetOption(info, key, value, cause);
  }));
  scenario.causes.push_back(std::move(cause));
  return absl::OkStatus();
}

absl::Status ReadTraffic(const Words& words, Scenario& scenario) {
  if (words.size() < 3) return InvalidArgument("traffic takes a pattern and hosts");
  const auto pattern = ParseTrafficPattern(words[1]);
  if (!pattern) {
    return InvalidArgument("'{}' is no pattern: there are {}", words[1], TrafficPatternNames());
  }
  ScenarioTraffic traffic{*pattern, words[2], 1, 0, 0};
  if (traffic.hosts.empty()) return InvalidArgument("traffic takes a pattern and hosts");
  FABRICD_RETURN_IF_ERROR(
      ReadOptions(words, 3, [&](const auto& key, const auto& value) -> absl::Status {
        const bool is_time = key == "start" || key == "duration";
        if (!is_time && key != "load") return InvalidArgument("traffic has no {}", key);
        const auto number = is_time ? TimeOf(key, value) : SingleOf(key, value, 0.001, 1);
        if (!number.ok()) return number.status();
        (key == "load"    ? traffic.load
         : key == "start" ? traffic.start
                          : traffic.duration) = *number;
        return absl::OkStatus();
      }));
  scenario.traffic.push_back(std::move(traffic));
  return absl::OkStatus();
}

absl::Status ReadLine(const Words& words, Scenario& scenario) {
  if (scenario.causes.size() + scenario.traffic.size() >= Scenario::kMostLines) {
    return InvalidArgument("more than {} causes", Scenario::kMostLines);
  }
  if (words[0] == "interval" || words[0] == "length") {
    if (words.size() != 2) return InvalidArgument("{} takes a time", words[0]);
    const auto time = TimeOf(words[0], words[1]);
    if (!time.ok()) return time.status();
    if (*time < 1) return InvalidArgument("{} is at least 1s", words[0]);
    (words[0] == "length" ? scenario.length : scenario.interval) = *time;
    return absl::OkStatus();
  }
  if (words[0] == "traffic") return ReadTraffic(words, scenario);
  for (const CauseInfo& info : kCauses) {
    if (words[0] == info.name) return ReadCause(info, words, scenario);
  }
  return InvalidArgument("'{}' is no cause, and not interval, length or traffic", words[0]);
}

std::string Quoted(const std::string& word) {
  return word.find_first_of(" \t\r#") == std::string::npos ? word : '"' + word + '"';
}

std::string ToText(const Range& range, const char* unit) {
  if (range.low == range.high) return fmt::format("{}{}", range.low, unit);
  return fmt::format("{}{}..{}{}", range.low, unit, range.high, unit);
}

}  // namespace

std::string ToText(const Place& place) {
  return place.kind == PlaceKind::kNamed ? place.name
                                         : std::string(kPlaceNames[static_cast<int>(place.kind)]);
}

std::span<const CauseInfo> Causes() { return kCauses; }

const CauseInfo& InfoOf(CauseKind kind) { return kCauses[static_cast<size_t>(kind)]; }

absl::StatusOr<Scenario> ReadScenario(const std::string& text) {
  Scenario scenario;
  std::string faults;
  int number = 0;
  for (size_t from = 0; from < text.size();) {
    ++number;
    const size_t end = std::min(text.find('\n', from), text.size());
    const auto words = SplitWords(std::string_view(text).substr(from, end - from));
    from = end + 1;
    absl::Status status = words.status();
    if (status.ok() && !words->empty()) status = ReadLine(*words, scenario);
    if (status.ok()) continue;
    faults += fmt::format("{}line {}: {}", faults.empty() ? "" : "; ", number, Message(status));
  }
  if (!faults.empty()) return InvalidArgument("{}", faults);
  return scenario;
}

std::string WriteScenario(const Scenario& scenario) {
  std::string text = fmt::format("interval {}s\nlength {}s\n", scenario.interval, scenario.length);
  for (const ScenarioTraffic& traffic : scenario.traffic) {
    text += fmt::format("traffic {} {} load={} start={}s", TrafficPatternName(traffic.pattern),
                        Quoted(traffic.hosts), traffic.load, traffic.start);
    if (traffic.duration > 0) text += fmt::format(" duration={}s", traffic.duration);
    text += '\n';
  }
  for (const Cause& cause : scenario.causes) {
    const CauseInfo& info = InfoOf(cause.kind);
    text += fmt::format("{} {}", info.name, Quoted(ToText(cause.place)));
    if (info.unit != nullptr) text += fmt::format(" severity={}", ToText(cause.severity, ""));
    text += fmt::format(" start={}", ToText(cause.start, "s"));
    if (cause.duration.high > 0) text += fmt::format(" duration={}", ToText(cause.duration, "s"));
    if (info.has_burst) text += fmt::format(" burst={}", cause.burst);
    if (info.has_share) text += fmt::format(" share={}", cause.share);
    if (!cause.agent.empty()) text += fmt::format(" as={}", Quoted(cause.agent));
    text += '\n';
  }
  return text;
}

}  // namespace fabricd::sim
