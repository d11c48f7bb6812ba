// SPDX-License-Identifier: Apache-2.0
#include "query/job_view.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include <fmt/format.h>

namespace fabricd::query {
namespace {

using telemetry::Freshness;

class JobPorts {
 public:
  explicit JobPorts(const ReadModel& model) : model_(model) {}

  std::vector<JobPort> Collect(const std::vector<const fabric::Host*>& hosts) {
    std::set<NodeIndex> switches;
    std::vector<PortRef> ends;
    for (const fabric::Host* host : hosts) {
      for (const fabric::HostPort& each : host->ports) {
        Add(each.port, JobPlace::kHost);
        const fabric::Port* port = model_.snapshot().port(each.port);
        if (port == nullptr || port->peer.IsNone()) continue;
        Add(port->peer, JobPlace::kEdge);
        ends.push_back(each.port);
        if (model_.snapshot().node(port->peer.node)->IsSwitch()) switches.insert(port->peer.node);
      }
    }
    if (model_.view->plan != nullptr) {
      seen_.resize(model_.snapshot().node_index_end());
      for (const PortRef end : ends) AddPathsTo(model_.LidsOf(end).base, switches);
    }
    std::vector<JobPort> ports;
    for (const auto& [port, place] : places_) ports.push_back({port, place});
    return ports;
  }

 private:
  void Add(PortRef port, JobPlace place) { places_.emplace(port, place); }

  // The paths to one destination merge: a switch that was passed is not followed again.
  void AddPathsTo(Lid lid, const std::set<NodeIndex>& switches) {
    if (!lid) return;
    ++destination_;
    for (const NodeIndex from : switches) {
      NodeIndex at = from;
      while (seen_[at.value()] != destination_) {
        seen_[at.value()] = destination_;
        const uint8_t egress = model_.view->plan->HasRow(at)
                                   ? model_.view->plan->EgressPort(at, lid)
                                   : routing::kNoRoute;
        if (egress == routing::kNoRoute || egress == 0) break;
        const PortRef out{at, PortNum(egress)};
        const fabric::Port* port = model_.snapshot().port(out);
        if (port == nullptr || port->peer.IsNone()) break;
        if (!model_.snapshot().node(port->peer.node)->IsSwitch()) break;
        Add(out, JobPlace::kPath);
        Add(port->peer, JobPlace::kPath);
        at = port->peer.node;
      }
    }
  }

  const ReadModel& model_;
  std::map<PortRef, JobPlace> places_;
  std::vector<uint32_t> seen_;  // By NodeIndex: the last destination whose paths passed it.
  uint32_t destination_ = 0;
};

// Share of the rate that both ends support and the link does not run at.
Measure MissingRate(const Telemetry& telemetry, PortRef ref) {
  const fabric::FabricSnapshot& snapshot = telemetry.model.snapshot();
  const fabric::Port& port = *snapshot.port(ref);
  Measure measure;
  if (port.peer.IsNone()) return measure;
  const LinkQuality quality = QualityOf(snapshot, ref, port.peer);
  const double full = wire::RateOf(quality.speed_supported, quality.width_supported).nominal;
  const double now = port.Rate().nominal;
  if (full <= 0 || now <= 0) return measure;
  measure.freshness = Freshness::kFresh;
  measure.value = std::max(0.0, 1 - now / full);
  measure.source = "PortInfo";
  return measure;
}

std::string ErrorText(const PortErrorSums& sums) {
  std::string text;
  for (const ErrorSum& error : sums.errors) {
    text +=
        fmt::format("{}{}={}", text.empty() ? "" : ", ", InfoOf(error.counter).key, error.count);
  }
  return text;
}

std::string BerText(double value) { return fmt::format("{:.1e} symbol errors a bit", value); }

class JobMeasures {
 public:
  JobMeasures(const Telemetry& telemetry, Millis since) : telemetry_(telemetry), since_(since) {
    for (const char* name : {"utilisation", "wait", "symbol_ber", "errors", "drop_ratio", "link"}) {
      worst_.push_back({});
      worst_.back().measure = name;
    }
  }

