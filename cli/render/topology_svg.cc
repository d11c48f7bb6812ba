// SPDX-License-Identifier: Apache-2.0
#include "cli/render/topology_svg.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "cli/render/hostlist.h"

namespace fabricd::cli {
namespace {

constexpr double kMargin = 40, kHeader = 70;
constexpr double kLeastWidth = 980;  // Of the legend with eight rails.
constexpr double kUnitGap = 28;      // Between units of hosts.
constexpr double kTierGap = 190;     // From the top of a tier to the bottom of the next.
constexpr double kSwitchWidth = 20;  // A switch is a tall box with its name along it.
constexpr double kSwitchGap = 8;
constexpr double kLetter = 6.1;  // Of the small font.
constexpr double kHostHeight = 15;
constexpr size_t kLongestName = 22;
// From so many switches in a tier on they are drawn without names.
constexpr size_t kNamedSwitches = 260;

// Told apart on white also by those who see few colours (after Okabe and Ito), then again.
constexpr const char* kRailColors[] = {"#0072b2", "#009e73", "#cc79a7", "#56b4e9",
                                       "#8a6d00", "#7b5ea7", "#00a6a6", "#5d5d5d"};
constexpr char kGrey[] = "#b4b8bd", kOrange[] = "#ef6c00", kRed[] = "#c62828";

std::string Escape(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

std::string Short(const std::string& name) {
  if (name.size() <= kLongestName) return name;
  return name.substr(0, kLongestName - 1) + "…";
}

const char* RailColor(const pb::Node& node) {
  return node.has_rail() ? kRailColors[node.rail() % std::size(kRailColors)] : "#3d4349";
}

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
  double middle() const { return x + width / 2; }
};

class Picture {
 public:
  explicit Picture(const TopologyModel& model) : model_(model), switches_(model.switches.size()) {
    SizeUnits();
    PlaceTiers();
  }

  std::string Text() const {
    std::string text = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
        "width=\"{0:.0f}\" height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"11\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        width_, height_);
    AddHeader(&text);
    AddSwitchLines(&text);
    AddUnitLines(&text);
    for (size_t i = 0; i < switches_.size(); ++i) AddSwitch(i, &text);
    for (size_t i = 0; i < units_.size(); ++i) AddUnit(i, &text);
    AddUnlinked(&text);
    return text + "</svg>\n";
  }

 private:
  struct Unit {
    Box box;
    int columns = 1;
    double cell = 0;  // Width of a host.
  };

  const pb::Node& NodeAt(size_t i) const { return *model_.switches[i]; }

  // A unit is at least as wide as its leaves.
  void SizeUnits() {
    for (const HostUnit& unit : model_.units) {
      Unit sized;
      size_t longest = 4;
      for (const int host : unit.hosts)
        longest = std::max(longest, Short(model_.topology.hosts(host).name()).size());
      sized.cell = kLetter * static_cast<double>(longest) + 8;
      const double leaves =
          static_cast<double>(unit.leaves.size()) * (kSwitchWidth + kSwitchGap) + kSwitchGap;
      const auto hosts = static_cast<double>(unit.hosts.size());
      // About as high as wide, and whole columns.
      const double fit = std::max(std::floor((leaves - 12) / sized.cell),
                                  std::ceil(std::sqrt(hosts * kHostHeight / sized.cell / 1.4)));
      sized.columns = static_cast<int>(std::clamp(fit, 1.0, std::max(hosts, 1.0)));
      sized.box.width = std::max(leaves, sized.columns * sized.cell + 12);
      sized.cell = (sized.box.width - 12) / sized.columns;
      const double rows = std::ceil(hosts / sized.columns);
      sized.box.height = rows * kHostHeight + 30;
      units_.push_back(sized);
    }
  }

