// SPDX-License-Identifier: Apache-2.0
#include "cli/render/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "cli/render/policy_tables.h"
#include "cli/render/tables.h"
#include "cli/terminal/terminal_text.h"

namespace fabricd::cli {
namespace {

namespace pb = ::fabric::v1;

using Series = std::vector<std::optional<double>>;

constexpr size_t kLeastWidth = 40;
constexpr size_t kLabel = 10;  // In front of the plot, with the axis.
constexpr size_t kRows = 5;

// Eighths of a line.
constexpr std::array<const char*, 9> kBlocks = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

// At most `columns` values: the mean of what falls together, for peaks the largest.
Series Shrink(const Series& series, size_t columns, bool largest) {
  if (series.size() <= columns) return series;
  Series shrunk(columns);
  for (size_t column = 0; column < columns; ++column) {
    const size_t begin = column * series.size() / columns;
    const size_t end = (column + 1) * series.size() / columns;
    double sum = 0;
    size_t known = 0;
    for (size_t i = begin; i < end; ++i) {
      if (!series[i]) continue;
      ++known;
      sum = largest ? std::max(sum, *series[i]) : sum + *series[i];
    }
    if (known > 0) shrunk[column] = largest ? sum : sum / static_cast<double>(known);
  }
  return shrunk;
}

// What the top line of a plot stands for: 1, 2 or 5 times a power of ten.
double ScaleOf(const Series& series) {
  double most = 0;
  for (const auto& value : series) most = std::max(most, value.value_or(0));
  if (most <= 0) return 1;
  const double power = std::pow(10, std::floor(std::log10(most)));
  for (const double step : {1.0, 2.0, 5.0}) {
    if (most <= step * power * (1 + 1e-9)) return step * power;
  }
  return 10 * power;
}

// Of one value in one line, `row` counted from the bottom.
std::string Mark(const std::optional<double>& value, double scale, size_t row, bool is_ascii) {
  if (!value) return row == 0 ? (is_ascii ? "?" : "·") : " ";
  const double lines = *value / scale * static_cast<double>(kRows) - static_cast<double>(row);
  if (is_ascii) return lines >= 0.5 ? "#" : lines > 0 && row == 0 ? "." : " ";
  int eighths = static_cast<int>(std::lround(std::clamp(lines, 0.0, 1.0) * 8));
  // What is there is seen.
  if (row == 0 && *value > 0) eighths = std::max(eighths, 1);
  return kBlocks[static_cast<size_t>(eighths)];
}

std::string TrimRight(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

std::string Plot(const std::string& title, const Series& series, double scale,
                 const std::string& unit, bool is_ascii) {
  std::string text = title + "\n";
  for (size_t line = kRows; line-- > 0;) {
    const bool top = line + 1 == kRows;
    std::string row = fmt::format("{:>{}} {}",
                                  top         ? fmt::format("{:g}{}", scale, unit)
                                  : line == 0 ? std::string("0")
                                              : std::string(),
                                  kLabel - 2, is_ascii ? "|" : "│");
    for (const auto& value : series) row += Mark(value, scale, line, is_ascii);
    text += TrimRight(std::move(row));
  }
  return text;
}

}  // namespace

std::string PlotHistory(const pb::GetPortHistoryResponse& history, const PlotStyle& style) {
  constexpr double kGbpsOfBytes = 8e-9;
  Series sent, received, wait;
  for (const pb::HistorySample& sample : history.samples()) {
    const auto gbps = [](bool has, double bytes) {
      return has ? std::optional(bytes * kGbpsOfBytes) : std::nullopt;
    };
    sent.push_back(gbps(sample.has_xmit_bytes(), sample.xmit_bytes()));
    received.push_back(gbps(sample.has_rcv_bytes(), sample.rcv_bytes()));
    wait.push_back(sample.has_wait() ? std::optional(sample.wait() * 100) : std::nullopt);
  }
  const size_t columns = std::max(style.width, kLeastWidth) - kLabel;
  sent = Shrink(sent, columns, false);
  received = Shrink(received, columns, false);
  wait = Shrink(wait, columns, true);
  double traffic = std::max(ScaleOf(sent), ScaleOf(received));
  // The link's own rate is a better top than one that it cannot reach.
  const double rate = history.link_bytes_per_second() * kGbpsOfBytes;
  const auto fits = [&](const auto& value) { return value.value_or(0) <= rate; };
  if (rate < traffic && std::ranges::all_of(sent, fits) && std::ranges::all_of(received, fits))
    traffic = rate;
  const bool is_quiet = std::ranges::none_of(sent, [](const auto& v) { return v > 0.0; }) &&
                        std::ranges::none_of(received, [](const auto& v) { return v > 0.0; });
  std::string text = OneLine(history.name());
  if (history.has_peer())
    text += fmt::format(" {} {}", style.is_ascii ? "<->" : "↔", OneLine(PortText(history.peer())));
  text += fmt::format(", {:g} Gb/s, steps of {}\n", history.link_bytes_per_second() * kGbpsOfBytes,
                      SpanText(static_cast<int64_t>(history.step_seconds() * 1000)));
  if (history.samples().empty()) return text + "no step has ended yet\n";
  text += Plot("sent, Gb/s", sent, is_quiet ? 1 : traffic, "", style.is_ascii);
  text += Plot("received, Gb/s", received, is_quiet ? 1 : traffic, "", style.is_ascii);
  text += Plot("time without credits", wait, ScaleOf(wait), "%", style.is_ascii);
  const auto span = static_cast<int64_t>(history.step_seconds() * 1000) * history.samples_size();
  const std::string begin = fmt::format("{} ago", SpanText(span));
  const size_t plotted = std::min(columns, sent.size());
  text += fmt::format("{:{}}{:<{}}now\n", "", kLabel - 1, begin,
                      std::max(plotted + 1, begin.size() + 4) - 3);
  return text;
}

}  // namespace fabricd::cli
