// SPDX-License-Identifier: Apache-2.0
#include "sim/faults/fault_spec.h"

#include <algorithm>
#include <cmath>

#include <absl/container/flat_hash_set.h>

#include "common/number_text.h"
#include "common/status.h"

namespace fabricd::sim {
namespace {

constexpr FaultClass kClasses[] = {
    {"loss", "probability that a MAD never arrives", &Faults::loss, 1, {0, 0.05, 0.25}},
    {"duplicate", "probability that a MAD arrives twice", &Faults::duplicate, 1, {0, 0.05, 0.3}},
    {"reorder", "probability that a MAD is held back", &Faults::reorder, 1, {0, 0.05, 0.5}},
    {"delay_us", "microseconds that every MAD takes", &Faults::delay_us, 1e6, {1, 20, 200}},
    {"jitter_us", "further microseconds, at most", &Faults::jitter_us, 1e6, {0, 20, 500}},
    {"hold_us",
     "microseconds that a held MAD waits, at most",
     &Faults::hold_us,
     1e6,
     {100, 1000, 20000}},
    {"sick_links", "cables that lose MADs all the time", &Faults::sick_links, 1000, {0, 3, 20}},
    {"sick_loss", "probability of loss on those", &Faults::sick_loss, 1, {0.1, 0.9, 0.99}},
    {"phase_s", "seconds until the faults stop", &Faults::phase_s, 3600, {1, 20, 60}},
    {"flaps", "cables that are pulled and put back", &Faults::flaps, 1000, {0, 4, 30}},
    {"reboots", "nodes that restart and lose their tables", &Faults::reboots, 1000, {0, 2, 8}},
    {"mutes", "cables that carry nothing for a while", &Faults::mutes, 1000, {0, 2, 10}},
    {"departures", "nodes that are unplugged and come back", &Faults::departures, 1000, {0, 2, 10}},
    {"outages",
     "nodes without power for a while, their tables lost",
     &Faults::outages,
     1000,
     {0, 2, 10}},
    {"port_traps", "traps 129, 130 or 131 of a port", &Faults::port_traps, 1000, {0, 5, 50}},
    {"limited_keys",
     "1: end ports wake up as limited members of the default partition",
     &Faults::limited_keys,
     1,
     {0, 0, 1}},
    {"odd_devices",
     "devices with firmware of their own mind",
     &Faults::odd_devices,
     1000,
     {0, 2, 10}},
    {"managers", "fabricds", &Faults::managers, 8, {1, 1, 1}},
    {"foreign_sms", "subnet managers of another make", &Faults::foreign_sms, 8, {0, 0, 0}},
    {"kills", "times that a fabricd is killed at a random MAD", &Faults::kills, 1000, {0, 1, 4}},
    {"moves", "probability that it restarts on another port", &Faults::moves, 1, {0, 0.5, 1}},
    {"partitions",
     "times that the managers cannot reach each other",
     &Faults::partitions,
     100,
     {0, 0, 0}},
    {"store_ms", "milliseconds that a durable write takes", &Faults::store_ms, 60000, {0, 10, 500}},
    {"plan_ms", "milliseconds that routing takes", &Faults::plan_ms, 60000, {0, 20, 1000}},
    {"up_under_faults",
     "1: the subnet must come up before the faults stop",
     &Faults::up_under_faults,
     1,
     {0, 0, 0}},
    {"trap_loss", "probability that a trap never arrives", &Faults::trap_loss, 1, {0, 0, 0}},
    {"from_s",
     "seconds before the first fault of a cable or node",
     &Faults::from_s,
     3600,
     {0, 0, 0}},
    {"cuts",
     "cables between switches that are pulled until the faults stop",
     &Faults::cuts,
     1000,
     {0, 0, 0}},
    {"cut_gap_ms",
     "milliseconds within which all of those are pulled",
     &Faults::cut_gap_ms,
     1e6,
     {0, 0, 0}},
    {"push_cuts",
     "further ones, each pulled while tables are being written",
     &Faults::push_cuts,
     1000,
     {0, 0, 0}},
    {"deaths", "switches without power until the faults stop", &Faults::deaths, 1000, {0, 0, 0}},
    {"switch_reboots",
     "switches that restart and lose their tables",
     &Faults::switch_reboots,
     1000,
     {0, 0, 0}},
    {"nic_flaps",
     "cables of end ports that are pulled and put back",
     &Faults::nic_flaps,
     1000,
     {0, 0, 0}},
    {"trains", "cables between switches that flap regularly", &Faults::trains, 1000, {0, 0, 0}},
    {"train_period_s", "seconds from flap to flap", &Faults::train_period_s, 3600, {1, 1, 1}},
    {"train_down",
     "part of that for which the cable is pulled",
     &Faults::train_down,
     1,
     {0.5, 0.5, 0.5}},
    {"storms", "ports of switches that send traps without end", &Faults::storms, 1000, {0, 0, 0}},
    {"storm_rate", "traps a second of each", &Faults::storm_rate, 1e5, {1000, 1000, 1000}},
    {"storm_s", "seconds that a storm lasts", &Faults::storm_s, 3600, {1, 1, 1}},
    {"storm_trap",
     "128, 129, 130 or 131; another number: one of them by chance",
     &Faults::storm_trap,
     1000,
     {0, 0, 0}},
    {"holds", "holds that are set and lifted", &Faults::holds, 1000, {0, 0, 0}},
    {"groups", "multicast groups that get members", &Faults::groups, 4096, {0, 0, 0}},
    {"joins", "times that members join some and leave some", &Faults::joins, 10000, {0, 0, 0}},
    {"tenants", "requests about partitions", &Faults::tenants, 1000, {0, 0, 0}},
    {"foreign_writes",
     "tables that a program on some host overwrites",
     &Faults::foreign_writes,
     1000,
     {0, 0, 0}},
    {"gmp_loss",
     "probability that a GMP about counters never arrives, on top of loss",
     &Faults::gmp_loss,
     1,
     {0, 0, 0}},
    {"gmp_duplicate",
     "probability that such a GMP arrives twice",
     &Faults::gmp_duplicate,
     1,
     {0, 0, 0}},
    {"gmp_delay_us",
     "further microseconds that such a GMP takes",
     &Faults::gmp_delay_us,
     1e7,
     {0, 0, 0}},
    {"gmp_jitter_us",
     "further microseconds on top of those, at most",
     &Faults::gmp_jitter_us,
     1e7,
     {0, 0, 0}},
    {"counter_clears",
     "times that another program clears the counters of a port",
     &Faults::counter_clears,
     10000,
     {0, 0, 0}},
    {"host_reboots",
     "hosts that restart, with all their adapters",
     &Faults::host_reboots,
     1000,
     {0, 0, 0}},
    {"observers",
     "fabricds that only read, every second one in standby mode",
     &Faults::observers,
     8,
     {0, 0, 0}},
    {"silences",
     "devices whose SMA does not respond for a while, and which forward as ever",
     &Faults::silences,
     1000,
     {0, 0, 0}},
    {"silence_s", "seconds of that, 1 at least", &Faults::silence_s, 3600, {1, 1, 1}},
};
// Of trap_loss, and all that follow.
constexpr size_t kOwnDraws = 25;
static_assert(kClasses[kOwnDraws].value == &Faults::trap_loss);

constexpr const char* kOthers = "others";

std::vector<std::string> Words(const std::string& line) {
  std::vector<std::string> words;
  std::string word;
  for (char c : line + ' ') {
    if (c == '#') {
      if (!word.empty()) words.push_back(word);
      break;
    }
    if (c != ' ' && c != '\t' && c != '\r') {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  return words;
}

absl::StatusOr<FaultRange> ReadRange(const FaultClass& of, const std::vector<std::string>& words) {
  double values[3] = {};
  if (words.size() < 2 || words.size() > 4)
    return InvalidArgument("{} takes LOW [HIGH [EXTREME]]", of.name);
  for (size_t i = 1; i < words.size(); ++i) {
    values[i - 1] = ParseNumber<double>(words[i]).value_or(-1);
    if (!(values[i - 1] >= 0 && values[i - 1] <= of.most))
      return InvalidArgument("{} {}: a number from 0 to {} is wanted", of.name, words[i], of.most);
  }
  FaultRange range{values[0], words.size() > 2 ? values[1] : values[0], 0};
  range.extreme = words.size() > 3 ? values[2] : range.high;
  if (range.high < range.low)
    return InvalidArgument("{}: {} is below {}", of.name, range.high, range.low);
  return range;
}

}  // namespace

std::span<const FaultClass> FaultClasses() { return kClasses; }

FaultSpec StandardFaults() {
  FaultSpec spec;
  for (const FaultClass& each : kClasses) spec.push_back(each.standard);
  return spec;
}

absl::StatusOr<FaultSpec> ReadFaults(const std::string& text) {
  FaultSpec spec = StandardFaults();
  std::vector<char> given(spec.size(), 0);
  bool others_low = false;
  std::string faults;
  int number = 0;
  for (size_t from = 0; from < text.size(); ++number) {
    const size_t end = std::min(text.find('\n', from), text.size());
    const std::vector<std::string> words = Words(text.substr(from, end - from));
    from = end + 1;
    if (words.empty()) continue;
    const auto of = std::find_if(std::begin(kClasses), std::end(kClasses),
                                 [&](const FaultClass& each) { return words[0] == each.name; });
    const auto index = static_cast<size_t>(of - std::begin(kClasses));
    absl::Status status;
    if (words[0] == kOthers) {
      if (words.size() != 2 || words[1] != "low") status = InvalidArgument("others takes 'low'");
      others_low = true;
    } else if (of == std::end(kClasses)) {
      status = InvalidArgument("no fault class '{}'", words[0]);
    } else if (std::exchange(given[index], 1) != 0) {
      status = InvalidArgument("{} is given twice", words[0]);
    } else if (auto range = ReadRange(*of, words); range.ok()) {
      spec[index] = *range;
    } else {
      status = range.status();
    }
    if (!status.ok())
      faults +=
          fmt::format("{}line {}: {}", faults.empty() ? "" : "; ", number + 1, Message(status));
  }
  if (!faults.empty()) return InvalidArgument("{}", faults);
  for (size_t i = 0; others_low && i < spec.size(); ++i) {
    const double low = kClasses[i].standard.low;
    if (given[i] == 0) spec[i] = {low, low, low};
  }
  return spec;
}

std::string WriteFaults(const FaultSpec& spec) {
  std::string text =
      "# NAME LOW [HIGH [EXTREME]]: one number is every seed's; of two a seed in\n"
      "# four has LOW, others anything between; one in eight has EXTREME.\n";
  for (size_t i = 0; i < spec.size(); ++i)
    text += fmt::format("{:<16}{} {} {}  # {}\n", kClasses[i].name, spec[i].low, spec[i].high,
                        spec[i].extreme, kClasses[i].what);
  return text;
}

Faults DrawFaults(const FaultSpec& spec, Rng& rng) {
  Faults drawn{};
  Rng later = rng;
  later = Rng(later.Next());
  for (size_t i = 0; i < spec.size(); ++i) {
    const FaultRange& range = spec[i];
    Rng& from = i < kOwnDraws ? rng : later;
    // Drawn for every class, so that a change of one range leaves the others' values alone.
    const uint64_t kind = from.Below(8);
    const double part = static_cast<double>(from.Below(1001)) / 1000;
    double value = range.low + (range.high - range.low) * part;
    if (kind == 0) value = range.extreme;
    if (kind == 1 || kind == 2) value = range.low;
    drawn.*kClasses[i].value = value;
  }
  return drawn;
}

std::string Describe(const Faults& faults) {
  std::string text;
  for (const FaultClass& each : kClasses) {
    const double value = faults.*each.value;
    if (value != 0) text += fmt::format("{}{} {:.4g}", text.empty() ? "" : ", ", each.name, value);
  }
  return text;
}

}  // namespace fabricd::sim
