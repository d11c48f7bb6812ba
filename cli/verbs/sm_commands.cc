// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/sm_commands.h"

#include <fmt/format.h>

#include "cli/client/client.h"
#include "cli/render/output.h"

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

}  // namespace

Result StepDown(Client& client, const Globals& globals, const SmOptions& options) {
  pb::StepDownRequest request;
  request.set_validate_only(options.dry_run);
  request.set_reason(options.reason);
  request.set_request_id(options.request_id);
  pb::StepDownResponse response;
  const Result result = client.Call(client.admin(), &pb::AdminService::Stub::StepDown, request,
                                    &response, kLongTimeout);
  if (!result.ok() || PrintDocument(globals, response)) return result;
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

}  // namespace fabricd::cli
