// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/traffic_jobs.h"

#include <algorithm>
#include <map>
#include <utility>

#include "common/status.h"
#include "sim/device/link_rate.h"
#include "sim/fabric/table_trace.h"

namespace fabricd::sim {
namespace {

constexpr size_t kLongestJobName = 64;

// The ports of each host that a job can use: with a cable, by adapter.
std::vector<PortRef> PortsOf(const SimNodes& nodes, const std::vector<NodeIndex>& adapters) {
  std::vector<PortRef> ports;
  for (NodeIndex node : adapters) {
    for (uint8_t port = 1; port <= nodes.Device(node).last_port().value(); ++port) {
      if (!nodes.Port({node, PortNum(port)}).cable.IsNone()) ports.push_back({node, PortNum(port)});
    }
  }
  return ports;
}

absl::Status CheckJob(const TrafficJob& job) {
  if (job.name.empty() || job.name.size() > kLongestJobName) {
    return InvalidArgument("a job's name has 1 to {} characters", kLongestJobName);
  }
  if (!(job.load > 0 && job.load <= 1)) {
    return InvalidArgument("a load is above 0 and at most 1, not {}", job.load);
  }
  if (job.hosts.size() < 2) return InvalidArgument("a job needs two hosts");
  std::vector<std::string> hosts = job.hosts;
  std::sort(hosts.begin(), hosts.end());
  const auto twice = std::adjacent_find(hosts.begin(), hosts.end());
  if (twice != hosts.end()) return InvalidArgument("{} is named twice", *twice);
  return absl::OkStatus();
}

}  // namespace

absl::Status TrafficJobs::Start(Instant now, TrafficJob wanted) {
  FABRICD_RETURN_IF_ERROR(CheckJob(wanted));
  const auto at = std::lower_bound(
      jobs_.begin(), jobs_.end(), wanted.name,
      [](const Job& job, const std::string& name) { return job.report.job.name < name; });
  if (at != jobs_.end() && at->report.job.name == wanted.name) {
    return MakeStatus(absl::StatusCode::kAlreadyExists, "a job {} is running", wanted.name);
  }
  const std::map<std::string, std::vector<NodeIndex>> hosts = nodes_.Hosts();
  std::vector<std::vector<PortRef>> rails;  // By rail, the ports of all ranks.
  for (const std::string& name : wanted.hosts) {
    const auto found = hosts.find(name);
    if (found == hosts.end()) return NotFound("no host {} in the simulated fabric", name);
    const std::vector<PortRef> ports = PortsOf(nodes_, found->second);
    if (rails.size() < ports.size()) rails.resize(ports.size());
    for (size_t rail = 0; rail < ports.size(); ++rail) {
      if (!wanted.rail || *wanted.rail == rail) rails[rail].push_back(ports[rail]);
    }
  }
  size_t count = 0;
  for (const Job& job : jobs_) count += job.flows.size();
  for (const auto& ports : rails) count += FlowCount(wanted.pattern, ports.size());
  if (count > kMostFlows) {
    return InvalidArgument("{} flows in all jobs, at most {}", count, kMostFlows);
  }
  Job job;
  for (const std::vector<PortRef>& ports : rails) {
    for (const auto& [from, to] : FlowsOf(wanted.pattern, ports.size())) {
      job.flows.push_back({ports[from], ports[to]});
    }
  }
  job.report.job = std::move(wanted);
  job.report.flows = job.flows.size();
  jobs_.insert(at, std::move(job));
  Route(now);
  return absl::OkStatus();
}

absl::Status TrafficJobs::Stop(Instant now, const std::string& name) {
  const auto found = std::find_if(jobs_.begin(), jobs_.end(),
                                  [&](const Job& job) { return job.report.job.name == name; });
  if (found == jobs_.end()) return NotFound("no job {} is running", name);
  jobs_.erase(found);
  Route(now);
  return absl::OkStatus();
}

std::vector<TrafficReport> TrafficJobs::List() const {
  std::vector<TrafficReport> reports;
  for (const Job& job : jobs_) reports.push_back(job.report);
  return reports;
}

bool TrafficJobs::Trace(const Flow& flow, TrafficFlow& traced) const {
  const Lid lid = nodes_.Port(flow.to).info.lid;
  if (!lid) return false;
  if (TraceData(nodes_, flow.from, lid, std::nullopt, &traced.path) != flow.to) return false;
  for (PortRef egress : traced.path) {
    traced.peers.push_back(nodes_.Port(egress).cable);
    traced.capacities.push_back(ActiveGigabits(nodes_.Port(egress).info));
  }
  return !traced.path.empty();
}

void TrafficJobs::SetReceiverShare(Instant now, PortRef port, double share) {
  if (share < 1)
    receiver_shares_[port] = share;
  else
    receiver_shares_.erase(port);
  Route(now);
}

void TrafficJobs::Watch(Instant now, PortRef ingress) {
  if (watched_.try_emplace(ingress).second && !jobs_.empty()) Route(now);
}

std::map<PortRef, double> TrafficJobs::ReceiverShares() const {
  std::map<PortRef, double> shares = receiver_shares_;
  for (const Job& job : jobs_) {
    if (job.report.job.pattern != TrafficPattern::kIncast) continue;
    for (const Flow& flow : job.flows) {
      double& share = shares.try_emplace(flow.to, kIncastShare).first->second;
      share = std::min(share, kIncastShare);
    }
  }
  return shares;
}

void TrafficJobs::NotePassing(const std::vector<TrafficFlow>& traced, const TrafficLoads& loads) {
  for (auto& [port, passing] : watched_) passing.clear();
  if (watched_.empty()) return;
  for (size_t i = 0; i < traced.size(); ++i) {
    const std::vector<PortRef>& peers = traced[i].peers;
    for (size_t hop = 0; hop < peers.size(); ++hop) {
      const auto found = watched_.find(peers[hop]);
      if (found == watched_.end()) continue;
      found->second.push_back(
          {loads.gigabits[i], {peers.begin() + static_cast<ptrdiff_t>(hop) + 1, peers.end()}});
    }
  }
}

void TrafficJobs::Route(Instant now) {
  routed_revision_ = nodes_.revision();
  std::vector<TrafficFlow> traced;
  std::vector<size_t> job_of;  // By index in `traced`.
  uint32_t next_limit = 0;
  const std::map<PortRef, double> shares = ReceiverShares();
  for (size_t i = 0; i < jobs_.size(); ++i) {
    TrafficReport& report = jobs_[i].report;
    report.unrouted = 0;
    report.gigabits = report.slowest = 0;
    std::map<PortRef, uint32_t> limits;
    for (const Flow& flow : jobs_[i].flows) {
      TrafficFlow one;
      if (!Trace(flow, one)) {
        ++report.unrouted;
        continue;
      }
      const auto [limit, inserted] = limits.try_emplace(flow.from, next_limit);
      if (inserted) ++next_limit;
      one.limit = limit->second;
      one.limit_gigabits = report.job.load * one.capacities.front();
      if (const auto share = shares.find(flow.to); share != shares.end()) {
        one.receiver_gigabits = share->second * one.capacities.back();
      }
      traced.push_back(std::move(one));
      job_of.push_back(i);
    }
  }
  const TrafficLoads loads = LoadsOf(traced);
  for (size_t i = 0; i < traced.size(); ++i) {
    TrafficReport& report = jobs_[job_of[i]].report;
    const bool first = report.gigabits == 0 && report.slowest == 0;
    report.slowest = first ? loads.gigabits[i] : std::min(report.slowest, loads.gigabits[i]);
    report.gigabits += loads.gigabits[i];
  }
  NotePassing(traced, loads);
  SetLoads(now, loads);
}

void TrafficJobs::SetLoads(Instant now, const TrafficLoads& loads) {
  const auto set = [&](PortRef port, const PortLoad& load) {
    nodes_.Performance(port.node).SetTraffic(now, nodes_.Device(port.node), port.port, load);
  };
  std::set<PortRef> loaded;
  for (const auto& [port, load] : loads.ports) {
    loaded.insert(port);
    loaded_.erase(port);
    set(port, load);
  }
  for (PortRef port : loaded_) set(port, PortLoad());
  loaded_ = std::move(loaded);
}

}  // namespace fabricd::sim
