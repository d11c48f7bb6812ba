// SPDX-License-Identifier: Apache-2.0
#include "plan/svg.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "common/utf8.h"
#include "fabric/names.h"
#include "routing/graph/levels.h"

namespace fabricd::plan {
namespace {

using routing::Neighbor;
using routing::SwitchGraph;

constexpr double kMargin = 60;
constexpr double kLeastTierHeight = 220;
constexpr double kLeastWidth = 900, kMostWidth = 8000;
constexpr double kSwitchPitch = 26;  // Where the tier has room.

std::string Escape(const std::string& text) {
  std::string escaped;
  for (char c : Utf8(text)) {
    if (c == '&')
      escaped += "&amp;";
    else if (c == '<')
      escaped += "&lt;";
    else if (c == '>')
      escaped += "&gt;";
    else if (c == '"')
      escaped += "&quot;";
    else
      escaped += c;
  }
  return escaped;
}

// From blue (nothing) over grey (the mean) to red (twice the mean and more).
std::string Colour(double load, double mean) {
  const double ratio = mean > 0 ? std::min(load / mean, 2.0) : 0;
  const double red = ratio <= 1 ? 40 + 120 * ratio : 160 + 60 * (ratio - 1);
  const double green = ratio <= 1 ? 90 + 70 * ratio : 160 * (2 - ratio);
  const double blue = ratio <= 1 ? 200 - 40 * ratio : 160 * (2 - ratio);
  return fmt::format("#{:02x}{:02x}{:02x}", static_cast<int>(red), static_cast<int>(green),
                     static_cast<int>(blue));
}

std::string Header(double width, double height, std::string_view title) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"14\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"{2:.0f}\" y=\"28\" font-size=\"18\">{3}</text>\n",
      width, height, kMargin, Escape(std::string(title)));
}

// A line between two neighbours, in the direction that carries more.
struct Line {
  uint32_t from, to;
  uint32_t cables;
  uint32_t load;  // Of its most loaded link.
};

class Drawing {
 public:
  Drawing(const Fabric& fabric, const EngineReport& report, const SwitchGraph& graph)
      : fabric_(fabric), report_(report), graph_(graph), levels_(routing::FindLevels(graph)) {
    Place();
  }

  std::string Text() const {
    const auto& all = report_.quality.all_to_all;
    std::string text = Header(
        width_, height_,
        fmt::format("{}: {} switches, {} host ports; all-to-all load {} at most, {:.1f} on average",
                    report_.engine, graph_.size(), report_.quality.hosts, all.max, all.mean));
    AddLegend(text);
    AddLines(text);
    AddSwitches(text);
    return text + "</svg>\n";
  }

 private:
  // Leaves in topological order; the others by the mean place of those below them, so that most
  // lines are short.
  void Place() {
    std::vector<std::vector<uint32_t>> tiers(levels_.top + 1);
    for (const routing::Destination& destination : routing::TopologicalOrder(graph_, levels_))
      if (destination.port == 0) tiers[levels_.rank[destination.at]].push_back(destination.at);
    size_t widest = 1;
    for (const auto& tier : tiers) widest = std::max(widest, tier.size());
    width_ = std::clamp(2 * kMargin + kSwitchPitch * static_cast<double>(widest), kLeastWidth,
                        kMostWidth);
    const double tier_height = std::max(kLeastTierHeight, width_ / 10);
    height_ = tier_height * static_cast<double>(tiers.size() - 1) + 4.5 * kMargin;
    x_.resize(graph_.size());
    y_.resize(graph_.size());
    pitch_.resize(graph_.size());
    for (uint32_t rank = 0; rank < tiers.size(); ++rank) {
      std::vector<uint32_t>& tier = tiers[rank];
      if (rank > 0) SortByChildren(rank, tier);
      const double pitch = (width_ - 2 * kMargin) / static_cast<double>(tier.size());
      for (size_t i = 0; i < tier.size(); ++i) {
        x_[tier[i]] = kMargin + pitch * (static_cast<double>(i) + 0.5);
        y_[tier[i]] = height_ - 2.6 * kMargin - tier_height * rank;
        pitch_[tier[i]] = pitch;
      }
    }
  }

