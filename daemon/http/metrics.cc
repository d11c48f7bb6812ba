// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/metrics.h"

#include <array>
#include <atomic>
#include <limits>
#include <map>
#include <utility>

#include <prometheus/collectable.h>
#include <prometheus/text_serializer.h>

#include "common/process_clock.h"
#include "common/utf8.h"
#include "config/config.h"
#include "daemon/base/config_keeper.h"
#include "daemon/http/port_series.h"
#include "daemon/http/telemetry_series.h"
#include "daemon/http/verdict_series.h"
#include "policy/target.h"
#include "query/read_model.h"

namespace fabricd::http {
namespace {

using fabric::Node;
using fabric::Port;
using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<std::pair<const char*, std::string>>;

class Families {
 public:
  // A series of the family that was begun last.
  void Add(double value, const Labels& labels = {}) {
    ClientMetric metric;
    for (const auto& [name, text] : labels) metric.label.push_back({name, Utf8(text)});
    if (all_.back().type == MetricType::Counter)
      metric.counter.value = value;
    else
      metric.gauge.value = value;
    all_.back().metric.push_back(std::move(metric));
  }
  void Add(ClientMetric metric) { all_.back().metric.push_back(std::move(metric)); }
  void Begin(const char* name, const char* help, MetricType type = MetricType::Gauge) {
    all_.push_back({name, help, type, {}});
  }
  std::vector<MetricFamily> Take() {
    std::erase_if(all_, [](const MetricFamily& family) { return family.metric.empty(); });
    return std::move(all_);
  }

 private:
  std::vector<MetricFamily> all_;
};

const char* TypeName(const Node& node) {
  switch (node.info.node_type) {
    case wire::NodeType::kSwitch: return "switch";
    case wire::NodeType::kRouter: return "router";
    default: return "ca";
  }
}

// Calls visit(node, port number, port) for each physical port that was read.
template <typename Visit>
void ForEachPort(const fabric::FabricSnapshot& snapshot, Visit&& visit) {
  snapshot.ForEachNode([&](const Node& node) {
    for (const auto& [ref, port] : node.LinkPorts())
      if (port.known) visit(node, ref.port, port);
  });
}

bool HasFabric(const sweep::FabricView& view) {
  return view.sweeps_done > 0 || view.snapshot->node_count() > 0;
}

class FabricCollector final : public prometheus::Collectable {
 public:
  FabricCollector(const MetricSources& sources, const sweep::FabricView& view)
      : sources_(sources), view_(&view) {}

  std::vector<MetricFamily> Collect() const override {
    Families out;
    Daemon(out);
    Manager(out);
    if (HasFabric(*view_)) {
      Fabric(out);
      Policy(out);
      Links(out);
    }
    Events(out);
    Calls(out);
    return out.Take();
  }

 private:
  void Daemon(Families& out) const {
    out.Begin("fabricd_build_info", "1, with the version of fabricd.");
    out.Add(1, {{"version", sources_.version}});
    out.Begin("fabricd_config_last_reload_successful",
              "0 after a reload of the configuration that was refused, else 1.");
    out.Add(sources_.backend->configuration().last_refused() ? 0 : 1);
    out.Begin("fabricd_store_writable",
              "0 while changes of durable state are refused, as etcd cannot be reached or another "
              "fabricd writes to it; else 1.");
    out.Add(sources_.backend->store_writable().ok() ? 1 : 0);
    out.Begin("fabricd_store_epoch",
              "Number of the epoch that this node holds of the state that several nodes share; 0: "
              "none.");
    out.Add(static_cast<uint64_t>(sources_.backend->epoch()));
    if (const auto age = sources_.backend->shared_state_age()) {
      out.Begin("fabricd_store_lease_seconds",
                "Until the lease of this node's epoch is over, unless etcd extends it; 0: it has "
                "none.");
      out.Add(std::chrono::duration<double>(age->lease_left).count());
      out.Begin(
          "fabricd_store_answer_age_seconds",
          "Since etcd last answered this node. What a waiting node shows is at least as old.");
      out.Add(std::chrono::duration<double>(age->since_answer).count());
    }
    const auto nodes = sources_.backend->sharing_nodes();
    out.Begin("fabricd_sharing_nodes", "Nodes that share the durable state, this one too.");
    out.Add(uint64_t{nodes.size()});
    out.Begin("fabricd_sharing_nodes_config_differs",
              "Of these, the ones whose configuration is not as on this node, where it should be.");
    uint64_t differing = 0;
    for (const daemon::SharingNode& node : nodes) differing += node.different_keys.empty() ? 0 : 1;
    out.Add(differing);
  }