  void Enter(const JobPort& port) {
    Take(5, port, MissingRate(telemetry_, port.port), [](double value) {
      return fmt::format("runs {:.0f} % below the rate that both ends support", value * 100);
    });
    const telemetry::PortRecord* record = telemetry_.Find(port.port);
    if (record == nullptr) return;
    const PortMeasures measures = MeasuresOf(telemetry_.view, *record);
    Take(0, port, measures.utilisation, [](double value) {
      return fmt::format("carries {:.1f} % of the link's rate", value * 100);
    });
    Take(1, port, measures.wait, [](double value) {
      return fmt::format("had data and no credits in {:.2f} % of the time", value * 100);
    });
    // A bound says that nothing was seen.
    if (measures.symbol_ber.bound) {
      ++worst_[2].ports_measured;
    } else {
      Take(2, port, measures.symbol_ber, BerText);
    }
    TakeErrors(port, *record);
    if (measures.drop_ratio.bound) {
      ++worst_[4].ports_measured;
    } else {
      Take(4, port, measures.drop_ratio, [](double value) {
        return fmt::format("discards {:.1e} of the packets that it receives", value);
      });
    }
  }
  std::vector<WorstOfJob> Worst() {
    for (WorstOfJob& worst : worst_) {
      if (!worst.port.IsNone()) continue;
      worst.text = worst.ports_measured == 0 ? "not known of any port" : "nothing seen";
    }
    return std::move(worst_);
  }

 private:
  void Take(size_t place, const JobPort& port, const Measure& measure,
            const std::function<std::string(double)>& text) {
    if (!measure.value) return;
    WorstOfJob& worst = worst_[place];
    ++worst.ports_measured;
    if (*measure.value <= worst.value.value.value_or(0)) return;
    worst.port = port.port;
    worst.place = port.place;
    worst.value = measure;
    worst.text = text(*measure.value);
  }

  void TakeErrors(const JobPort& port, const telemetry::PortRecord& record) {
    if (telemetry_.view.FreshnessOf(record) != Freshness::kFresh) return;
    // Ports come by node.
    if (!of_known_ || of_ != port.port.node) {
      sums_ = ErrorsOf(telemetry_, port.port.node, since_, ErrorsThatAddUp());
      of_ = port.port.node;
      of_known_ = true;
    }
    const size_t i = port.port.port.value();
    if (i >= sums_.size() || sums_[i].covered_since == 0) return;
    Measure measure;
    measure.freshness = Freshness::kFresh;
    measure.value = static_cast<double>(SumOf(sums_[i]));
    measure.window = AgeOf(telemetry_.view, sums_[i].covered_since);
    measure.age = AgeOf(telemetry_.view, record.ReadAt(telemetry::Counter::kSymbolErrors));
    if (!sums_[i].errors.empty())
      measure.source = SourceName(record.SourceOf(sums_[i].errors.front().counter));
    Take(3, port, measure, [&](double) { return ErrorText(sums_[i]); });
  }

  const Telemetry& telemetry_;
  const Millis since_;
  std::vector<WorstOfJob> worst_;
  NodeIndex of_{};
  bool of_known_ = false;
  std::vector<PortErrorSums> sums_;
};

}  // namespace

std::string_view JobPlaceName(JobPlace place) {
  switch (place) {
    case JobPlace::kHost: return "HOST";
    case JobPlace::kEdge: return "EDGE";
    case JobPlace::kPath: return "PATH";
  }
  return "UNKNOWN";
}

std::vector<JobPort> PortsOfJob(const ReadModel& model,
                                const std::vector<const fabric::Host*>& hosts) {
  return JobPorts(model).Collect(hosts);
}

JobView ViewJob(const Telemetry& telemetry, const std::vector<const fabric::Host*>& hosts,
                Millis errors_since) {
  JobView view;
  JobMeasures measures(telemetry, errors_since);
  for (const JobPort& port : PortsOfJob(telemetry.model, hosts)) {
    if (!telemetry.IsRead(port.port)) {
      if (port.place == JobPlace::kHost) view.ports_down.push_back(port.port);
      continue;
    }
    ++view.ports;
    if (telemetry.FreshnessOf(port.port) != Freshness::kFresh) ++view.ports_not_fresh;
    measures.Enter(port);
  }
  view.worst = measures.Worst();
  return view;
}

}  // namespace fabricd::query
