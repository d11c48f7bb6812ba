// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/check_command.h"

#include <fmt/format.h>

namespace fabricd::cli {
namespace {

// At most kCheckLine bytes, whole characters.
std::string Fit(std::string line) {
  constexpr std::string_view kMore = "...";
  if (line.size() <= kCheckLine) return line;
  size_t end = kCheckLine - kMore.size();
  while (end > 0 && (line[end] & 0xC0) == 0x80) --end;
  return line.substr(0, end).append(kMore);
}

std::string Word(pb::Readiness readiness) {
  constexpr std::string_view kPrefix = "READINESS_";
  return pb::Readiness_Name(readiness).substr(kPrefix.size());
}

}  // namespace

Verdict Judge(const pb::HostReadiness& host, const CheckOptions& options) {
  Verdict verdict;
  switch (host.readiness()) {
    case pb::READINESS_READY: verdict.word = Verdict::kWell; break;
    case pb::READINESS_DEGRADED:
      verdict.word = options.allow_degraded ? Verdict::kWell : Verdict::kIll;
      break;
    case pb::READINESS_HELD:
    case pb::READINESS_LOST: verdict.word = Verdict::kIll; break;
    default: verdict.word = Verdict::kUnknown; break;
  }
  std::string line = fmt::format("{} {}", host.host(), Word(host.readiness()));
  if (!host.reasons().empty()) line += ": " + host.reasons(0);
  if (host.reasons_size() > 1) line += fmt::format(" (+{})", host.reasons_size() - 1);
  verdict.line = Fit(std::move(line));
  return verdict;
}

Result Check(Client& client, const CheckOptions& options) {
  pb::BatchGetReadinessRequest request;
  request.add_hosts(options.host);
  pb::BatchGetReadinessResponse response;
  Result result =
      client.Call(client.remediation(), &pb::RemediationService::Stub::BatchGetReadiness, request,
                  &response, kProbeTimeout);
  const Verdict verdict = result.ok() && response.hosts_size() == 1
                              ? Judge(response.hosts(0), options)
                              : Verdict{Verdict::kUnknown, Fit("fabric: " + result.message)};
  Print(verdict.line + "\n");
  if (options.problem_detector) return {static_cast<ExitCode>(verdict.word), ""};
  if (!result.ok() || verdict.word == Verdict::kWell) return result;
  return {verdict.word == Verdict::kIll ? kFailure : kNotFound, ""};
}

}  // namespace fabricd::cli