  void SortByChildren(uint32_t rank, std::vector<uint32_t>& tier) const {
    std::vector<std::pair<double, uint32_t>> keys;
    for (uint32_t s : tier) {
      double sum = 0, count = 0;
      for (uint32_t i = 0; i < graph_.degree(s); ++i)
        if (const uint32_t head = graph_.neighbor(s, i).head; levels_.rank[head] < rank)
          sum += x_[head], ++count;
      keys.emplace_back(count > 0 ? sum / count : width_, s);
    }
    // Equal but for rounding: by number.
    for (auto& [key, s] : keys) key = std::round(key);
    std::sort(keys.begin(), keys.end());
    for (size_t i = 0; i < keys.size(); ++i) tier[i] = keys[i].second;
  }

  uint32_t LoadOf(const Neighbor& neighbor) const {
    const auto& load = report_.quality.all_to_all.load;
    const auto first = load.begin() + neighbor.first_cable;
    return *std::max_element(first, first + neighbor.cable_count);
  }

  std::vector<Line> Lines() const {
    std::vector<Line> lines;
    for (uint32_t s = 0; s < graph_.size(); ++s)
      for (uint32_t i = 0; i < graph_.degree(s); ++i) {
        const Neighbor& there = graph_.neighbor(s, i);
        if (there.head < s) continue;
        uint32_t back = 0;
        while (graph_.neighbor(there.head, back).head != s) ++back;
        const uint32_t one = LoadOf(there), other = LoadOf(graph_.neighbor(there.head, back));
        lines.push_back(one >= other ? Line{s, there.head, there.cable_count, one}
                                     : Line{there.head, s, there.cable_count, other});
      }
    std::stable_sort(lines.begin(), lines.end(),
                     [](const Line& a, const Line& b) { return a.load < b.load; });
    return lines;
  }

  std::string NameOf(uint32_t s) const {
    return Escape(fabric::DisplayName(*fabric_.snapshot->node(graph_.node[s])));
  }

  void AddLines(std::string& text) const {
    const std::vector<Line> lines = Lines();
    const double mean = report_.quality.all_to_all.mean;
    // Many lines must not become one blot.
    const double opacity = std::clamp(600.0 / static_cast<double>(lines.size() + 1), 0.25, 0.9);
    for (const Line& line : lines) {
      const bool hot = line.load > 1.5 * mean;
      const double ax = x_[line.from], ay = y_[line.from], bx = x_[line.to], by = y_[line.to];
      // Within a tier: a bow, or it would run through the switches between.
      const double bend = ay == by ? 30 + std::abs(ax - bx) / 12 : 0;
      text += fmt::format(
          "<path d=\"M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}\" fill=\"none\" stroke=\"{}\" "
          "stroke-width=\"{:.1f}\" opacity=\"{:.2f}\"><title>{} to {}: {} cable{}, load {} ({:.2f} "
          "of the mean)</title></path>\n",
          ax, ay, (ax + bx) / 2, (ay + by) / 2 - bend, bx, by, Colour(line.load, mean),
          0.6 + 0.5 * std::min(line.cables, 6u), hot ? 0.95 : opacity, NameOf(line.from),
          NameOf(line.to), line.cables, line.cables == 1 ? "" : "s", line.load,
          mean > 0 ? line.load / mean : 0);
    }
  }

  void AddSwitches(std::string& text) const {
    for (uint32_t s = 0; s < graph_.size(); ++s) {
      const double side = std::clamp(0.7 * pitch_[s], 2.0, 18.0);
      text += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"{:.1f}\" "
          "fill=\"{}\"><title>{}: {} host ports, {} neighbours</title></rect>\n",
          x_[s] - side / 2, y_[s] - side / 2, side, side, side / 6,
          graph_.hosts[s] > 0 ? "#222222" : "#777777", NameOf(s), graph_.hosts[s],
          graph_.degree(s));
      if (graph_.hosts[s] > 0 && pitch_[s] >= 12)
        text += fmt::format(
            "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" font-size=\"10\">{}</text>\n",
            x_[s], y_[s] + side / 2 + 12, graph_.hosts[s]);
      // Names where each has room, slanted.
      if (pitch_[s] >= 20)
        text += fmt::format(
            "<text font-size=\"10\" transform=\"translate({:.1f} {:.1f}) rotate(40)\">{}</text>\n",
            x_[s] - 3, y_[s] + side / 2 + 24, NameOf(s));
    }
  }

  void AddLegend(std::string& text) const {
    const double mean = report_.quality.all_to_all.mean;
    double x = kMargin;
    for (double ratio : {0.0, 0.5, 1.0, 1.5, 2.0}) {
      text += fmt::format(
          "<rect x=\"{:.0f}\" y=\"40\" width=\"26\" height=\"12\" fill=\"{}\"/><text x=\"{:.0f}\" "
          "y=\"51\" font-size=\"12\">{:.1f}{}</text>\n",
          x, Colour(ratio * mean, mean), x + 32, ratio, ratio == 2.0 ? " of the mean or more" : "");
      x += 76;
    }
    text += fmt::format(
        "<text x=\"{:.0f}\" y=\"51\" font-size=\"12\">dark: with hosts (their number "
        "below)</text>\n",
        x + 130);
  }

  const Fabric& fabric_;
  const EngineReport& report_;
  const SwitchGraph& graph_;
  const routing::Levels levels_;
  double width_ = 0, height_ = 0;
  std::vector<double> x_, y_;  // [switch] Middle.
  std::vector<double> pitch_;  // [switch] Room that its tier gives each.
};