  // Units side by side, a row of switches for each tier, centred; switches of upper tiers by the
  // mean place of what is below them, so that most lines are short.
  void PlaceTiers() {
    double x = kMargin;
    double deepest = 0;
    for (Unit& unit : units_) {
      unit.box.x = x;
      x += unit.box.width + kUnitGap;
      deepest = std::max(deepest, unit.box.height);
    }
    width_ = std::max(x - kUnitGap + kMargin, kLeastWidth);
    std::vector<std::vector<int>> tiers(1);
    for (size_t i = 0; i < switches_.size(); ++i) {
      const size_t tier = NodeAt(i).tier();
      if (tiers.size() <= tier) tiers.resize(tier + 1);
      tiers[tier].push_back(static_cast<int>(i));
    }
    size_t widest = 0;
    for (const auto& tier : tiers) widest = std::max(widest, tier.size());
    named_ = widest <= kNamedSwitches;
    const double pitch = named_ ? kSwitchWidth + kSwitchGap : 9;
    width_ = std::max(width_, 2 * kMargin + pitch * static_cast<double>(widest));
    // Units in the middle of what is wider than they are.
    const double shift = units_.empty() ? 0 : (width_ - (x - kUnitGap) - kMargin) / 2;
    for (Unit& unit : units_) unit.box.x += shift;
    double bottom = kHeader;
    for (size_t tier = tiers.size(); tier-- > 0;) {
      if (tiers[tier].empty()) continue;
      const double height = HeightOf(tiers[tier]);
      for (const int each : tiers[tier]) At(each) = {0, bottom, pitch - kSwitchGap, height};
      bottom += height + kTierGap;
    }
    PlaceLeaves();
    for (size_t tier = 1; tier < tiers.size(); ++tier) PlaceRow(tiers[tier], pitch);
    PlaceRow(tiers[0], pitch);  // What no host can be reached from.
    for (Unit& unit : units_) unit.box.y = bottom - kTierGap + 110;
    height_ = (units_.empty() ? bottom : bottom - kTierGap + 110 + deepest) + kMargin +
              (model_.unlinked.empty() ? 0 : 20);
  }

  Box& At(int at) { return switches_[static_cast<size_t>(at)]; }
  const Box& At(int at) const { return switches_[static_cast<size_t>(at)]; }

  double HeightOf(const std::vector<int>& tier) const {
    if (!named_) return 24;
    size_t longest = 4;
    for (const int each : tier)
      longest = std::max(longest, Short(NodeAt(static_cast<size_t>(each)).name()).size());
    return kLetter * static_cast<double>(longest) + 14;
  }

  // Above the middle of their unit, by rail; a leaf of several units above all of them.
  void PlaceLeaves() {
    std::vector<double> sum(switches_.size()), count(switches_.size());
    for (size_t i = 0; i < units_.size(); ++i) {
      const std::vector<int>& leaves = model_.units[i].leaves;
      const double pitch = units_[i].box.width / static_cast<double>(leaves.size());
      for (size_t k = 0; k < leaves.size(); ++k) {
        sum[static_cast<size_t>(leaves[k])] +=
            units_[i].box.x + pitch * (static_cast<double>(k) + 0.5);
        count[static_cast<size_t>(leaves[k])] += 1;
      }
    }
    for (size_t i = 0; i < switches_.size(); ++i) {
      placed_.push_back(count[i] > 0);
      if (count[i] > 0) switches_[i].x = sum[i] / count[i] - switches_[i].width / 2;
    }
  }

  // The switches of a row that have no place yet by the mean of those below; then all so far apart
  // that none covers another.
  void PlaceRow(std::vector<int>& row, double pitch) {
    std::vector<double> sum(switches_.size()), count(switches_.size());
    for (const CableBundle& bundle : model_.switch_links) {
      if (!placed_[static_cast<size_t>(bundle.from)]) continue;
      sum[static_cast<size_t>(bundle.to)] += At(bundle.from).middle();
      count[static_cast<size_t>(bundle.to)] += 1;
    }
    const auto key = [&](int at) {
      const auto i = static_cast<size_t>(at);
      if (placed_[i]) return At(at).middle();
      return count[i] > 0 ? std::round(sum[i] / count[i]) : width_ / 2;
    };
    std::vector<std::pair<double, int>> order;
    for (const int each : row) order.emplace_back(key(each), each);
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    const bool spread = std::any_of(row.begin(), row.end(),
                                    [&](int each) { return !placed_[static_cast<size_t>(each)]; });
    const double room =
        (width_ - 2 * kMargin) / static_cast<double>(std::max<size_t>(row.size(), 1));
    const double step = std::clamp(room, pitch, 3 * pitch);
    double next = (width_ - step * static_cast<double>(row.size())) / 2;
    for (auto& [middle, each] : order) {
      Box& box = At(each);
      if (spread) box.x = next + (step - box.width) / 2;
      next += step;
      placed_[static_cast<size_t>(each)] = true;
    }
    if (!spread) KeepApart(order, pitch);
  }

  void KeepApart(const std::vector<std::pair<double, int>>& order, double pitch) {
    double least = kMargin;
    for (const auto& [middle, each] : order) {
      Box& box = At(each);
      box.x = std::max(box.x, least);
      least = box.x + pitch;
    }
    double most = width_ - kMargin;
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      Box& box = At(it->second);
      box.x = std::min(box.x, most - box.width);
      most = box.x - (pitch - box.width);
    }
  }

