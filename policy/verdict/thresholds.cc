// SPDX-License-Identifier: Apache-2.0
#include "policy/verdict/thresholds.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

namespace fabricd::policy {
namespace {

// Nominal signal rates of physical lanes: NDR 100 Gb/s, XDR 200 Gb/s.
constexpr double kNdr = 90, kXdr = 190;

bool Fits(const BerRow& row, const LinkEvidence& link) {
  return link.lane_gigabits >= row.min_gigabits && (!row.fec || *row.fec == link.fec) &&
         (!row.media || *row.media == link.media);
}

bool IsRising(double low, double middle, double high) {
  return low > 0 && low <= middle && middle <= high && std::isfinite(high);
}

void CheckLevels(const CountLevels& levels, std::string_view name, Faults& faults) {
  if (levels.suspect == 0 || levels.strong < levels.suspect)
    faults.push_back(fmt::format("{}: suspect {} and strong {} have to rise from 1 on", name,
                                 levels.suspect, levels.strong));
  if (levels.fatal != 0 && levels.fatal < levels.strong)
    faults.push_back(
        fmt::format("{}: fatal {} is below strong {}", name, levels.fatal, levels.strong));
}

void CheckBer(const Limits& limits, Faults& faults) {
  for (size_t i = 0; i < limits.ber.size(); ++i) {
    const BerRow& row = limits.ber[i];
    for (const auto& [name, ber] :
         {std::pair("symbol", row.symbol), std::pair("effective", row.effective)}) {
      if (!IsRising(ber.normal, ber.warning, ber.error) || ber.error >= 1)
        faults.push_back(fmt::format("ber[{}].{}: {}, {}, {} have to rise between 0 and 1", i, name,
                                     ber.normal, ber.warning, ber.error));
    }
    if (!(row.min_gigabits >= 0))
      faults.push_back(fmt::format("ber[{}].min_gigabits: {} is negative", i, row.min_gigabits));
  }
  const bool is_covered = !limits.ber.empty() && limits.ber.back().min_gigabits == 0 &&
                          !limits.ber.back().fec && !limits.ber.back().media;
  if (!is_covered) faults.push_back("ber: the last row has to fit every link");
  if (!(limits.fatal_ber > 0 && limits.fatal_ber < 1))
    faults.push_back(fmt::format("fatal_ber: {} is not between 0 and 1", limits.fatal_ber));
  if (!IsRising(limits.strong_probability, limits.suspect_probability, 0.5))
    faults.push_back(fmt::format(
        "strong_probability: {} and suspect_probability {} have to rise between 0 and 0.5",
        limits.strong_probability, limits.suspect_probability));
}

// Terms of the sum decrease above the mean; below it the complement is the sum.
double SumUp(double mean, uint64_t from) {
  const double first = static_cast<double>(from);
  double term = std::exp(first * std::log(mean) - mean - std::lgamma(first + 1));
  double sum = 0;
  for (double i = first; term > sum * 1e-17; ++i) {
    sum += term;
    term *= mean / (i + 1);
  }
  return sum;
}

double SumDown(double mean, uint64_t from) {
  const double first = static_cast<double>(from);
  double term = std::exp(first * std::log(mean) - mean - std::lgamma(first + 1));
  double sum = 0;
  for (double i = first; i >= 0 && term > sum * 1e-17; --i) {
    sum += term;
    term *= i / mean;
  }
  return sum;
}

}  // namespace

std::vector<BerRow> DefaultBerTable() {
  const BerLevels symbol;  // The same for all.
  const BerLevels low_latency{1e-12, 5e-12, 1e-11};
  const BerLevels kp4{1e-15, 5e-15, 1e-14};
  return {
      {kXdr, FecClass::kKp4, std::nullopt, symbol, kp4, false},
      {kXdr, std::nullopt, std::nullopt, symbol, low_latency, false},
      {kNdr, FecClass::kLowLatency, std::nullopt, symbol, low_latency, true},
      {kNdr, FecClass::kKp4, std::nullopt, symbol, kp4, true},
      // Copper has low-latency FEC, whether the port says so or not.
      {kNdr, FecClass::kUnknown, Media::kCopper, symbol, low_latency, true},
      {kNdr, FecClass::kUnknown, Media::kActiveCopper, symbol, low_latency, true},
      {0, FecClass::kKp4, std::nullopt, symbol, kp4, false},
      {0, std::nullopt, std::nullopt, symbol, low_latency, false},
  };
}

Faults Check(const Limits& limits) {
  Faults faults;
  CheckBer(limits, faults);
  if (limits.spread_readings == 0) faults.push_back("spread_readings: 0 lets no count be seen");
  CheckLevels(limits.uncorrectable, "uncorrectable", faults);
  CheckLevels({limits.link_downs.suspect, limits.link_downs.strong, 0}, "link_downs", faults);
  if (limits.link_downs.fatal < 2)
    faults.push_back("link_downs: fatal below 2 within 10 min is no flapping");
  CheckLevels(limits.recoveries, "recoveries", faults);
  CheckLevels(limits.local_physical, "local_physical", faults);
  CheckLevels(limits.link_integrity, "link_integrity", faults);
  CheckLevels(limits.overrun, "overrun", faults);
  CheckLevels(limits.hoq_discards, "hoq_discards", faults);
  CheckLevels(limits.traps, "traps", faults);
  CheckLevels(limits.timeouts, "timeouts", faults);
  CheckLevels(limits.malformed, "malformed", faults);
  if (!IsRising(limits.drop_strong, limits.drop_fatal, 1))
    faults.push_back(fmt::format("drop_strong: {} and drop_fatal {} have to rise between 0 and 1",
                                 limits.drop_strong, limits.drop_fatal));
  if (!(limits.min_packets >= 1)) faults.push_back("min_packets: less than 1");
  if (!IsRising(limits.wait_suspect, limits.wait_strong, 1))
    faults.push_back(fmt::format("wait_suspect: {} and wait_strong {} have to rise up to 1",
                                 limits.wait_suspect, limits.wait_strong));
  if (!IsRising(limits.low_utilisation, limits.incast_utilisation, 1))
    faults.push_back(
        fmt::format("low_utilisation: {} and incast_utilisation {} have to rise up to 1",
                    limits.low_utilisation, limits.incast_utilisation));
  if (limits.wait_windows < 1 || limits.wait_windows > 3)
    faults.push_back(fmt::format("wait_windows: {} is not 1 to 3", limits.wait_windows));
  if (!IsRising(limits.hot, limits.alarm, 150))
    faults.push_back(
        fmt::format("hot: {} and alarm {} have to rise up to 150", limits.hot, limits.alarm));
  if (!(limits.hotter_than_usual > 0)) faults.push_back("hotter_than_usual: not above 0");
  if (limits.min_up < Duration::zero() || limits.observation < limits.min_up)
    faults.push_back("min_up: negative, or above observation");
  return faults;
}

const BerRow& BerRowOf(const LinkEvidence& link, const Limits& limits) {
  static const BerRow kGeneral{0, std::nullopt, std::nullopt, {}, {1e-12, 5e-12, 1e-11}, false};
  const auto row = std::find_if(limits.ber.begin(), limits.ber.end(),
                                [&](const BerRow& each) { return Fits(each, link); });
  return row == limits.ber.end() ? kGeneral : *row;
}

double PoissonTail(double mean, uint64_t count) {
  if (count == 0) return 1;
  if (mean <= 0) return 0;
  // The normal distribution: the sum would have too many terms.
  if (mean > 1e5)
    return std::erfc((static_cast<double>(count) - 0.5 - mean) / std::sqrt(2 * mean)) / 2;
  if (static_cast<double>(count) > mean) return std::min(1.0, SumUp(mean, count));
  return std::max(0.0, 1 - SumDown(mean, count - 1));
}

uint64_t CriticalCount(double mean, double probability) {
  uint64_t low = 0;  // Not enough; `high` is.
  uint64_t high = static_cast<uint64_t>(mean + 10 * std::sqrt(mean)) + 30;
  while (PoissonTail(mean, high) > probability) {
    low = high;
    high *= 2;
  }
  while (low + 1 < high) {
    const uint64_t middle = low + (high - low) / 2;
    (PoissonTail(mean, middle) > probability ? low : high) = middle;
  }
  return high;
}

}  // namespace fabricd::policy
