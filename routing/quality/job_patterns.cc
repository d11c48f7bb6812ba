// SPDX-License-Identifier: Apache-2.0
#include "routing/quality/job_patterns.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "routing/quality/link_load.h"
#include "routing/quality/path_walker.h"
#include "routing/quality/rail_ends.h"

namespace fabricd::routing {
namespace {

class Job {
 public:
  Job(const SwitchGraph& graph, const RoutingPlan& plan, const RailedHosts& hosts,
      const QualityOptions& options, Parallel& parallel)
      : walker_(graph, plan),
        ends_(graph, hosts),
        ranks_(hosts.ports.size()),
        options_(options),
        parallel_(parallel) {
    std::iota(ranks_.begin(), ranks_.end(), 0);
  }

  void MeasureOn(std::optional<uint32_t> rail, std::vector<JobPattern>& out) const {
    out.push_back(Measure("ring", rail, {0}, [&](uint32_t, Flows& flows) {
      for (uint32_t r = rail.value_or(0); r < (rail ? *rail + 1 : ends_.rails()); ++r)
        ends_.AddRing(ranks_, r, flows);
    }));
    std::vector<uint32_t> bits;
    for (uint32_t bit = 1; bit < ranks_.size(); bit *= 2) bits.push_back(bit);
    out.push_back(Measure("recursive-doubling", rail, bits, [&](uint32_t bit, Flows& flows) {
      ends_.AddDoubling(ranks_, bit, rail, flows);
    }));
    const auto last = static_cast<uint32_t>(ranks_.size() - 1);
    const std::vector<uint32_t> shifts = SampleNumbers(
        last, Affordable(), MakeStream(options_.seed, Stream::kHostSets, ranks_.size()));
    out.push_back(Measure("all-to-all", rail, shifts, [&](uint32_t shift, Flows& flows) {
      ends_.AddShift(ranks_, shift, rail, flows);
    }));
    out.back().congestion.all = shifts.size() == last;
  }

  std::vector<PortRef> LeftOut(const RailedHosts& hosts) const {
    std::vector<PortRef> ports;
    for (uint32_t host = 0; host < hosts.ports.size(); ++host)
      for (uint32_t rail = 0; rail < hosts.rails; ++rail)
        if (!hosts.ports[host][rail].IsNone() && !ends_.Has(host, rail))
          ports.push_back(hosts.ports[host][rail]);
    std::sort(ports.begin(), ports.end());
    return ports;
  }

 private:
  uint64_t Affordable() const {
    const uint64_t flows_of_one = uint64_t{ranks_.size()} * std::max(ends_.rails(), 1u);
    return std::max<uint64_t>(options_.most_flows / flows_of_one, options_.least_patterns);
  }

  JobPattern Measure(std::string name, std::optional<uint32_t> rail,
                     const std::vector<uint32_t>& numbers,
                     const std::function<void(uint32_t, Flows&)>& add) const {
    const auto make = [&](size_t i) {
      Flows flows;
      add(numbers[i], flows);
      return flows;
    };
    JobPattern pattern{std::move(name), rail, {}, PortRef()};
    pattern.congestion = MeasureFamily(walker_, numbers.size(), make, parallel_);
    if (pattern.congestion.max == 0) return pattern;
    const std::vector<uint32_t> flows = CountFlows(walker_, make(pattern.congestion.worst));
    const auto most = std::max_element(flows.begin(), flows.end());
    pattern.worst_link = SendingEnd(walker_.graph(), static_cast<size_t>(most - flows.begin()));
    pattern.congestion.worst = numbers[pattern.congestion.worst];
    return pattern;
  }

  const PathWalker walker_;
  const RailEnds ends_;
  HostSet ranks_;
  const QualityOptions& options_;
  Parallel& parallel_;
};

}  // namespace

JobPatterns MeasureJob(const SwitchGraph& graph, const RoutingPlan& plan, const RailedHosts& hosts,
                       const QualityOptions& options, Parallel& parallel) {
  JobPatterns result;
  const Job job(graph, plan, hosts, options, parallel);
  result.left_out = job.LeftOut(hosts);
  if (hosts.ports.size() < 2) return result;
  job.MeasureOn(std::nullopt, result.patterns);
  for (uint32_t rail = 0; rail < hosts.rails && hosts.rails > 1; ++rail)
    job.MeasureOn(rail, result.patterns);
  return result;
}

}  // namespace fabricd::routing
