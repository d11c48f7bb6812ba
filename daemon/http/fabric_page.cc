// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/fabric_page.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <google/protobuf/util/time_util.h>

#include "common/json_text.h"
#include "common/mutex.h"
#include "common/status.h"
#include "daemon/http/counter_page.h"
#include "daemon/http/page_text.h"
#include "daemon/record/event_log.h"
#include "fabric/names.h"
#include "fabric/rails.h"
#include "policy/target.h"
#include "query/times.h"
#include "query/verdict_view.h"
#include "routing/graph/graph.h"
#include "routing/plan/parallel.h"
#include "routing/quality/link_load.h"

namespace fabricd::http {
namespace {

using fabric::Node;
using fabric::Port;

// Of the lists of what is wrong: the page is no report.
constexpr size_t kMostListed = 200;
constexpr size_t kMostEvents = 200;
// The picture of a large fabric must not take the cores that routes are computed on.
constexpr int kLoadThreads = 1;

}  // namespace

// What is drawn of a plan: how many pairs of hosts cross each cable.
struct FabricPage::Loads {
  std::shared_ptr<const fabric::FabricSnapshot> snapshot;
  std::shared_ptr<const routing::RoutingPlan> plan;
  absl::flat_hash_map<PortRef, uint32_t> pairs;  // By the port that they leave by.
  uint32_t most = 0;
};

std::shared_ptr<const FabricPage::Loads> FabricPage::LoadsOf(const sweep::FabricView& view) {
  if (loads_ && loads_->snapshot == view.snapshot && loads_->plan == view.plan) return loads_;
  auto made = std::make_shared<Loads>();
  made->snapshot = view.snapshot;
  made->plan = view.plan;
  routing::Parallel parallel(kLoadThreads);
  // A plan of an earlier snapshot does not fit these graphs.
  const bool fits = view.plan && view.plan_stands;
  for (const routing::SwitchGraph& graph : fits ? routing::BuildGraphs(*view.snapshot, *view.lids)
                                                : std::vector<routing::SwitchGraph>()) {
    const routing::LinkLoad load = routing::AllToAllLoad(graph, *view.plan, parallel);
    for (uint32_t s = 0; s < graph.size(); ++s)
      for (const routing::Neighbor& neighbor : graph.NeighborsOf(s))
        for (uint32_t i = 0; i < neighbor.cable_count; ++i) {
          const uint32_t cable = neighbor.first_cable + i;
          made->pairs[{graph.node[s], PortNum(graph.cables[cable].port)}] = load.cable[cable];
        }
    made->most = std::max(made->most, load.max);
  }
  return loads_ = made;
}

namespace {

// The nodes of the picture: hosts with all their adapters, then everything else by name.
class Picture {
 public:
  explicit Picture(const query::ReadModel& model)
      : model_(model), drawn_(model.snapshot().node_index_end(), -1) {
    const fabric::Rails rails = fabric::FindRails(model.snapshot(), *model.hosts);
    FindUnits(rails);
    Holds();
    Hosts(rails);
    for (const NodeIndex index : model.names->nodes)
      if (drawn_[index.value()] < 0) Other(*model.snapshot().node(index));
  }
  const std::string& json() const { return json_; }
  int top() const { return top_; }
  int DrawnAs(NodeIndex node) const { return drawn_[node.value()]; }

 private:
  // Leaves are drawn unit by unit, rail by rail, above their hosts.
  void FindUnits(const fabric::Rails& rails) {
    for (size_t u = 0; u < rails.units.size(); ++u)
      for (size_t r = 0; r < rails.units[u].leaf.size(); ++r)
        if (const NodeIndex leaf = rails.units[u].leaf[r]; !leaf.IsNone())
          place_[leaf] = {static_cast<int>(u), static_cast<int>(r)};
  }

  void Holds() {
    for (const policy::HoldStatus& status : model_.policy->view().holds)
      for (const Guid guid : status.hold.target.nodes) held_[guid] = true;
  }

  struct Count {
    int ports = 0, up = 0;
    bool held = false;
    void Add(const Node& node, bool is_held) {
      for (const auto& [ref, port] : node.LinkPorts()) {
        if (!port.known) continue;
        ++ports;
        up += port.info.port_state == wire::PortState::kActive;
      }
      held = held || is_held;
    }
  };