  void AddHeader(std::string* text) const {
    int cables = 0, troubled = 0;
    for (const auto* bundles : {&model_.switch_links, &model_.host_links})
      for (const CableBundle& bundle : *bundles)
        cables += bundle.cables, troubled += bundle.troubled;
    *text += fmt::format(
        "<text x=\"{0:.0f}\" y=\"28\" font-size=\"17\">{1} switches, {2} hosts, {3} cables{4}"
        "</text>\n",
        kMargin, model_.switches.size(), model_.topology.hosts_size(), cables,
        troubled > 0 ? fmt::format(", {} not as they should be", troubled) : std::string());
    double x = kMargin;
    const auto sample = [&](const char* color, const std::string& word) {
      *text += fmt::format(
          "<line x1=\"{:.0f}\" y1=\"46\" x2=\"{:.0f}\" y2=\"46\" stroke=\"{}\" "
          "stroke-width=\"4\"/><text x=\"{:.0f}\" y=\"50\">{}</text>\n",
          x, x + 22, color, x + 27, word);
      x += 40 + 6.5 * static_cast<double>(word.size());
    };
    std::set<uint32_t> rails;
    for (const pb::Node* each : model_.switches)
      if (each->has_rail()) rails.insert(each->rail());
    for (const uint32_t rail : rails)
      if (rail < std::size(kRailColors)) sample(kRailColors[rail], fmt::format("rail {}", rail));
    sample(kOrange, "some cables in trouble");
    sample(kRed, "all");
  }

  // `color`: of a bundle that is well.
  static std::string Line(double x1, double y1, double x2, double y2, const CableBundle& bundle,
                          const char* color, double opacity, const std::string& title) {
    const bool ill = bundle.troubled > 0;
    const char* shown = !ill ? color : bundle.troubled == bundle.cables ? kRed : kOrange;
    // Within a tier: a bow, or it would run through the switches between.
    const double bend = y1 == y2 ? 24 + std::abs(x1 - x2) / 10 : 0;
    return fmt::format(
        "<path d=\"M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}\" fill=\"none\" stroke=\"{}\" "
        "stroke-width=\"{:.1f}\" opacity=\"{:.2f}\"><title>{}</title></path>\n",
        x1, y1, (x1 + x2) / 2, (y1 + y2) / 2 - bend, x2, y2, shown,
        std::min(0.8 + 0.35 * bundle.cables, 4.0) + (ill ? 0.8 : 0), ill ? 1.0 : opacity,
        Escape(title));
  }

  static std::string Title(const std::string& a, const std::string& b, const CableBundle& bundle) {
    std::string title =
        fmt::format("{} – {}: {} cable{}", a, b, bundle.cables, bundle.cables == 1 ? "" : "s");
    if (bundle.troubled > 0)
      title += fmt::format(", {} in trouble ({})", bundle.troubled, bundle.trouble);
    return title;
  }

  // Those in trouble last: on top.
  static std::vector<CableBundle> WellFirst(std::vector<CableBundle> bundles) {
    std::stable_sort(bundles.begin(), bundles.end(), [](const auto& a, const auto& b) {
      return (a.troubled > 0) < (b.troubled > 0);
    });
    return bundles;
  }

  void AddSwitchLines(std::string* text) const {
    // Many lines must not become one blot.
    const double opacity =
        std::clamp(200.0 / static_cast<double>(model_.switch_links.size() + 1), 0.25, 0.9);
    for (const CableBundle& bundle : WellFirst(model_.switch_links)) {
      const Box& below = At(bundle.from);
      const Box& above = At(bundle.to);
      const pb::Node& leaf = NodeAt(static_cast<size_t>(bundle.from));
      const bool level = below.y == above.y;
      *text +=
          Line(below.middle(), below.y, above.middle(), level ? above.y : above.y + above.height,
               bundle, leaf.has_rail() ? RailColor(leaf) : kGrey, opacity,
               Title(leaf.name(), NodeAt(static_cast<size_t>(bundle.to)).name(), bundle));
    }
  }