  void Manager(Families& out) const {
    out.Begin("fabricd_sm_state", "1 for the state that this subnet manager is in, else 0.");
    for (const auto state : {wire::SmState::kNotActive, wire::SmState::kDiscovering,
                             wire::SmState::kStandby, wire::SmState::kMaster})
      out.Add(view_->sm.state == state ? 1 : 0, {{"state", std::string(wire::SmStateName(state))}});
    out.Begin("fabricd_mode", "1 for what this fabricd does on the subnet, else 0.");
    for (const SmMode mode : {SmMode::kManage, SmMode::kStandby, SmMode::kObserve})
      out.Add(view_->sm.mode == mode ? 1 : 0, {{"mode", std::string(SmModeName(mode))}});
    out.Begin("fabricd_takeover_held",
              "1: master, but nothing is written until a takeover report is accepted.");
    out.Add(view_->sm.is_held ? 1 : 0);
    out.Begin("fabricd_takeover_risks",
              "Risky changes that the last takeover report lists; 0 without one.");
    out.Add(view_->takeover == nullptr ? 0 : static_cast<double>(view_->takeover->risks.size()));
    out.Begin("fabricd_sm_priority", "Priority of this subnet manager, 0 to 15.");
    out.Add(view_->sm.priority);
    out.Begin("fabricd_sm_others", "Other subnet managers that were found, by their state.");
    std::map<std::string, double> others = {{"MASTER", 0}, {"STANDBY", 0}};
    for (const sweep::RemoteSm& other : view_->sm.remote)
      ++others[std::string(wire::SmStateName(other.state))];
    for (const auto& [state, count] : others) out.Add(count, {{"state", state}});
    out.Begin("fabricd_subnet_up",
              "1: master, every link that can be reached is active and all tables are written.");
    out.Add(view_->subnet_up ? 1 : 0);
    out.Begin("fabricd_heavy_sweeps_total", "Heavy sweeps that ended.", MetricType::Counter);
    out.Add(view_->sweeps_done);
    if (view_->sweeps_done == 0) return;
    const sweep::SweepReport& last = view_->last_sweep;
    out.Begin("fabricd_last_sweep_duration_seconds", "Length of the sweep that ended last.");
    out.Add(last.duration_ms / 1000);
    out.Begin("fabricd_last_sweep_smps", "SMPs that it sent, repeats included.");
    out.Add(static_cast<double>(last.smps_sent));
    out.Begin("fabricd_last_sweep_sets", "Sets among them.");
    out.Add(static_cast<double>(last.sets_sent));
    out.Begin("fabricd_last_sweep_timeouts", "SMPs among them that were not answered in time.");
    out.Add(static_cast<double>(last.timeouts));
  }

  void Fabric(Families& out) const {
    std::map<std::string, double> nodes = {{"ca", 0}, {"router", 0}, {"switch", 0}};
    std::map<std::pair<std::string, std::string>, double> ports;
    view_->snapshot->ForEachNode([&](const Node& node) { ++nodes[TypeName(node)]; });
    ForEachPort(*view_->snapshot, [&](const Node&, PortNum, const Port& port) {
      ++ports[{std::string(wire::PortStateName(port.info.port_state)),
               std::string(wire::PortPhysicalStateName(port.info.port_physical_state))}];
    });
    out.Begin("fabricd_nodes", "Nodes of the fabric by type.");
    for (const auto& [type, count] : nodes) out.Add(count, {{"type", type}});
    out.Begin("fabricd_hosts", "Servers, with all their adapters.");
    out.Add(static_cast<double>(sources_.backend->hosts(*view_)->hosts().size()));
    out.Begin("fabricd_ports", "Physical ports by their states.");
    for (const auto& [states, count] : ports)
      out.Add(count, {{"state", states.first}, {"phys_state", states.second}});
    out.Begin("fabricd_lids_top", "Highest LID that is assigned.");
    out.Add(view_->lids->top().value());
    if (!view_->plan) return;
    out.Begin("fabricd_routing_info", "1, with the engine that the routes are of.");
    out.Add(1, {{"engine", view_->plan->engine}});
    out.Begin("fabricd_routing_lanes", "Virtual lanes that the routes need.");
    out.Add(view_->plan->lanes);
    out.Begin("fabricd_routing_pending_pairs",
              "Pairs of switch and destination that wait for the settled plan.");
    out.Add(static_cast<double>(view_->plan->pending.size()));
  }