  void Hosts(const fabric::Rails& rails) {
    absl::flat_hash_map<std::string, int> unit_of;
    for (const fabric::RailHost& host : rails.hosts)
      unit_of[host.name] = static_cast<int>(host.unit);
    for (const fabric::Host& host : model_.hosts->hosts()) {
      Count count;
      for (const fabric::HostPort& port : host.ports) {
        const Node& node = *model_.snapshot().node(port.port.node);
        if (drawn_[node.index.value()] < 0) count.Add(node, held_.contains(node.guid()));
        drawn_[node.index.value()] = next_;
      }
      // What is missing is not up.
      count.ports += static_cast<int>(model_.missing->Of(host.name).size());
      const auto unit = unit_of.find(host.name);
      Put(host.name, 0, unit == unit_of.end() ? -1 : unit->second, -1, "", count);
    }
  }

  void Other(const Node& node) {
    Count count;
    count.Add(node, held_.contains(node.guid()));
    drawn_[node.index.value()] = next_;
    const auto place = place_.find(node.index);
    const std::pair<int, int> at = place == place_.end() ? std::pair(-1, -1) : place->second;
    const int tier =
        node.IsSwitch() ? std::max(1, static_cast<int>(model_.places->tier(node.index))) : 0;
    top_ = std::max(top_, tier);
    Put(model_.name(node.index), tier, at.first, at.second, fmt::format("{}", node.guid()), count);
  }

  // [name, tier, unit, rail, guid, ports, up, held]
  void Put(const std::string& name, int tier, int unit, int rail, const std::string& guid,
           const Count& count) {
    fmt::format_to(std::back_inserter(json_), "{}[{},{},{},{},\"{}\",{},{},{}]",
                   next_++ == 0 ? "" : ",", JsonText(name), tier, unit, rail, guid, count.ports,
                   count.up, count.held ? 1 : 0);
  }

