// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/convert/convert_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "common/status.h"
#include "daemon/rpc/convert/convert.h"
#include "daemon/rpc/convert/convert_policy.h"
#include "daemon/rpc/convert/grpc_status.h"
#include "fabric/cabling.h"
#include "fabric/ibnetdiscover_text.h"
#include "fabric/rails.h"
#include "policy/target.h"
#include "query/port_text.h"
#include "routing/quality/job_patterns.h"

namespace fabricd::rpc {
namespace {

namespace pb = ::fabric::v1;

using fabric::FabricSnapshot;
using fabric::Node;

constexpr size_t kMostAdded = 10'000, kMostFindings = 10'000, kMostHosts = 100'000;

// ---- PreviewChange

class WhatIfReader {
 public:
  WhatIfReader(const query::ReadModel& model, const pb::PreviewChangeRequest& request)
      : model_(model), request_(request) {}

  absl::StatusOr<query::WhatIf> Read() {
    if (request_.add_nodes_size() + request_.add_links_size() > static_cast<int>(kMostAdded))
      return BadField("add_links", fmt::format("more than {} additions", kMostAdded));
    for (const std::string& name : request_.fail()) FABRICD_RETURN_IF_ERROR(AddFailure(name));
    question_.failed_at_random = request_.fail_random();
    question_.seed = request_.seed();
    for (const std::string& name : request_.drain()) {
      auto target = ResolveTarget(model_, name, std::nullopt);
      if (!target.ok()) return target.status();
      question_.drained.push_back(*std::move(target));
    }
    for (const pb::AddedNode& node : request_.add_nodes()) FABRICD_RETURN_IF_ERROR(AddNode(node));
    for (const pb::AddedLink& link : request_.add_links()) {
      const auto a = EndOf(link.a()), b = EndOf(link.b());
      if (!a.ok()) return a.status();
      if (!b.ok()) return b.status();
      question_.added_links.emplace_back(*a, *b);
    }
    FABRICD_RETURN_IF_ERROR(ReadRouting());
    return std::move(question_);
  }

 private:
  absl::Status AddFailure(const std::string& name) {
    if (const fabric::Host* host = model_.hosts->Find(name)) {
      for (const fabric::HostPort& port : host->ports)
        question_.failed_nodes.push_back(port.port.node);
      return absl::OkStatus();
    }
    const auto address = model_.Resolve(name);
    if (!address.ok()) return address.status();
    // A LID names a port and means its node.
    if (address->has_port && query::SplitPortText(name))
      question_.failed_links.push_back({address->node, address->port});
    else
      question_.failed_nodes.push_back(address->node);
    return absl::OkStatus();
  }

  absl::Status AddNode(const pb::AddedNode& node) {
    const bool is_switch = node.type() == "SWITCH";
    if (!is_switch && node.type() != "CA") return BadField("add_nodes.type", "is SWITCH or CA");
    if (node.ports() < 1 || node.ports() > 254) return BadField("add_nodes.ports", "is 1 to 254");
    if (node.name().empty()) return BadField("add_nodes.name", "is empty");
    if (!added_.emplace(node.name(), question_.added_nodes.size()).second ||
        !model_.names->by_name.Find(node.name()).empty())
      return BadField("add_nodes.name", fmt::format("\"{}\" is there already", node.name()));
    question_.added_nodes.push_back(
        {node.name(), is_switch ? wire::NodeType::kSwitch : wire::NodeType::kChannelAdapter,
         static_cast<uint8_t>(node.ports())});
    return absl::OkStatus();
  }

  absl::StatusOr<query::WhatIf::AddedEnd> EndOf(const std::string& text) const {
    if (const auto whole = added_.find(text); whole != added_.end())
      return query::WhatIf::AddedEnd{NodeIndex::None(), whole->second, PortNum(0)};
    if (const auto split = query::SplitPortText(text)) {
      const auto added = added_.find(split->node);
      if (added != added_.end())
        return query::WhatIf::AddedEnd{NodeIndex::None(), added->second, split->port};
    }
    const auto address = model_.Resolve(text);
    if (!address.ok()) return address.status();
    return query::WhatIf::AddedEnd{address->node, 0,
                                   address->has_port ? address->port : PortNum(0)};
  }

  absl::Status ReadRouting() {
    if (request_.engines().empty() && request_.lanes_max() == 0) return absl::OkStatus();
    routing::RoutingOptions options = model_.view->routing;
    constexpr auto& known = routing::kEngineNames;
    for (const std::string& engine : request_.engines())
      if (std::find(known.begin(), known.end(), engine) == known.end())
        return BadField("engines", fmt::format("no engine is called \"{}\"; there are {}", engine,
                                               fmt::join(known, ", ")));
    if (!request_.engines().empty())
      options.chain.assign(request_.engines().begin(), request_.engines().end());
    if (request_.lanes_max() > 15) return BadField("lanes_max", "is at most 15");
    if (request_.lanes_max() > 0) options.lanes_max = static_cast<uint8_t>(request_.lanes_max());
    question_.routing = std::move(options);
    return absl::OkStatus();
  }