  void Policy(Families& out) const {
    const policy::PolicyView& policy = *view_->policy;
    std::map<std::string, double> problems, conditions;
    std::map<std::pair<std::string, std::string>, double> holds;
    for (const sweep::Problem& problem : view_->problems)
      ++problems[std::string(sweep::ProblemKindName(problem.kind))];
    for (const policy::Condition& condition : policy.conditions) ++conditions[condition.type];
    for (const policy::HoldStatus& status : policy.holds)
      ++holds[{std::string(policy::HoldKindName(status.hold.kind)), status.hold.owner}];
    size_t suppressed = 0;
    for (const policy::DampedLink& link : policy.damped) suppressed += link.suppressed;
    out.Begin("fabricd_problems", "Problems that the last sweep found, by kind.");
    for (const auto& [kind, count] : problems) out.Add(count, {{"kind", kind}});
    out.Begin("fabricd_conditions", "Conditions that stand, by type.");
    for (const auto& [type, count] : conditions) out.Add(count, {{"type", type}});
    out.Begin("fabricd_holds", "Holds that stand.");
    for (const auto& [key, count] : holds)
      out.Add(count, {{"kind", key.first}, {"owner", key.second}});
    out.Begin("fabricd_damped_links", "Links with a penalty for flapping.");
    out.Add(static_cast<double>(policy.damped.size()));
    out.Begin("fabricd_suppressed_links", "Links that routes avoid because they flap.");
    out.Add(static_cast<double>(suppressed));
    out.Begin("fabricd_isolated_ports", "End ports that holds cut off.");
    out.Add(static_cast<double>(view_->isolated.size()));
    out.Begin("fabricd_partitions", "Partitions.");
    out.Add(static_cast<double>(view_->partitions->partitions.list.size()));
    out.Begin("fabricd_partitions_in_effect", "1: all P_Key tables are as the partitions want.");
    out.Add(view_->partitions_in_effect ? 1 : 0);
  }

  void Links(Families& out) const {
    std::map<std::array<std::string, 3>, double> links;
    const fabric::FabricSnapshot& snapshot = *view_->snapshot;
    ForEachPort(snapshot, [&](const Node& node, PortNum number, const Port& port) {
      const PortRef here{node.index, number};
      // Each link once, from its lower end; a loop plug is no link.
      if (!port.IsUp() || port.peer.IsNone() || !(here < port.peer) ||
          snapshot.port(port.peer) == nullptr)
        return;
      ++links[{std::string(wire::SpeedName(port.Speed())),
               fmt::format("{}x", wire::ActiveWidth(port.info)),
               query::QualityOf(snapshot, here, port.peer).degraded ? "true" : "false"}];
    });
    out.Begin("fabricd_links",
              "Links that are up; degraded: slower or narrower than both ends can.");
    for (const auto& [key, count] : links)
      out.Add(count, {{"speed", key[0]}, {"width", key[1]}, {"degraded", key[2]}});
  }

  void Events(Families& out) const {
    if (!sources_.events) return;
    const EventCounts::Values values = sources_.events->values();
    out.Begin("fabricd_events_total", "Events since fabricd was started, by type.",
              MetricType::Counter);
    for (const auto& [type, count] : values.by_type)
      out.Add(static_cast<double>(count), {{"type", type}});
    out.Begin("fabricd_reroute_duration_seconds",
              "From the report of a change until the last table write was acknowledged.",
              MetricType::Histogram);
    ClientMetric metric;
    uint64_t count = 0;
    for (size_t i = 0; i < values.reroutes.size(); ++i) {
      count += values.reroutes[i];
      const double bound = i < EventCounts::kBounds.size()
                               ? EventCounts::kBounds[i]
                               : std::numeric_limits<double>::infinity();
      metric.histogram.bucket.push_back({count, bound});
    }
    metric.histogram.sample_count = count;
    metric.histogram.sample_sum = values.reroute_seconds;
    out.Add(std::move(metric));
  }

  void Calls(Families& out) const {
    if (!sources_.handled_calls) return;
    out.Begin("fabricd_grpc_server_handled_total", "Calls that ended, by method and code.",
              MetricType::Counter);
    for (const rpc::HandledCalls& calls : sources_.handled_calls())
      out.Add(static_cast<double>(calls.count), {{"grpc_service", calls.service},
                                                 {"grpc_method", calls.method},
                                                 {"grpc_code", calls.code}});
  }

  const MetricSources& sources_;
  const sweep::FabricView* view_;
};

}  // namespace

std::string MetricsText(const MetricSources& sources) {
  // A page is about as long as the one before; growing it copies.
  static std::atomic<size_t> last_size = 0;
  const auto view = sources.backend->view();
  SeriesText out(last_size + last_size / 64);
  out.AddText(prometheus::TextSerializer().Serialize(FabricCollector(sources, *view).Collect()));
  if (HasFabric(*view)) {
    const PortRows rows(*view->snapshot);
    WritePorts(rows, out);
    WriteNames(*view, rows, sources.backend->node_name_map(), out);
    const auto counters = sources.backend->telemetry();
    // Of a read model nothing but the view is needed.
    query::ReadModel model;
    model.view = view;
    const query::Telemetry telemetry{model, *counters};
    WriteCollector(telemetry, ProcessClock::Now(), out);
    const auto config = sources.backend->configuration().in_force();
    WriteTelemetry(telemetry, rows, config->telemetry, out);
    WriteVerdicts(*sources.backend->verdicts(), sources.backend->node_name_map(),
                  ProcessClock::Now(), out);
  }
  last_size = out.text().size();
  return out.Take();
}

}  // namespace fabricd::http