  // From a unit to its leaves one line for all hosts; from a host one for what is wrong.
  void AddUnitLines(std::string* text) const {
    std::vector<int> unit_of(static_cast<size_t>(model_.topology.hosts_size()), -1);
    for (size_t i = 0; i < units_.size(); ++i)
      for (const int host : model_.units[i].hosts)
        unit_of[static_cast<size_t>(host)] = static_cast<int>(i);
    std::map<std::pair<int, int>, CableBundle> sums;  // By unit and leaf.
    for (const CableBundle& bundle : model_.host_links) {
      CableBundle& sum = sums[{unit_of[static_cast<size_t>(bundle.from)], bundle.to}];
      sum.cables += bundle.cables;
      sum.troubled += bundle.troubled;
      if (sum.trouble.empty()) sum.trouble = bundle.trouble;
    }
    for (const auto& [ends, sum] : sums) {
      const Unit& unit = units_[static_cast<size_t>(ends.first)];
      const Box& leaf = At(ends.second);
      const double x = std::clamp(leaf.middle(), unit.box.x + 4, unit.box.x + unit.box.width - 4);
      const pb::Node& node = NodeAt(static_cast<size_t>(ends.second));
      *text += Line(x, unit.box.y, leaf.middle(), leaf.y + leaf.height, sum,
                    node.has_rail() ? RailColor(node) : kGrey, 0.9,
                    Title(model_.units[static_cast<size_t>(ends.first)].name, node.name(), sum));
    }
  }

  void AddSwitch(size_t i, std::string* text) const {
    const pb::Node& node = NodeAt(i);
    const Box& box = switches_[i];
    const bool held = node.held_size() > 0;
    *text += fmt::format(
        "<g><title>{}: {}, tier {}{}, {} of {} ports active{}</title>"
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"3\" "
        "fill=\"{}\"{}/>",
        Escape(node.name()), node.role(), node.tier(),
        node.has_rail() ? fmt::format(", rail {}", node.rail()) : std::string(),
        node.ports_active(), node.num_ports(), held ? ", held" : "", box.x, box.y, box.width,
        box.height, RailColor(node),
        held ? fmt::format(" stroke=\"{}\" stroke-width=\"3\"", kOrange) : std::string());
    if (named_)
      *text += fmt::format(
          "<text transform=\"translate({:.1f} {:.1f}) rotate(-90)\" fill=\"white\" "
          "font-size=\"10\">{}</text>",
          box.middle() + 3.5, box.y + box.height - 7, Escape(Short(node.name())));
    *text += "</g>\n";
  }

  static const char* HostColor(const pb::Host& host) {
    if (host.ports_active() == 0) return kRed;
    if (host.held_size() > 0) return kOrange;
    if (host.ports_active() < static_cast<uint32_t>(host.ports_size())) return "#ffcc80";
    return "#e3ecf3";
  }

  void AddUnit(size_t i, std::string* text) const {
    const Unit& unit = units_[i];
    const HostUnit& hosts = model_.units[i];
    *text += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"5\" "
        "fill=\"#f7f8f9\" stroke=\"#8b9198\"/>\n"
        "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"12\" font-weight=\"bold\">{}</text>\n",
        unit.box.x, unit.box.y, unit.box.width, unit.box.height, unit.box.x + 8, unit.box.y + 16,
        Escape(Short(hosts.name)) +
            (unit.box.width > 150 ? fmt::format(", {} hosts", hosts.hosts.size()) : ""));
    for (size_t k = 0; k < hosts.hosts.size(); ++k) {
      const pb::Host& host = model_.topology.hosts(hosts.hosts[k]);
      const auto column = static_cast<double>(k % static_cast<size_t>(unit.columns));
      const auto row = static_cast<double>(k / static_cast<size_t>(unit.columns));
      const double x = unit.box.x + 6 + column * unit.cell;
      const double y = unit.box.y + 23 + row * kHostHeight;
      *text += fmt::format(
          "<g><title>{}: {} of {} ports active{}</title><rect x=\"{:.1f}\" y=\"{:.1f}\" "
          "width=\"{:.1f}\" height=\"{:.1f}\" rx=\"2\" fill=\"{}\"/><text x=\"{:.1f}\" "
          "y=\"{:.1f}\" font-size=\"10\">{}</text></g>\n",
          Escape(host.name()), host.ports_active(), host.ports_size(),
          host.held_size() > 0 ? ", held" : "", x, y, unit.cell - 3, kHostHeight - 3,
          HostColor(host), x + 3, y + 9.5, Escape(Short(host.name())));
    }
  }

  void AddUnlinked(std::string* text) const {
    if (model_.unlinked.empty()) return;
    std::vector<std::string> names;
    for (const int host : model_.unlinked) names.push_back(model_.topology.hosts(host).name());
    *text +=
        fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" fill=\"{}\">linked to no switch: {}</text>\n",
                    kMargin, height_ - 18, kRed, Escape(FormatHostlist(names)));
  }

  const TopologyModel& model_;
  std::vector<Box> switches_;
  std::vector<bool> placed_;  // [switch]
  std::vector<Unit> units_;
  double width_ = 0, height_ = 0;
  bool named_ = true;
};

}  // namespace

std::string ToSvg(const TopologyModel& model) { return Picture(model).Text(); }

}  // namespace fabricd::cli
