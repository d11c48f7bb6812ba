// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/convert/convert.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "daemon/rpc/convert/convert_policy.h"
#include "daemon/rpc/convert/count.h"
#include "query/port_text.h"

namespace fabricd::rpc {
namespace {

std::string Text(Guid guid) { return guid ? fmt::format("{}", guid) : std::string(); }

// Counts of the API are 32 bits; a larger one says "at least this".
std::string SpeedWord(wire::LinkSpeed speed) {
  return speed == wire::LinkSpeed::kUnknown ? std::string() : std::string(wire::SpeedName(speed));
}

struct Rate {
  int width = 0;
  std::string speed;
  double gbps = 0;
};
// Of a port whose link is up, else nothing.
Rate RateOf(const fabric::Port& port) {
  if (!port.IsUp()) return {};
  return {wire::ActiveWidth(port.info), SpeedWord(port.Speed()), port.Rate().nominal};
}

const char* SweepKindWord(sweep::SweepKind kind) {
  switch (kind) {
    case sweep::SweepKind::kHeavy: return "HEAVY";
    case sweep::SweepKind::kLight: return "LIGHT";
    case sweep::SweepKind::kTargeted: return "TARGETED";
    case sweep::SweepKind::kSettle: return "SETTLE";
    case sweep::SweepKind::kNone: break;
  }
  return "NONE";
}

bool IsEndPort(const fabric::Node& node, PortNum port) {
  return port >= node.first_end_port() && port <= node.last_end_port();
}

void FillSwitch(const wire::SwitchInfo& info, pb::SwitchDetails* out) {
  out->set_linear_fdb_cap(info.linear_fdb_cap);
  out->set_linear_fdb_top(info.linear_fdb_top);
  out->set_multicast_fdb_cap(info.multicast_fdb_cap);
  out->set_enhanced_port0(info.enhanced_port0);
}

void FillFull(const wire::PortInfo& info, pb::Port* out) {
  out->set_mtu_supported(wire::MtuBytes(info.mtu_cap));
  out->set_vls_supported(wire::DataVls(info.vl_cap));
  out->set_width_supported(wire::BestSupportedWidth(info));
  out->set_speed_supported(SpeedWord(wire::BestSupportedSpeed(info)));
  out->set_sm_lid(info.master_sm_lid.value());
  out->set_capability_mask(info.capability_mask);
  out->set_capability_mask2(info.capability_mask2);
  out->set_hoq_life(info.hoq_life);
  out->set_subnet_timeout(info.subnet_timeout);
  out->set_m_key_violations(info.m_key_violations);
  out->set_p_key_violations(info.p_key_violations);
  out->set_q_key_violations(info.q_key_violations);
}

void FillSweep(const sweep::SweepReport& report, pb::SweepSummary* out) {
  out->set_kind(SweepKindWord(report.kind));
  out->set_duration_ms(report.duration_ms);
  out->set_smps_sent(Count(report.smps_sent));
  out->set_sets_sent(Count(report.sets_sent));
  out->set_timeouts(Count(report.timeouts));
  for (const auto& [attribute, sent] : report.smps_by_attribute) {
    (*out->mutable_smps_by_attribute())[attribute] = Count(sent);
  }
}

void FillStatus(const query::ReadModel& model, const sweep::SmStatus& sm, pb::GetSmResponse* out) {
  out->set_state(std::string(wire::SmStateName(sm.state)));
  out->set_mode(std::string(SmModeName(sm.mode)));
  out->set_takeover_held(sm.is_held);
  out->set_guid(Text(sm.guid));
  out->set_lid(sm.lid.value());
  out->set_priority(sm.priority);
  out->set_activity_count(sm.activity_count);
  if (model.snapshot().node(sm.port.node)) out->set_node_name(model.name(sm.port.node));
  for (const sweep::RemoteSm& remote : sm.remote) {
    pb::RemoteSm* added = out->add_remote_sms();
    if (model.snapshot().port(remote.port)) ToProto(model, remote.port, added->mutable_port());
    added->set_guid(Text(remote.guid));
    added->set_priority(remote.priority);
    added->set_state(std::string(wire::SmStateName(remote.state)));
    added->set_activity_count(remote.activity_count);
  }
}

void FillCounts(const query::ReadModel& model, pb::GetSmResponse* out) {
  const fabric::FabricSnapshot& snapshot = model.snapshot();
  out->set_nodes(Count(snapshot.node_count()));
  out->set_switches(Count(snapshot.switch_count()));
  out->set_hosts(Count(model.hosts->hosts().size()));
  out->set_links(model.links->links());
  out->set_links_degraded(model.links->degraded());
  out->set_ports_active(model.links->ports_active());
  out->set_end_ports(Count(model.view->lids->port_count()));
}

}  // namespace

std::string NodeTypeWord(wire::NodeType type) {
  switch (type) {
    case wire::NodeType::kChannelAdapter: return "CA";
    case wire::NodeType::kSwitch: return "SWITCH";
    case wire::NodeType::kRouter: return "ROUTER";
    case wire::NodeType::kUnknown: break;
  }
  return fmt::format("UNKNOWN({})", static_cast<int>(type));
}

void ToProto(const query::ReadModel& model, PortRef port, pb::PortId* out) {
  const fabric::Node& node = *model.snapshot().node(port.node);
  out->set_node_guid(Text(node.guid()));
  out->set_node_name(model.name(port.node));
  out->set_node_type(NodeTypeWord(node.info.node_type));
  out->set_number(port.port.value());
}

void ToProto(const query::ReadModel& model, PortRef end_port, pb::EndPort* out) {
  const fabric::Node& node = *model.snapshot().node(end_port.node);
  const fabric::LidRange lids = model.LidsOf(end_port);
  out->set_node_guid(Text(node.guid()));
  out->set_node_name(model.name(end_port.node));
  out->set_number(end_port.port.value());
  out->set_guid(Text(node.port(end_port.port).guid));
  out->set_lid(lids.base.value());
  out->set_lmc(lids.lmc);
}

void ToProto(const query::ReadModel& model, const fabric::Node& node, pb::Node* out) {
  out->set_guid(Text(node.guid()));
  out->set_name(model.name(node.index));
  out->set_description(Utf8(node.description));
  out->set_type(NodeTypeWord(node.info.node_type));
  out->set_system_guid(Text(node.info.system_image_guid));
  out->set_vendor_id(node.info.vendor_id);
  out->set_device_id(node.info.device_id);
  out->set_revision(node.info.revision);
  out->set_num_ports(node.info.num_ports);
  uint32_t active = 0, linked = 0;
  for (const auto& [ref, port] : node.LinkPorts()) {
    active += port.known && port.info.port_state == wire::PortState::kActive;
    linked += !port.peer.IsNone();
  }
  out->set_ports_active(active);
  out->set_ports_linked(linked);
  for (const auto& [ref, port] : node.EndPorts()) ToProto(model, ref, out->add_end_ports());
  if (const fabric::Host* host = model.hosts->HostOf(node.index)) out->set_host(Utf8(host->name));
  if (node.switch_info) FillSwitch(*node.switch_info, out->mutable_switch_details());
  out->set_links_degraded(model.links->of(node.index).degraded);
  AddKinds(model.policy->OnNode(node.guid()), out->mutable_held());
  out->set_role(model.places->role(node));
  out->set_tier(model.places->tier(node.index));
  if (const int rail = model.places->rail(node.index); rail >= 0) out->set_rail(rail);
}

void ToProto(const query::ReadModel& model, PortRef ref, pb::PortView view, pb::Port* out) {
  const fabric::Node& node = *model.snapshot().node(ref.node);
  const fabric::Port& port = node.port(ref.port);
  ToProto(model, ref, out->mutable_id());
  out->set_name(model.port_name(ref));
  if (!port.peer.IsNone()) ToProto(model, port.peer, out->mutable_peer());
  if (IsEndPort(node, ref.port)) ToProto(model, ref, out->mutable_end_port());
  AddKinds(model.policy->Reaching(model.snapshot(), ref), out->mutable_held());
  out->set_role(model.places->role(node));
  if (const fabric::Host* host = model.hosts->HostOf(ref.node)) out->set_host(Utf8(host->name));
  if (const int rail = model.places->rail(ref.node); rail >= 0) out->set_rail(rail);
  out->set_known(port.known);
  if (!port.known) return;
  out->set_state(std::string(wire::PortStateName(port.info.port_state)));
  out->set_physical_state(std::string(wire::PortPhysicalStateName(port.info.port_physical_state)));
  const Rate rate = RateOf(port);
  out->set_width(rate.width);
  out->set_speed(rate.speed);
  out->set_rate_gbps(rate.gbps);
  if (!port.peer.IsNone()) {
    out->set_degraded(query::QualityOf(model.snapshot(), ref, port.peer).degraded);
  }
  out->set_mtu(wire::MtuBytes(port.info.neighbor_mtu));
  out->set_vls(wire::DataVls(port.info.operational_vls));
  if (view == pb::PORT_VIEW_FULL || view == pb::PORT_VIEW_RATES) FillFull(port.info, out);
}

void ToProto(const query::ReadModel& model, const query::LinkEnds& link, pb::Link* out) {
  const fabric::Port& a = *model.snapshot().port(link.a);
  const fabric::Port& b = *model.snapshot().port(link.b);
  ToProto(model, link.a, out->mutable_a());
  ToProto(model, link.b, out->mutable_b());
  AddKinds(model.policy->Reaching(model.snapshot(), link.a), out->mutable_held());
  if (const auto* damped = model.policy->Damped(link.a); damped && damped->suppressed) {
    out->set_suppressed(true);
    out->set_suppression(Utf8(damped->reason) +
                         (damped->needed ? "; used: nothing else is left" : ""));
  }
  // An end that did not answer counts as unknown, not as down.
  const fabric::Port& lower =
      !b.known || (a.known && a.info.port_state <= b.info.port_state) ? a : b;
  if (!lower.known) return;
  out->set_state(std::string(wire::PortStateName(lower.info.port_state)));
  const fabric::Port& end = a.known ? a : b;
  out->set_physical_state(std::string(wire::PortPhysicalStateName(end.info.port_physical_state)));
  const Rate rate = RateOf(lower);
  out->set_width(rate.width);
  out->set_speed(rate.speed);
  out->set_rate_gbps(rate.gbps);
  const query::LinkQuality quality = query::QualityOf(model.snapshot(), link.a, link.b);
  out->set_width_supported(quality.width_supported);
  out->set_speed_supported(SpeedWord(quality.speed_supported));
  out->set_degraded(quality.degraded);
}

void ToProto(const query::ReadModel& model, const fabric::Host& host, pb::Host* out) {
  out->set_name(Utf8(host.name));
  NodeIndex last = NodeIndex::None();
  query::PolicyIndex::Holds holds;
  for (const fabric::HostPort& host_port : host.ports) {
    const fabric::Port& port = *model.snapshot().port(host_port.port);
    pb::HostPort* added = out->add_ports();
    ToProto(model, host_port.port, added->mutable_port());
    added->set_device(Utf8(host_port.device));
    added->set_rail_known(host_port.rail >= 0);
    added->set_rail(std::max(host_port.rail, 0));
    if (host_port.port.node != last) out->set_hcas(out->hcas() + 1);
    last = host_port.port.node;
    if (!port.peer.IsNone()) ToProto(model, port.peer, added->mutable_peer());
    const auto reaching = model.policy->Reaching(model.snapshot(), host_port.port);
    AddKinds(reaching, added->mutable_held());
    holds.insert(holds.end(), reaching.begin(), reaching.end());
    if (!port.known) continue;
    added->set_state(std::string(wire::PortStateName(port.info.port_state)));
    added->set_rate_gbps(RateOf(port).gbps);
    const bool active = port.info.port_state == wire::PortState::kActive;
    out->set_ports_active(out->ports_active() + active);
  }
  AddKinds(holds, out->mutable_held());
}

void ToProto(const query::ReadModel& model, const std::string& version, pb::GetSmResponse* out) {
  const sweep::FabricView& view = *model.view;
  FillStatus(model, view.sm, out);
  FillCounts(model, out);
  FillSweep(view.last_sweep, out->mutable_last_sweep());
  out->set_version(version);
  out->set_generation(Count(view.generation.value()));
  out->set_phase(std::string(sweep::PhaseName(view.phase)));
  out->set_subnet_up(view.subnet_up);
  out->set_sweeps_done(view.sweeps_done);
  for (const routing::ChainStep& step : view.chain) {
    pb::EngineStep* added = out->add_chain();
    added->set_engine(step.engine);
    added->set_chosen(step.chosen);
    added->set_reason(step.reason);
  }
  if (view.plan) {
    out->set_engine(view.plan->engine);
    out->set_lanes(view.plan->lanes);
    for (const std::string& note : view.plan->notes) out->add_routing_notes(note);
  }
  const fabric::NodeNameMap* names = model.names->by_name.map();
  for (const sweep::Problem& problem : view.problems) {
    pb::Problem* added = out->add_problems();
    added->set_kind(std::string(sweep::ProblemKindName(problem.kind)));
    added->set_subject(Utf8(sweep::SubjectText(problem.subject, *view.snapshot, names)));
    added->set_message(problem.message);
  }
}

}  // namespace fabricd::rpc