  const query::ReadModel& model_;
  const pb::PreviewChangeRequest& request_;
  query::WhatIf question_;
  std::map<std::string, size_t> added_;  // Names of added nodes.
};

// ---- AnalyzeJob

// The hosts named, by rank, with their ports by rail: as most hosts are wired where the fabric has
// rails, else in the order of their devices.
class JobReader {
 public:
  explicit JobReader(const query::ReadModel& model)
      : model_(model), rails_(fabric::FindRails(model.snapshot(), *model.hosts)) {
    for (const fabric::RailHost& host : rails_.hosts) rail_hosts_.emplace(host.name, &host);
    isolated_ = {model.view->isolated.begin(), model.view->isolated.end()};
  }

  absl::StatusOr<routing::RailedHosts> Read(
      const google::protobuf::RepeatedPtrField<std::string>& names) {
    if (names.size() < 2) return BadField("hosts", "a job has two hosts or more");
    if (names.size() > static_cast<int>(kMostHosts))
      return BadField("hosts", fmt::format("more than {} hosts", kMostHosts));
    routing::RailedHosts job;
    std::set<std::string> seen;
    for (const std::string& name : names) {
      const fabric::Host* host = model_.hosts->Find(name);
      if (host == nullptr) return NoSuch("host", name);
      if (!seen.insert(name).second)
        return BadField("hosts", fmt::format("{} is named twice", name));
      job.ports.push_back(PortsOf(*host));
      job.rails = std::max(job.rails, static_cast<uint32_t>(job.ports.back().size()));
    }
    for (std::vector<PortRef>& ports : job.ports) ports.resize(job.rails);
    job.unit.resize(job.ports.size());
    return job;
  }
  std::vector<PortRef> left_out;  // Isolated ones.

 private:
  std::vector<PortRef> PortsOf(const fabric::Host& host) {
    std::vector<PortRef> ports;
    if (const auto railed = rail_hosts_.find(host.name); railed != rail_hosts_.end())
      ports = railed->second->ends;
    else
      for (const fabric::HostPort& port : host.ports) ports.push_back(port.port);
    for (PortRef& port : ports) {
      if (isolated_.count(port) == 0) continue;
      left_out.push_back(port);
      port = PortRef();
    }
    return ports;
  }

  const query::ReadModel& model_;
  const fabric::Rails rails_;
  std::map<std::string, const fabric::RailHost*> rail_hosts_;
  std::set<PortRef> isolated_;
};

// The piece of the fabric that has the most ports of the job.
const routing::SwitchGraph* PieceOf(const std::vector<routing::SwitchGraph>& pieces,
                                    const routing::RailedHosts& job) {
  std::set<PortRef> ports;
  for (const auto& of_host : job.ports) ports.insert(of_host.begin(), of_host.end());
  const auto count = [&](const routing::SwitchGraph& piece) {
    return std::count_if(piece.ends.begin(), piece.ends.end(),
                         [&](const routing::EndPort& end) { return ports.count(end.owner) > 0; });
  };
  const auto most =
      std::max_element(pieces.begin(), pieces.end(),
                       [&](const auto& a, const auto& b) { return count(a) < count(b); });
  return most == pieces.end() ? nullptr : &*most;
}

void FillPattern(const query::ReadModel& model, const routing::JobPattern& pattern,
                 pb::PatternLoad* out) {
  const routing::Congestion& congestion = pattern.congestion;
  out->set_pattern(pattern.name);
  out->set_all_rails(!pattern.rail.has_value());
  out->set_rail(pattern.rail.value_or(0));
  out->set_worst_flows(congestion.max);
  if (!pattern.worst_link.IsNone()) ToProto(model, pattern.worst_link, out->mutable_worst_link());
  out->set_worst_step(congestion.worst);
  out->set_bandwidth_fraction(congestion.bandwidth);
  out->set_patterns(congestion.patterns);
  out->set_all_patterns(congestion.all);
}

// ---- ValidateWiring

class Findings {
 public:
  Findings(const query::ReadModel& model, pb::ValidateWiringResponse* out)
      : model_(model), out_(out) {}