// Counts of links in equal ranges of load.
struct Histogram {
  static constexpr size_t kBars = 60;
  std::vector<uint32_t> links = std::vector<uint32_t>(kBars);
  double end = 1;  // Of the last range.
  uint32_t most = 1;
};

Histogram MakeHistogram(const routing::AllToAll& all) {
  Histogram histogram;
  histogram.end = std::max({1.0, 1.02 * all.max, 1.02 * all.lower_bound});
  for (const routing::LoadCount& count : all.distribution) {
    const auto bar = static_cast<size_t>(count.load / histogram.end * Histogram::kBars);
    uint32_t& links = histogram.links[std::min(bar, Histogram::kBars - 1)];
    links += count.links;
    histogram.most = std::max(histogram.most, links);
  }
  return histogram;
}

}  // namespace

std::string DrawFabric(const Fabric& fabric, const EngineReport& report) {
  const std::optional<SwitchGraph> graph = LargestPiece(fabric);
  if (!graph) return Header(kLeastWidth, 2 * kMargin, "no switch") + "</svg>\n";
  return Drawing(fabric, report, *graph).Text();
}

std::string DrawLoad(const EngineReport& report) {
  constexpr double kWidth = 900, kHeight = 420, kBase = kHeight - kMargin;
  constexpr double kPlotWidth = kWidth - 2 * kMargin, kPlotHeight = kHeight - 2.6 * kMargin;
  const routing::AllToAll& all = report.quality.all_to_all;
  const Histogram histogram = MakeHistogram(all);
  std::string text = Header(kWidth, kHeight,
                            fmt::format("{}: links by all-to-all load ({} links, at most {})",
                                        report.engine, report.quality.links, all.max));
  const double step = kPlotWidth / Histogram::kBars;
  for (size_t bar = 0; bar < Histogram::kBars; ++bar) {
    if (histogram.links[bar] == 0) continue;
    const double from = histogram.end * static_cast<double>(bar) / Histogram::kBars;
    const double to = histogram.end * static_cast<double>(bar + 1) / Histogram::kBars;
    const double high = std::max(1.5, kPlotHeight * histogram.links[bar] / histogram.most);
    text += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
        "fill=\"{}\"><title>load {:.0f} to {:.0f}: {} links</title></rect>\n",
        kMargin + step * static_cast<double>(bar), kBase - high, step - 1, high,
        Colour((from + to) / 2, all.mean), from, to, histogram.links[bar]);
  }
  const auto mark = [&](double load, std::string_view name, double y) {
    const double x = kMargin + kPlotWidth * load / histogram.end;
    text += fmt::format(
        "<path d=\"M{0:.1f} {1:.1f}V{2:.1f}\" stroke=\"black\" stroke-dasharray=\"4 3\"/><text "
        "x=\"{3:.1f}\" y=\"{4:.1f}\" text-anchor=\"end\" font-size=\"12\">{5} {6:.1f}</text>\n",
        x, y - 10, kBase, x - 5, y, name, load);
  };
  mark(all.mean, "mean", 56);
  if (all.lower_bound > 0) mark(all.lower_bound, "no tables below", 74);
  text += fmt::format(
      "<path d=\"M{0:.0f} {1:.1f}H{2:.0f}\" stroke=\"black\"/><text x=\"{0:.0f}\" "
      "y=\"{3:.1f}\">0</text><text x=\"{2:.0f}\" y=\"{3:.1f}\" text-anchor=\"end\">{4:.0f} host "
      "pairs</text><text x=\"{5:.0f}\" y=\"{6:.1f}\" text-anchor=\"end\">{7}</text>\n",
      kMargin, kBase, kWidth - kMargin, kBase + 18, histogram.end, kMargin - 6,
      kBase - kPlotHeight + 12, histogram.most);
  return text + "</svg>\n";
}

}  // namespace fabricd::plan
