// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/sm_commands.h"

#include <map>

#include <fmt/format.h>

#include "cli/client/client.h"
#include "cli/render/output.h"
#include "cli/render/table.h"

namespace fabricd::cli {
namespace {

constexpr char kHowLong[] = "until `sm priority`, a reload that sweeps, or a restart";

std::string NameOf(const pb::SmSuccessor& sm) {
  const std::string name = sm.node_name().empty() ? "" : fmt::format(" on {}", sm.node_name());
  return fmt::format("SM {}{} (priority {})", sm.guid(), name, sm.priority());
}

std::string ChangeText(uint32_t before, uint32_t now) {
  return before == now ? fmt::format("priority {}, as before", now)
                       : fmt::format("priority {} -> {}", before, now);
}

// ---- takeovers

// Names on one line; the rest is counted.
std::string ListText(const google::protobuf::RepeatedPtrField<std::string>& names, uint32_t count) {
  constexpr int kShown = 5;
  std::string text;
  for (int i = 0; i < names.size() && i < kShown; ++i)
    text += (text.empty() ? "" : ", ") + names[i];
  if (count > kShown) text += fmt::format(", … ({} in all)", count);
  return text;
}

std::string StatusText(const pb::GetTakeoverReportResponse& report) {
  if (report.held()) return "held: nothing is written until this report is accepted";
  if (report.mode() == "manage") return "this fabricd manages the subnet; the report is of before";
  return fmt::format("{} mode: nothing is written", report.mode());
}

Table RiskTable(const pb::GetTakeoverReportResponse& report) {
  Table table({"RISK", "NOW", "THEN", "PORTS", "EXAMPLE"});
  for (const pb::TakeoverRisk& risk : report.risks())
    table.AddRow(
        {risk.kind(), risk.from(), risk.to(), fmt::format("{}", risk.ports()), risk.example()});
  return table;
}

Table SetTable(const pb::GetTakeoverReportResponse& report) {
  Table table({"ATTRIBUTE", "SETS"});
  for (const pb::TakeoverSets& sets : report.sets()) {
    table.AddRow({sets.attribute(), fmt::format("{}", sets.sets())});
    const std::map<std::string, uint32_t> fields(sets.fields().begin(), sets.fields().end());
    for (const auto& [field, count] : fields)
      table.AddRow({fmt::format("{}.{}", sets.attribute(), field), fmt::format("{}", count)});
  }
  return table;
}

Table SmTable(const pb::GetTakeoverReportResponse& report) {
  Table table({"SM", "STATE", "PRIORITY", "NODE"});
  for (const pb::TakeoverSm& sm : report.sms())
    table.AddRow({sm.guid(), sm.state(), fmt::format("{}", sm.priority()), sm.node_name()});
  return table;
}

void PrintFacts(const pb::GetTakeoverReportResponse& report) {
  Print(fmt::format("Takeover report {}: {}\n", report.id().empty() ? "without risks" : report.id(),
                    StatusText(report)));
  const auto line = [](const char* label, const std::string& text) {
    Print(fmt::format("  {:<22}{}\n", label, text));
  };
  line("Forwarding tables",
       report.no_plan().empty()
           ? fmt::format("{} blocks of {} switches", report.lft_blocks(), report.lft_switches())
           : report.no_plan());
  line("LIDs that change", fmt::format("{}", report.lids_changed()));
  line("Multicast LIDs", fmt::format("{} forwarded, of which {} are not known here",
                                     report.mlids_forwarded(), report.mlids_unknown()));
  line("Unresponsive",
       fmt::format("{} of {} ACTIVE{}{}", report.unresponsive_ports(), report.active_ports(),
                   report.unresponsive_ports() > 0 ? ": " : "",
                   ListText(report.unresponsive(), report.unresponsive_ports())));
  line("Enforcement kept", fmt::format("{} switch ports", report.ports_kept_enforcing()));
  const auto& adaptive = report.adaptive_routing_switches();
  if (!adaptive.empty())
    line("Adaptive routing on", ListText(adaptive, static_cast<uint32_t>(adaptive.size())));
  const auto& aggregation = report.aggregation_nodes();
  if (!aggregation.empty())
    line("Aggregation nodes", ListText(aggregation, static_cast<uint32_t>(aggregation.size())));
  if (report.virtualized_ports() > 0)
    line("Virtualized ports", fmt::format("{}", report.virtualized_ports()));
}

void PrintBlock(const Globals& globals, const char* title, const Table& table) {
  if (table.size() > 0) Print(fmt::format("\n{}\n{}", title, table.Render(globals.style)));
}

}  // namespace

Result StepDown(Client& client, const Globals& globals, const SmOptions& options) {
  pb::StepDownRequest request;
  request.set_validate_only(options.dry_run);
  request.set_reason(options.reason);
  request.set_request_id(options.request_id);
  request.set_for_upgrade(options.for_upgrade);
  pb::StepDownResponse response;
  const Result result = client.Call(client.admin(), &pb::AdminService::Stub::StepDown, request,
                                    &response, kLongTimeout);
  if (!result.ok() || PrintDocument(globals, response)) return result;
  if (response.before() == response.priority()) {
    Print(fmt::format("{} {}{}\n", NameOf(response.successor()),
                      options.dry_run ? "would take over" : "takes over now, and this one waits",
                      options.dry_run ? " (dry run)" : ""));
    return {};
  }
  Print(fmt::format("{} {}{}\n", NameOf(response.successor()),
                    options.dry_run ? "would be master" : "is master now",
                    options.dry_run ? " (dry run)" : ""));
  Print(fmt::format("{}, {}\n", ChangeText(response.before(), response.priority()), kHowLong));
  return {};
}

Result SetPriority(Client& client, const Globals& globals, uint32_t priority,
                   const SmOptions& options) {
  pb::SetPriorityRequest request;
  request.set_priority(priority);
  request.set_validate_only(options.dry_run);
  request.set_reason(options.reason);
  pb::SetPriorityResponse response;
  const Result result =
      client.Call(client.admin(), &pb::AdminService::Stub::SetPriority, request, &response);
  if (!result.ok() || PrintDocument(globals, response)) return result;
  Print(fmt::format("{}{}, {}\n", ChangeText(response.before(), response.priority()),
                    options.dry_run ? " (dry run)" : "",
                    "until `sm step-down`, a reload that sweeps, or a restart"));
  if (response.has_successor())
    Print(fmt::format("{} to {}\n",
                      options.dry_run ? "would hand the subnet over" : "handing the subnet over",
                      NameOf(response.successor())));
  return {};
}

Result TakeoverPlan(Client& client, const Globals& globals) {
  pb::GetTakeoverReportResponse report;
  const Result result = client.Call(client.admin(), &pb::AdminService::Stub::GetTakeoverReport,
                                    pb::GetTakeoverReportRequest(), &report);
  if (!result.ok()) return result;
  if (!PrintDocument(globals, report)) {
    PrintFacts(report);
    PrintBlock(globals, "Changes that need acceptance", RiskTable(report));
    PrintBlock(globals, "Sets", SetTable(report));
    PrintBlock(globals, "Other subnet managers", SmTable(report));
    if (report.held())
      Print(fmt::format("\nTo go on: fabricctl takeover accept {}\n", report.id()));
  }
  return report.held() ? Result{kFailure, ""} : Result{};
}

Result TakeoverAccept(Client& client, const Globals& globals, const std::string& id,
                      const std::string& reason) {
  pb::AcceptTakeoverRequest request;
  request.set_id(id);
  request.set_reason(reason);
  pb::AcceptTakeoverResponse response;
  const Result result =
      client.Call(client.admin(), &pb::AdminService::Stub::AcceptTakeover, request, &response);
  if (!result.ok() || PrintDocument(globals, response)) return result;
  Print(fmt::format("takeover {} accepted: the fabric is read again, and configured\n", id));
  return {};
}

}  // namespace fabricd::cli