  void Add(std::string_view kind, PortRef port, const std::string& name,
           const std::string& message) {
    out_->set_total(out_->total() + 1);
    if (out_->findings_size() >= static_cast<int>(kMostFindings)) return;
    pb::WiringFinding* finding = out_->add_findings();
    finding->set_kind(std::string(kind));
    if (!port.IsNone()) ToProto(model_, port, finding->mutable_subject());
    finding->set_name(Utf8(name));
    finding->set_message(Utf8(message));
  }
  void AddRails() {
    const fabric::Rails rails = fabric::FindRails(model_.snapshot(), *model_.hosts);
    for (const fabric::MisplacedEnd& end : rails.misplaced)
      Add("MisplacedRail", end.end, fmt::format("{} {}", rails.hosts[end.host].name, end.device),
          fabric::DescribePlaces(end, model_.snapshot()));
  }
  void AddDegraded() {
    model_.ForEachLink([&](const query::LinkEnds& link) {
      const query::LinkQuality quality = query::QualityOf(model_.snapshot(), link.a, link.b);
      if (!quality.degraded) return;
      const fabric::Port& port = *model_.snapshot().port(link.a);
      const int width = wire::ActiveWidth(port.info);
      const std::string name = fmt::format("{} - {}", NameOf(link.a), NameOf(link.b));
      if (width > 0 && width < quality.width_supported)
        Add("NarrowLink", link.a, name,
            fmt::format("runs at {} lanes, both ends support {}", width, quality.width_supported));
      else
        Add("SlowLink", link.a, name,
            fmt::format("runs at {}, both ends support {}", wire::SpeedName(port.Speed()),
                        wire::SpeedName(quality.speed_supported)));
    });
  }

 private:
  std::string NameOf(PortRef port) const { return model_.port_name(port); }
  const query::ReadModel& model_;
  pb::ValidateWiringResponse* const out_;
};

}  // namespace

absl::StatusOr<query::WhatIf> ReadWhatIf(const query::ReadModel& model,
                                         const pb::PreviewChangeRequest& request) {
  return WhatIfReader(model, request).Read();
}

void ToProto(const query::ReadModel& model, const query::WhatIfAnswer& answer,
             pb::PreviewChangeResponse* out) {
  if (answer.first) ToProto(model, *answer.first, out->mutable_first());
  ToProto(model, answer.settled, out->mutable_settled());
  for (const routing::ChainStep& step : answer.settled.steps) {
    pb::EngineStep* added = out->add_engines();
    added->set_engine(step.engine);
    added->set_chosen(step.chosen);
    added->set_reason(Utf8(step.reason));
  }
  out->set_engine_now(model.view->plan->engine);
  out->set_links_failed(answer.failed_links);
  out->set_nodes_failed(answer.failed_nodes);
  out->set_links_added(answer.added_links);
  out->set_nodes_added(answer.added_nodes);
  out->set_generation(static_cast<uint32_t>(model.view->generation.value()));
}

absl::Status AnalyzeJob(const query::ReadModel& model, const pb::AnalyzeJobRequest& request,
                        pb::AnalyzeJobResponse* out) {
  JobReader reader(model);
  const auto job = reader.Read(request.hosts());
  if (!job.ok()) return job.status();
  const sweep::FabricView& view = *model.view;
  if (!view.plan)
    return TryLater("NO_PLAN", "there is no plan for the fabric", std::chrono::seconds(1));
  const auto pieces = routing::BuildGraphs(model.snapshot(), *view.lids);
  const routing::SwitchGraph* piece = PieceOf(pieces, *job);
  std::vector<PortRef> left_out = reader.left_out;
  if (piece != nullptr) {
    routing::Parallel parallel(1);  // Reroutes have the other processors.
    const routing::JobPatterns measured =
        routing::MeasureJob(*piece, *view.plan, *job, routing::QualityOptions(), parallel);
    for (const auto& pattern : measured.patterns) FillPattern(model, pattern, out->add_loads());
    left_out.insert(left_out.end(), measured.left_out.begin(), measured.left_out.end());
  }
  for (const PortRef port : left_out) ToProto(model, port, out->add_left_out());
  out->set_hosts(static_cast<uint32_t>(job->ports.size()));
  out->set_rails(job->rails);
  out->set_engine(view.plan->engine);
  out->set_generation(static_cast<uint32_t>(view.generation.value()));
  return absl::OkStatus();
}

absl::Status ValidateWiring(const query::ReadModel& model, const std::string& text,
                            pb::ValidateWiringResponse* out) {
  Findings findings(model, out);
  out->set_links_right(model.links->links());
  if (!text.empty()) {
    const fabric::ReadResult expected = fabric::ReadTopology(text);
    if (!expected.status.ok()) return BadField("text", Message(expected.status), "BAD_TOPOLOGY");
    const fabric::Cabling cabling =
        fabric::CompareCabling(*expected.snapshot, model.snapshot(), model.names->by_name.map());
    for (const fabric::CablingFinding& finding : cabling.findings)
      findings.Add(fabric::CablingFaultName(finding.fault), finding.port, finding.name,
                   finding.message);
    out->set_links_right(static_cast<uint32_t>(cabling.links_right));
    out->set_lines_skipped(static_cast<uint32_t>(expected.skipped.size()));
  }
  findings.AddRails();
  findings.AddDegraded();
  out->set_generation(static_cast<uint32_t>(model.view->generation.value()));
  return absl::OkStatus();
}

}  // namespace fabricd::rpc