  const query::ReadModel& model_;
  std::vector<int> drawn_;  // [NodeIndex]
  absl::flat_hash_map<NodeIndex, std::pair<int, int>> place_;
  absl::flat_hash_map<Guid, bool> held_;
  int next_ = 0, top_ = 1;
  std::string json_;
};

template <typename List, typename Line>
std::string Listed(const List& list, Line&& line) {
  std::string json;
  for (size_t i = 0; i < std::min(list.size(), kMostListed); ++i)
    json += (i == 0 ? "" : ",") + line(list[i]);
  return json;
}

std::string Wrongs(const query::ReadModel& model) {
  const policy::PolicyView& policy = model.policy->view();
  return fmt::format(
      "\"problems\":[{}],\"conditions\":[{}],\"holds\":[{}],"
      "\"counts\":{{\"problems\":{},\"conditions\":{},\"holds\":{},\"suppressed\":{}}}",
      Listed(model.view->problems,
             [&](const sweep::Problem& problem) {
               const std::string subject = sweep::SubjectText(problem.subject, model.snapshot(),
                                                              model.names->by_name.map());
               return fmt::format("[{},{},{}]",
                                  JsonText(std::string(sweep::ProblemKindName(problem.kind))),
                                  JsonText(subject), JsonText(problem.message));
             }),
      Listed(policy.conditions,
             [](const policy::Condition& condition) {
               return fmt::format("[{},{},{}]", JsonText(condition.type),
                                  JsonText(condition.subject), JsonText(condition.message));
             }),
      Listed(policy.holds,
             [](const policy::HoldStatus& status) {
               return fmt::format("[{},{},{}]",
                                  JsonText(std::string(policy::HoldKindName(status.hold.kind))),
                                  JsonText(status.hold.target.name),
                                  JsonText(status.hold.owner + ": " + status.hold.reason));
             }),
      model.view->problems.size(), policy.conditions.size(), policy.holds.size(),
      std::count_if(policy.damped.begin(), policy.damped.end(),
                    [](const policy::DampedLink& link) { return link.suppressed; }));
}

}  // namespace

// Links are [node a, port, node b, port, state, Gb/s, degraded, pairs a to b, pairs b to a, flags];
// flags: 1 routes avoid it. The names of adapters at hosts are in the details.
std::string FabricPage::MakeFabric(const query::ReadModel& model) {
  const auto loads = LoadsOf(*model.view);
  const Picture picture(model);
  std::map<PortRef, bool> suppressed;
  for (const policy::DampedLink& link : model.policy->view().damped)
    if (link.suppressed) suppressed[link.a] = suppressed[link.b] = true;
  const auto pairs = [&](PortRef port) {
    const auto found = loads->pairs.find(port);
    return found == loads->pairs.end() ? int64_t{-1} : static_cast<int64_t>(found->second);
  };
  std::string links;
  model.ForEachLink([&](const query::LinkEnds& link) {
    const Port& a = *model.snapshot().port(link.a);
    fmt::format_to(std::back_inserter(links), "{}[{},{},{},{},{},{},{},{},{},{}]",
                   links.empty() ? "" : ",", picture.DrawnAs(link.a.node), link.a.port,
                   picture.DrawnAs(link.b.node), link.b.port, static_cast<int>(a.info.port_state),
                   a.Rate().nominal,
                   query::QualityOf(model.snapshot(), link.a, link.b).degraded ? 1 : 0,
                   pairs(link.a), pairs(link.b), suppressed.contains(link.a) ? 1 : 0);
  });
  const sweep::FabricView& view = *model.view;
  return fmt::format(
      "{{\"generation\":{},\"state\":\"{}\",\"phase\":\"{}\",\"up\":{},\"engine\":{},"
      "\"sweep_ms\":{:.1f},\"top\":{},\"most\":{},{},\"nodes\":[{}],\"links\":[{}]}}",
      view.generation.value(), wire::SmStateName(view.sm.state), sweep::PhaseName(view.phase),
      view.subnet_up, JsonText(view.plan ? view.plan->engine : ""), view.last_sweep.duration_ms,
      picture.top(), loads->most, Wrongs(model), picture.json(), links);
}

Reply FabricPage::Fabric(const Query& query) {
  const auto model = models_.Current();
  const std::string generation = fmt::format("{}", model->view->generation.value());
  if (ArgumentOf(query, "have") == generation) return Json("{\"generation\":" + generation + "}");
  MutexLock lock(mutex_);  // One computation, whoever asks.
  if (!fabric_ || generation_ != model->view->generation) {
    fabric_ = std::make_shared<const std::string>(MakeFabric(*model));
    generation_ = model->view->generation;
  }
  return {200, "application/json", fabric_};
}

namespace {

// One node's ports with what their counters and verdicts say.
class PortList {
 public:
  PortList(const query::Telemetry& telemetry, const query::VerdictView& verdicts)
      : telemetry_(telemetry), model_(telemetry.model), verdicts_(verdicts) {}

  void Add(const Node& node) {
    for (const auto& [here, port] : node.LinkPorts()) {
      if (!port.known) continue;
      json_ += json_.empty() ? "{" : ",{";
      AddState(node, here);
      AddCounters(here);
      json_ += '}';
    }
  }
  const std::string& json() const { return json_; }

