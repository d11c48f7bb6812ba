// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/convert/convert_verdict.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include "common/number_text.h"
#include "common/utf8.h"
#include "daemon/record/event_log.h"
#include "daemon/rpc/convert/convert.h"
#include "daemon/rpc/convert/convert_policy.h"
#include "daemon/rpc/convert/count.h"
#include "daemon/rpc/convert/grpc_status.h"
#include "fabric/port_name.h"
#include "query/times.h"

namespace fabricd::rpc {
namespace {

// The worst first.
constexpr std::array kListed = {policy::Verdict::kNoisyPhy,     policy::Verdict::kFlapping,
                                policy::Verdict::kSlowReceiver, policy::Verdict::kChatty,
                                policy::Verdict::kSuspect,      policy::Verdict::kVictim,
                                policy::Verdict::kUnknown};
// Ports that an error lists.
constexpr size_t kMostPorts = 16;

// In the model's snapshot, else in the view's; null: in neither.
const fabric::Node* NodeOf(const Verdicts& verdicts, PortRef port) {
  const PortRef known = verdicts.InModel(port);
  if (!known.IsNone()) return verdicts.model.snapshot().node(known.node);
  return verdicts.view.snapshot ? verdicts.view.snapshot->node(port.node) : nullptr;
}

std::string NameOf(const query::ReadModel& model, const fabric::Node& node) {
  const bool is_known = model.snapshot().node(node.index) == &node;
  return Utf8(is_known ? model.name(node.index)
                       : fabric::DisplayName(node, model.names->by_name.map()));
}

// "node12/mlx5_3" for the HCA "node12 mlx5_3": the form of targets, which has no blank to quote.
std::string NodeText(const query::ReadModel& model, const fabric::Node& node) {
  std::string name = NameOf(model, node);
  const bool is_known = model.snapshot().node(node.index) == &node;
  const fabric::Host* host = is_known ? model.hosts->HostOf(node.index) : nullptr;
  if (host != nullptr && name.size() > host->name.size() && name.starts_with(host->name) &&
      name[host->name.size()] == ' ')
    name[host->name.size()] = '/';
  return name;
}

std::string PortText(const query::ReadModel& model, PortRef port) {
  return fabric::PortName(NodeText(model, *model.snapshot().node(port.node)), port.port);
}

absl::Status SeveralPorts(const query::ReadModel& model, const std::string& name,
                          const std::vector<PortRef>& ports) {
  std::string list;
  for (size_t i = 0; i < std::min(ports.size(), kMostPorts); ++i)
    list += (i > 0 ? ", " : "") + PortText(model, ports[i]);
  if (ports.size() > kMostPorts) list += ", …";
  return BadField("port",
                  fmt::format("\"{}\" has {} ports; name one: {}", name, ports.size(), list),
                  "AMBIGUOUS_NAME");
}

std::vector<PortRef> LinkPortsOf(const fabric::Node& node) {
  std::vector<PortRef> ports;
  for (const auto& [ref, port] : node.LinkPorts()) ports.push_back(ref);
  return ports;
}

void Fill(const Verdicts& verdicts, PortRef port, pb::PortId* out) {
  const fabric::Node* node = NodeOf(verdicts, port);
  if (node == nullptr) return;
  out->set_node_guid(fmt::format("{}", node->guid()));
  out->set_node_name(NameOf(verdicts.model, *node));
  out->set_node_type(NodeTypeWord(node->info.node_type));
  out->set_number(port.port.value());
}

pb::EvidenceLevel LevelOf(policy::Level level) {
  switch (level) {
    case policy::Level::kNone: break;
    case policy::Level::kSuspect: return pb::EVIDENCE_LEVEL_SUSPECT;
    case policy::Level::kStrong: return pb::EVIDENCE_LEVEL_STRONG;
    case policy::Level::kFatal: return pb::EVIDENCE_LEVEL_FATAL;
  }
  return pb::EVIDENCE_LEVEL_UNSPECIFIED;
}

const char* UnitWord(policy::Unit unit) {
  switch (unit) {
    case policy::Unit::kCount: break;
    case policy::Unit::kShare: return "share";
    case policy::Unit::kCelsius: return "celsius";
    case policy::Unit::kYes: return "yes";
  }
  return "count";
}

void Fill(const Verdicts& verdicts, const query::VerdictRecord& record,
          const policy::EvidenceRow& row, pb::EvidenceRow* out) {
  out->set_row(std::string(policy::RowName(row.row)));
  if (row.side != policy::Side::kLink)
    Fill(verdicts, row.side == policy::Side::kA ? record.a : record.b, out->mutable_end());
  out->set_signal(std::string(row.signal));
  out->set_level(LevelOf(row.level));
  out->set_value(row.value);
  out->set_unit(UnitWord(row.unit));
  out->set_limit(row.limit);
  out->set_ratio(row.ratio);
  out->set_count(row.count);
  out->set_readings(row.readings);
  *out->mutable_window() = ToDuration(row.window);
  *out->mutable_age() = ToDuration(row.age);
  out->set_source(std::string(row.source));
  out->set_note(std::string(row.note));
  out->set_missing(row.is_missing);
}

// The strongest first; what is not known last.
void FillRows(const Verdicts& verdicts, const query::VerdictRecord& record, RowsShown shown,
              pb::Verdict* out) {
  std::vector<const policy::EvidenceRow*> rows;
  for (const policy::EvidenceRow& row : record.found.rows)
    if (shown == RowsShown::kAll || row.level != policy::Level::kNone) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(), [](const auto* one, const auto* other) {
    return std::pair(one->is_missing, other->level) < std::pair(other->is_missing, one->level);
  });
  for (const policy::EvidenceRow* row : rows) Fill(verdicts, record, *row, out->add_rows());
}

void Fill(const policy::VerdictRemark& remark, pb::VerdictRemark* out) {
  out->set_by(Utf8(remark.by));
  out->set_reason(Utf8(remark.reason));
  *out->mutable_time() = query::ToTimestamp(remark.at);
  if (remark.until) *out->mutable_until() = query::ToTimestamp(*remark.until);
}

void Fill(const policy::LinkResponse& response, pb::Verdict* out) {
  if (response.recommended) out->set_recommended(rpc::KindOf(*response.recommended));
  out->set_action(std::string(policy::ActionName(response.action)));
  out->set_held_back(response.held_back);
  if (response.hold != 0) out->set_hold_id(fmt::format("{}", response.hold));
  if (response.acknowledged) Fill(*response.acknowledged, out->mutable_acknowledged());
  if (response.overruled) Fill(*response.overruled, out->mutable_overruled());
}

// By which rule, then from which pattern it follows whom it accuses.
std::string ReasonOf(const policy::LinkVerdict& found) {
  if (found.attribution.reason.empty()) return std::string(found.reason);
  return fmt::format("{}; {}", found.reason, found.attribution.reason);
}

void FillWaiting(const Verdicts& verdicts, PortRef port, const policy::WaitWindow& wait,
                 pb::WaitingPort* out) {
  Fill(verdicts, port, out->mutable_port());
  out->set_name(LinkPortName(verdicts, port));
  out->set_wait_share(wait.share);
  out->set_utilisation(wait.utilisation);
}

// An end that only an event knows: perhaps its node is gone.
void FillEnd(const query::ReadModel& model, Guid guid, PortNum port, pb::PortId* out,
             std::string* name) {
  out->set_node_guid(fmt::format("{}", guid));
  out->set_number(port.value());
  *name = fabric::PortName(fmt::format("{}", guid), port);
  const fabric::Node* node = model.snapshot().FindNode(guid);
  if (node == nullptr) return;
  out->set_node_name(NameOf(model, *node));
  out->set_node_type(NodeTypeWord(node->info.node_type));
  *name = fabric::PortName(NodeText(model, *node), port);
}

}  // namespace

