// SPDX-License-Identifier: Apache-2.0
#include "cli/render/policy_tables.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include "cli/render/tables.h"

namespace fabricd::cli {
namespace {

using google::protobuf::util::TimeUtil;

std::string AgeText(const google::protobuf::Timestamp& time, int64_t now_ms) {
  return SpanText(now_ms - TimeUtil::TimestampToMilliseconds(time));
}

std::string InText(const google::protobuf::Timestamp& time, int64_t now_ms) {
  return SpanText(TimeUtil::TimestampToMilliseconds(time) - now_ms);
}

Cell StateCell(const pb::Hold& hold) {
  if (hold.state() == pb::HOLD_STATE_IN_EFFECT) return {"InEffect", Tone::kGood};
  return {"Pending", Tone::kWarning};
}

Cell SeverityCell(pb::Severity severity) {
  switch (severity) {
    case pb::SEVERITY_ERROR: return {"Error", Tone::kBad};
    case pb::SEVERITY_WARNING: return {"Warning", Tone::kWarning};
    default: return {"Info", Tone::kPlain};
  }
}

std::string ModeText(pb::ConditionMode mode) {
  switch (mode) {
    case pb::CONDITION_MODE_OBSERVE: return "observe";
    case pb::CONDITION_MODE_RECOMMEND: return "recommend";
    case pb::CONDITION_MODE_ENFORCE: return "enforce";
    default: return "";
  }
}

std::string TargetKindWord(pb::TargetKind kind) {
  switch (kind) {
    case pb::TARGET_KIND_HOST: return "host";
    case pb::TARGET_KIND_HCA: return "hca";
    case pb::TARGET_KIND_SWITCH: return "switch";
    case pb::TARGET_KIND_PORT: return "port";
    case pb::TARGET_KIND_LINK: return "link";
    default: return "target";
  }
}

std::string PortList(const google::protobuf::RepeatedPtrField<pb::PortId>& ports) {
  constexpr int kMost = 16;
  std::vector<std::string> names;
  for (int i = 0; i < std::min(ports.size(), kMost); ++i) names.push_back(PortText(ports[i]));
  const std::string text = fmt::format("{}", fmt::join(names, ", "));
  return ports.size() <= kMost ? text : fmt::format("{} and {} more", text, ports.size() - kMost);
}

// What a reroute cost, in a few words.
std::string RerouteText(const pb::RerouteCompleted& cost) {
  return fmt::format("{}: {} in {:.1f} ms (known {:.1f}, planned {:.1f}), {} SMPs, {} blocks",
                     cost.cause(), cost.superseded() ? "superseded" : "applied", cost.applied_ms(),
                     cost.surveyed_ms(), cost.planned_ms(), cost.smps_sent(),
                     cost.blocks_written());
}

}  // namespace

Cell ReadinessCell(pb::Readiness readiness) {
  switch (readiness) {
    case pb::READINESS_READY: return {"READY", Tone::kGood};
    case pb::READINESS_DEGRADED: return {"DEGRADED", Tone::kWarning};
    case pb::READINESS_HELD: return {"HELD", Tone::kWarning};
    case pb::READINESS_LOST: return {"LOST", Tone::kBad};
    default: return {"UNKNOWN", Tone::kBad};
  }
}

std::string SpanText(int64_t ms) {
  const int64_t s = std::max<int64_t>(ms, 0) / 1000;
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return s % 60 ? fmt::format("{}m{}s", s / 60, s % 60) : fmt::format("{}m", s / 60);
  const int64_t m = s / 60;
  if (m < 24 * 60)
    return m % 60 ? fmt::format("{}h{}m", m / 60, m % 60) : fmt::format("{}h", m / 60);
  const int64_t h = m / 60;
  return h % 24 ? fmt::format("{}d{}h", h / 24, h % 24) : fmt::format("{}d", h / 24);
}

std::string KindWord(pb::HoldKind kind) {
  switch (kind) {
    case pb::HOLD_KIND_CORDON: return "cordon";
    case pb::HOLD_KIND_DRAIN: return "drain";
    case pb::HOLD_KIND_ISOLATE: return "isolate";
    case pb::HOLD_KIND_DISABLE: return "disable";
    default: return "hold";
  }
}

std::string HoldKindText(const pb::Hold& hold) {
  return KindWord(hold.kind()) + (hold.mode() == pb::DRAIN_MODE_SOFT ? " (soft)" : "");
}

std::string TargetText(const pb::HoldTarget& target) {
  return fmt::format("{}/{}", TargetKindWord(target.kind()), target.name());
}

Table HoldTable(const pb::ListHoldsResponse& holds, bool wide, int64_t now_ms) {
  std::vector<std::string> headers = {"ID",    "KIND", "TARGET",  "STATUS",
                                      "OWNER", "AGE",  "EXPIRES", "REASON"};
  if (wide) headers.insert(headers.end(), {"NOTE", "FORCED", "ACKNOWLEDGED", "REQUEST-ID"});
  Table table(headers);
  for (const pb::Hold& hold : holds.holds()) {
    std::vector<Cell> row = {hold.id(),
                             HoldKindText(hold),
                             TargetText(hold.target()),
                             StateCell(hold),
                             hold.owner(),
                             AgeText(hold.created(), now_ms),
                             hold.has_expires() ? InText(hold.expires(), now_ms) : "never",
                             hold.reason()};
    if (wide) {
      row.insert(row.end(), {hold.note(), hold.forced() ? "yes" : "no",
                             hold.has_acknowledged() ? AgeText(hold.acknowledged(), now_ms) : "",
                             hold.request_id()});
    }
    table.AddRow(std::move(row));
  }
  return table;
}

Table ConditionTable(const pb::ListConditionsResponse& conditions, bool wide, int64_t now_ms) {
  std::vector<std::string> headers = {"TYPE",        "SUBJECT", "AGE",    "MODE",
                                      "RECOMMENDED", "HOLD",    "MESSAGE"};
  if (wide) headers.insert(headers.end(), {"HELD-BACK", "NODE-GUID", "EVIDENCE"});
  Table table(headers);
  for (const pb::Condition& condition : conditions.conditions()) {
    std::vector<Cell> row = {{condition.type(), Tone::kWarning},
                             condition.subject(),
                             AgeText(condition.since(), now_ms),
                             ModeText(condition.mode()),
                             KindWord(condition.recommended()),
                             condition.hold_id(),
                             condition.message()};
    if (wide) {
      std::vector<std::string> evidence;
      for (const auto& [key, value] : condition.evidence())
        evidence.push_back(fmt::format("{}={}", key, value));
      std::sort(evidence.begin(), evidence.end());
      row.insert(row.end(), {condition.held_back(), condition.node_guid(),
                             fmt::format("{}", fmt::join(evidence, ","))});
    }
    table.AddRow(std::move(row));
  }
  return table;
}

Table DampedLinkTable(const pb::ListDampedLinksResponse& links, bool wide, int64_t now_ms) {
  std::vector<std::string> headers = {"A", "B", "STATUS", "PENALTY", "FLAPS", "RELEASE", "REASON"};
  if (wide) headers.insert(headers.end(), {"A-GUID", "B-GUID"});
  Table table(headers);
  for (const pb::DampedLink& link : links.links()) {
    const Cell status = !link.suppressed() ? Cell("Watched", Tone::kPlain)
                        : link.needed()    ? Cell("SUPPRESSED,Needed", Tone::kBad)
                                           : Cell("SUPPRESSED", Tone::kWarning);
    std::vector<Cell> row = {PortText(link.a()),
                             PortText(link.b()),
                             status,
                             fmt::format("{:.0f}", link.penalty()),
                             fmt::format("{}", link.flaps()),
                             link.has_release() ? InText(link.release(), now_ms) : "",
                             link.reason()};
    if (wide) row.insert(row.end(), {link.a().node_guid(), link.b().node_guid()});
    table.AddRow(std::move(row));
  }
  return table;
}

Table ReadinessTable(const pb::BatchGetReadinessResponse& readiness, bool wide) {
  Table table({"HOST", "READINESS", "NICS", "REASON"});
  for (const pb::HostReadiness& host : readiness.hosts()) {
    const auto ready = std::count_if(
        host.nics().begin(), host.nics().end(),
        [](const pb::NicReadiness& nic) { return nic.readiness() == pb::READINESS_READY; });
    std::string reason = host.reasons().empty() ? "" : host.reasons(0);
    if (wide) {
      reason = fmt::format("{}", fmt::join(host.reasons(), "; "));
    } else if (host.reasons_size() > 1) {
      reason += fmt::format(" (and {} more)", host.reasons_size() - 1);
    }
    table.AddRow({host.host(), ReadinessCell(host.readiness()),
                  fmt::format("{}/{}", ready, host.nics_size()), reason});
  }
  return table;
}

Table EventTable(const pb::ListEventsResponse& events, bool wide) {
  std::vector<std::string> headers = {"TIME", "SEVERITY", "TYPE", "SUBJECT", "MESSAGE"};
  if (wide) headers.insert(headers.end(), {"NODE-GUID", "VERSION", "FACTS"});
  Table table(headers);
  for (const pb::Event& event : events.events()) {
    std::string message = event.message();
    if (event.has_reroute() && message.empty()) message = RerouteText(event.reroute());
    std::vector<Cell> row = {TimeUtil::ToString(event.time()), SeverityCell(event.severity()),
                             event.type(), event.subject(), message};
    if (wide) {
      std::vector<std::string> facts;
      for (const auto& [key, value] : event.facts())
        facts.push_back(fmt::format("{}={}", key, value));
      std::sort(facts.begin(), facts.end());
      if (event.has_reroute()) facts.push_back(RerouteText(event.reroute()));
      row.insert(row.end(), {event.node_guid(), event.resource_version(),
                             fmt::format("{}", fmt::join(facts, ","))});
    }
    table.AddRow(std::move(row));
  }
  return table;
}

std::string ConsequencesText(const pb::CreateHoldResponse& response) {
  const pb::Hold& hold = response.hold();
  const std::string head =
      fmt::format("{} of {}, dry run\n", HoldKindText(hold), TargetText(hold.target()));
  if (response.existing()) return head + fmt::format("  stands already: hold {}\n", hold.id());
  return head + ConsequencesLines(response.consequences());
}

std::string ConsequencesLines(const pb::Consequences& c) {
  std::string text;
  const auto line = [&](const char* key, const std::string& value) {
    text += fmt::format("  {:<14} {}\n", std::string(key) + ":", value);
  };
  if (!c.plan_found()) line("Routes", "none are found: " + c.why_not());
  line("Paths moved", fmt::format("{} table entries, of {} destinations", c.paths_moved(),
                                  c.destinations_moved()));
  line("Tables", fmt::format("{} blocks on {} switches", c.blocks_written(), c.switches_written()));
  line("Load", fmt::format("{} -> {} paths on the busiest cable between switches", c.load_before(),
                           c.load_after()));
  line("Pairs lost", fmt::format("{}", c.pairs_lost()));
  if (c.destinations_interrupted() > 0)
    line("Interrupted",
         fmt::format("{} destinations, {} table entries: taken away before they are replaced",
                     c.destinations_interrupted(), c.paths_interrupted()));
  if (c.sm_cut_off()) line("SM", "its own port is cut off");
  if (!c.cut_off().empty()) line("Cut off", PortList(c.cut_off()));
  if (!c.needed().empty()) line("Still needed", PortList(c.needed()));
  return text;
}

}  // namespace fabricd::cli