 private:
  void AddState(const Node& node, PortRef here) {
    const Port& port = node.port(here.port);
    const bool linked = !port.peer.IsNone() && model_.snapshot().port(port.peer) != nullptr;
    fmt::format_to(std::back_inserter(json_),
                   "\"node\":{},\"guid\":\"{}\",\"port\":{},\"state\":\"{}\",\"physical\":\"{}\","
                   "\"width\":{},\"speed\":\"{}\",\"lid\":{},\"degraded\":{},\"peer\":{},"
                   "\"peer_port\":{},\"verdict\":\"{}\"",
                   JsonText(model_.name(node.index)), node.guid(), here.port,
                   wire::PortStateName(port.info.port_state),
                   wire::PortPhysicalStateName(port.info.port_physical_state),
                   port.IsUp() ? wire::ActiveWidth(port.info) : 0,
                   port.IsUp() ? wire::SpeedName(port.Speed()) : "",
                   model_.LidsOf(node.IsSwitch() ? PortRef{node.index, PortNum(0)} : here).base,
                   linked && query::QualityOf(model_.snapshot(), here, port.peer).degraded,
                   JsonText(linked ? model_.name(port.peer.node) : ""),
                   linked ? port.peer.port.value() : 0,
                   linked ? VerdictAt(node, here.port, port.peer) : "");
  }
  // By GUIDs: the verdicts may be of another snapshot.
  std::string_view VerdictAt(const Node& node, PortNum port, PortRef peer) const {
    const Node& other = *model_.snapshot().node(peer.node);
    const query::VerdictRecord* record =
        verdicts_.Find(policy::LinkKey{{node.guid(), port}, {other.guid(), peer.port}});
    return record == nullptr ? "" : VerdictName(VerdictOf(*record));
  }
  void AddCounters(PortRef here) {
    const PortHeat heat = HeatOf(telemetry_, here);
    const telemetry::PortRecord* record = telemetry_.Find(here);
    const query::Measure celsius = record == nullptr
                                       ? query::Measure()
                                       : query::MeasuresOf(telemetry_.view, *record).temperature;
    fmt::format_to(std::back_inserter(json_),
                   ",\"use\":{},\"wait\":{},\"ber\":{},\"celsius\":{},\"freshness\":\"{}\"",
                   heat.use, heat.wait, heat.ber,
                   celsius.value ? fmt::format("{:.0f}", *celsius.value) : "null",
                   telemetry_.IsRead(here) ? FreshnessName(telemetry_.FreshnessOf(here)) : "");
  }

  const query::Telemetry& telemetry_;
  const query::ReadModel& model_;
  const query::VerdictView& verdicts_;
  std::string json_;
};

std::string EventJson(const daemon::EventLog& log, const store::EventRecord& record) {
  static constexpr const char* kSeverities[] = {"info", "warning", "error"};
  const auto time = query::ToTimestamp(record.time_ms);
  return fmt::format("[\"{}\",\"{}\",\"{}\",{},{},{}]", log.VersionOf(record.number),
                     google::protobuf::util::TimeUtil::ToString(time),
                     kSeverities[static_cast<size_t>(record.event.severity)],
                     JsonText(record.event.type), JsonText(record.event.subject),
                     JsonText(record.event.message));
}

}  // namespace

Reply FabricPage::Ports(const Query& query) {
  const auto model = models_.Current();
  const auto counters = backend_.telemetry();
  const auto verdicts = backend_.verdicts();
  const query::Telemetry telemetry{*model, *counters};
  PortList ports(telemetry, *verdicts);
  if (const fabric::Host* host = model->hosts->Find(ArgumentOf(query, "host"))) {
    NodeIndex last = NodeIndex::None();
    for (const fabric::HostPort& port : host->ports) {
      if (port.port.node == last) continue;
      last = port.port.node;
      ports.Add(*model->snapshot().node(last));
    }
  } else if (const Node* node =
                 model->snapshot().FindNode(fabric::ParseGuid(ArgumentOf(query, "guid")))) {
    ports.Add(*node);
  } else {
    return Text("no such node\n", 404);
  }
  return Json("{\"ports\":[" + ports.json() + "]}");
}

Reply FabricPage::Events(const Query& query) const {
  const daemon::EventLog& log = backend_.events();
  const std::string after = ArgumentOf(query, "after");
  auto begin =
      after.empty() ? absl::StatusOr<uint64_t>(absl::NotFoundError("")) : log.NumberOf(after);
  auto events = begin.ok() ? log.After(*begin, kMostEvents)
                           : absl::StatusOr<std::vector<daemon::EventLog::Record>>(begin.status());
  bool anew = false;
  if (!events.ok()) {
    // The latest ones that are in memory.
    const auto last = log.NumberOf(log.version()), first = log.NumberOf(log.oldest());
    if (!last.ok() || !first.ok()) return Text("no events\n", 503);
    anew = true;
    events = log.After(*last > *first + kMostEvents ? *last - kMostEvents : *first, kMostEvents);
    if (!events.ok()) return Text("no events\n", 503);
  }
  std::string list;
  for (const auto& record : *events) list += (list.empty() ? "" : ",") + EventJson(log, *record);
  const std::string version =
      events->empty() ? log.version() : log.VersionOf(events->back()->number);
  return Json(
      fmt::format("{{\"anew\":{},\"version\":\"{}\",\"events\":[{}]}}", anew, version, list));
}

}  // namespace fabricd::http