PortRef Verdicts::InModel(PortRef port) const {
  // Usually both are the same one.
  if (view.snapshot == nullptr || view.snapshot == model.view->snapshot)
    return model.snapshot().node(port.node) ? port : PortRef();
  const fabric::Node* node = view.snapshot->node(port.node);
  const NodeIndex index = node ? model.snapshot().FindIndex(node->guid())
                               : (model.snapshot().node(port.node) ? port.node : NodeIndex::None());
  return index.IsNone() ? PortRef() : PortRef{index, port.port};
}

google::protobuf::Duration ToDuration(Duration duration) {
  return google::protobuf::util::TimeUtil::MillisecondsToDuration(
      std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

std::optional<policy::Verdict> VerdictNamed(std::string_view name) {
  for (const policy::Verdict verdict : kListed)
    if (policy::VerdictName(verdict) == name) return verdict;
  if (policy::VerdictName(policy::Verdict::kHealthy) == name) return policy::Verdict::kHealthy;
  return std::nullopt;
}

std::string VerdictWords() {
  std::string words;
  for (const policy::Verdict verdict : kListed)
    words += fmt::format("{}{}", words.empty() ? "" : ", ", policy::VerdictName(verdict));
  return words;
}

absl::StatusOr<PortRef> FindLinkPort(const query::ReadModel& model, const std::string& name) {
  if (name.empty()) return BadField("port", "is required");
  std::vector<PortRef> ports;
  if (const fabric::Host* host = model.hosts->Find(name)) {
    for (const fabric::HostPort& port : host->ports) ports.push_back(port.port);
  } else {
    const auto address = model.Resolve(name);
    if (!address.ok()) return address.status();
    if (address->has_port && address->port.value() == 0)
      return BadField("port", fmt::format("\"{}\" is a switch's port 0, which has no link", name));
    if (address->has_port) return PortRef{address->node, address->port};
    ports = LinkPortsOf(*model.snapshot().node(address->node));
  }
  if (ports.size() != 1) return SeveralPorts(model, name, ports);
  return ports.front();
}

std::string LinkPortName(const Verdicts& verdicts, PortRef port) {
  const fabric::Node* node = NodeOf(verdicts, port);
  return node ? fabric::PortName(NodeText(verdicts.model, *node), port.port) : "";
}

void ToProto(const Verdicts& verdicts, const query::VerdictRecord& record, RowsShown rows,
             pb::Verdict* out) {
  const policy::Culprit culprit = query::CulpritOf(record);
  const policy::Standing& standing = record.standing;
  Fill(verdicts, record.a, out->mutable_a());
  out->set_a_name(LinkPortName(verdicts, record.a));
  Fill(verdicts, record.b, out->mutable_b());
  out->set_b_name(LinkPortName(verdicts, record.b));
  out->set_verdict(std::string(policy::VerdictName(query::VerdictOf(record))));
  out->set_stage(std::string(policy::StageName(standing.stage)));
  if (culprit != policy::Culprit::kNone)
    out->set_culprit(std::string(policy::CulpritName(culprit)));
  Fill(verdicts, query::AccusedEnd(record), out->mutable_end());
  out->set_confidence(record.found.confidence);
  out->set_reason(ReasonOf(record.found));
  out->set_remedy(std::string(query::RemedyOf(record)));
  if (standing.since != Instant())
    *out->mutable_since() = query::ToTimestamp(daemon::ToWallMs(standing.since));
  if (standing.stage == policy::Stage::kRecovering)
    *out->mutable_clean_time() = ToDuration(standing.clean_time);
  out->set_needs_operator(standing.needs_operator);
  out->set_stale(!standing.is_known);
  Fill(record.response, out);
  if (!record.root.IsNone()) Fill(verdicts, record.root, out->mutable_root());
  if (record.finding > 0 && record.finding <= verdicts.view.findings.size())
    ToProto(verdicts, verdicts.view.findings[record.finding - 1], out->mutable_common_cause());
  if (rows != RowsShown::kNone) FillRows(verdicts, record, rows, out);
}

void ToProto(const Verdicts& verdicts, const policy::CommonFinding& finding, pb::CommonCause* out) {
  out->set_cause(std::string(policy::CommonCauseName(finding.cause)));
  if (finding.node) {
    out->set_node_guid(fmt::format("{}", finding.node));
    const fabric::Node* node = verdicts.model.snapshot().FindNode(finding.node);
    if (node != nullptr) out->set_node_name(NameOf(verdicts.model, *node));
  }
  out->set_message(policy::FindingText(finding));
  out->set_affected(Count(finding.affected));
  out->set_total(Count(finding.of));
}

void ToProto(const Verdicts& verdicts, const telemetry::CongestionRoot& root, size_t max_victims,
             pb::CongestionTree* out) {
  FillWaiting(verdicts, root.port, root.wait, out->mutable_root());
  out->set_kind(std::string(telemetry::CongestionKindName(root.kind)));
  const fabric::FabricSnapshot* snapshot = verdicts.view.snapshot.get();
  const fabric::Port* port = snapshot ? snapshot->port(root.port) : nullptr;
  if (port != nullptr && !port->peer.IsNone()) {
    Fill(verdicts, port->peer, out->mutable_peer());
    out->set_peer_name(LinkPortName(verdicts, port->peer));
  }
  out->set_cycle(root.is_cycle);
  for (size_t i = 0; i < std::min(root.victims.size(), max_victims); ++i) {
    const telemetry::WaitingPort& victim = root.victims[i];
    pb::WaitingPort* added = out->add_victims();
    FillWaiting(verdicts, victim.port, victim.wait, added);
    if (!victim.towards.IsNone()) Fill(verdicts, victim.towards, added->mutable_towards());
    added->set_hops(victim.hops);
  }
  out->set_victims_total(Count(root.victims.size()));
}

bool ToProto(const Verdicts& verdicts, const fabric::FabricEvent& event, pb::VerdictChange* out) {
  if (event.type != "VerdictChanged" && event.type != "VerdictAcknowledged" &&
      event.type != "VerdictOverruled")
    return false;
  pb::Verdict* verdict = out->mutable_verdict();
  const auto fact = [&](std::string_view key) {
    for (const auto& [name, value] : event.facts)
      if (name == key) return Utf8(value);
    return std::string();
  };
  FillEnd(verdicts.model, event.node, event.port, verdict->mutable_a(), verdict->mutable_a_name());
  FillEnd(verdicts.model, event.peer, event.peer_port, verdict->mutable_b(),
          verdict->mutable_b_name());
  verdict->set_verdict(fact("verdict"));
  verdict->set_stage(fact("stage"));
  if (const std::string culprit = fact("culprit"); culprit != "none") verdict->set_culprit(culprit);
  verdict->set_confidence(ParseNumber<double>(fact("confidence")).value_or(0));
  verdict->set_reason(fact("reason"));
  verdict->set_action(fact("action"));
  verdict->set_held_back(fact("held_back"));
  if (const std::string hold = fact("hold"); hold != "0") verdict->set_hold_id(hold);
  out->set_before(event.type == "VerdictChanged" ? fact("before") : verdict->verdict());
  return true;
}

}  // namespace fabricd::rpc
