// SPDX-License-Identifier: Apache-2.0
#include "query/ranking.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace fabricd::query {
namespace {

using telemetry::Freshness;

// The more of the two says less.
int Oldness(Freshness freshness) {
  switch (freshness) {
    case Freshness::kFresh: return 0;
    case Freshness::kStale: return 1;
    case Freshness::kUnknown: return 2;
    case Freshness::kNever: return 3;
  }
  return 3;
}

void AddTo(Measure& sum, const Measure& part) {
  if (!part.value) return;
  sum.value = sum.value.value_or(0) + *part.value;
  sum.freshness = Freshness::kFresh;
  sum.window = std::max(sum.window, part.window);
  sum.age = std::max(sum.age, part.age);
  if (sum.source.empty()) sum.source = part.source;
}

// What was seen is above what was not.
std::pair<bool, double> WorthOf(const Measure& measure) {
  return {!measure.bound, measure.value.value_or(-1)};
}

void TakeWorse(Measure& worst, const Measure& other) {
  if (!other.value) return;
  if (!worst.value || WorthOf(worst) < WorthOf(other)) worst = other;
}

class Ranker {
 public:
  Ranker(const Telemetry& telemetry, RankOrder order, Millis errors_since,
         const std::function<bool(PortRef)>& passes)
      : telemetry_(telemetry), order_(order), since_(errors_since), passes_(passes) {}

  Ranking Take(RankedKind kind, size_t limit) {
    switch (kind) {
      case RankedKind::kPort: AddPorts(); break;
      case RankedKind::kLink: AddLinks(); break;
      case RankedKind::kHost: AddHosts(); break;
      case RankedKind::kSwitch: AddSwitches(); break;
    }
    // Stable: equal ones stay in the order of names.
    const auto above = [this](const RankedEntry& a, const RankedEntry& b) {
      return KeyOf(a) > KeyOf(b);
    };
    std::stable_sort(entries_.begin(), entries_.end(), above);
    Ranking ranking;
    ranking.total = entries_.size();
    if (entries_.size() > limit) entries_.resize(limit);
    ranking.entries = std::move(entries_);
    return ranking;
  }

 private:
  const ReadModel& model() const { return telemetry_.model; }
  std::string NameOf(PortRef port) const { return model().port_name(port); }

  std::pair<bool, double> KeyOf(const RankedEntry& entry) const {
    const PortMeasures& m = entry.measures;
    switch (order_) {
      case RankOrder::kXmit: return WorthOf(m.xmit_bytes);
      case RankOrder::kRcv: return WorthOf(m.rcv_bytes);
      case RankOrder::kUtilisation: return WorthOf(m.utilisation);
      case RankOrder::kWait: return WorthOf(m.wait);
      case RankOrder::kErrors:
        return {true, entry.ports_fresh == 0 ? -1 : static_cast<double>(entry.errors)};
      case RankOrder::kBer:
        // Without a value: behind the bounds.
        return m.symbol_ber.value ? WorthOf(m.symbol_ber) : std::pair(false, -1.0);
    }
    return {};
  }

  // Errors of one device at a time.
  uint64_t ErrorsAt(PortRef port) {
    if (!of_known_ || of_ != port.node) {
      sums_ = ErrorsOf(telemetry_, port.node, since_, ErrorsThatAddUp());
      of_ = port.node;
      of_known_ = true;
    }
    const size_t i = port.port.value();
    return i < sums_.size() ? SumOf(sums_[i]) : 0;
  }

  // Adds what is known of a port. `together`: traffic adds up.
  void Enter(RankedEntry& entry, PortRef port, bool together) {
    if (!telemetry_.IsRead(port) || !passes_(port)) return;
    ++entry.ports;
    const Freshness freshness = telemetry_.FreshnessOf(port);
    if (Oldness(freshness) > Oldness(entry.freshness)) entry.freshness = freshness;
    const telemetry::PortRecord* record = telemetry_.Find(port);
    PortMeasures measures = record ? MeasuresOf(telemetry_.view, *record) : PortMeasures();
    if (freshness == Freshness::kFresh) {
      ++entry.ports_fresh;
      entry.errors =
          together ? entry.errors + ErrorsAt(port) : std::max(entry.errors, ErrorsAt(port));
    }
    if (entry.ports == 1) {
      entry.port = port;
      entry.measures = measures;
      return;
    }
    if (WorthOf(entry.measures.utilisation) < WorthOf(measures.utilisation)) entry.port = port;
    entry.measures.ForEach([&](Measure PortMeasures::*each) {
      const bool is_traffic =
          each == &PortMeasures::xmit_bytes || each == &PortMeasures::rcv_bytes ||
          each == &PortMeasures::xmit_packets || each == &PortMeasures::rcv_packets;
      if (together && is_traffic) {
        AddTo(entry.measures.*each, measures.*each);
      } else {
        TakeWorse(entry.measures.*each, measures.*each);
      }
    });
  }

  void Keep(RankedEntry entry) {
    if (entry.ports > 0) entries_.push_back(std::move(entry));
  }

  void AddPorts() {
    for (const NodeIndex index : model().names->nodes) {
      const fabric::Node& node = *model().snapshot().node(index);
      for (const auto& [port, state] : node.LinkPorts()) {
        RankedEntry entry;
        Enter(entry, port, false);
        if (entry.ports > 0) entry.name = NameOf(port);
        Keep(std::move(entry));
      }
    }
  }
  void AddLinks() {
    model().ForEachLink([&](const LinkEnds& link) {
      RankedEntry entry;
      Enter(entry, link.a, false);
      Enter(entry, link.b, false);
      entry.name = NameOf(link.a);
      entry.port = link.a;
      Keep(std::move(entry));
    });
  }
  void AddHosts() {
    for (const fabric::Host& host : model().hosts->hosts()) {
      RankedEntry entry;
      entry.name = host.name;
      for (const fabric::HostPort& port : host.ports) Enter(entry, port.port, true);
      Keep(std::move(entry));
    }
  }
  void AddSwitches() {
    for (const NodeIndex index : model().names->nodes) {
      const fabric::Node& node = *model().snapshot().node(index);
      if (!node.IsSwitch()) continue;
      RankedEntry entry;
      entry.name = model().name(index);
      for (const auto& [ref, port] : node.LinkPorts()) Enter(entry, ref, true);
      Keep(std::move(entry));
    }
  }

  const Telemetry& telemetry_;
  const RankOrder order_;
  const Millis since_;
  const std::function<bool(PortRef)>& passes_;
  NodeIndex of_{};
  bool of_known_ = false;
  std::vector<PortErrorSums> sums_;
  std::vector<RankedEntry> entries_;
};

}  // namespace

Ranking Rank(const Telemetry& telemetry, RankedKind kind, RankOrder order, size_t limit,
             Millis errors_since, const std::function<bool(PortRef)>& passes) {
  return Ranker(telemetry, order, errors_since, passes).Take(kind, limit);
}

}  // namespace fabricd::query
