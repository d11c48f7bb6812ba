// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/verdict_commands.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include "cli/render/verdict_tables.h"
#include "cli/verbs/listing.h"
#include "cli/verbs/watch.h"

namespace fabricd::cli {
namespace {

using google::protobuf::util::TimeUtil;
using VerdictStub = pb::VerdictService::Stub;

// Lines of `check fabric` below the first.
constexpr int kMostDetails = 20;
// An assessment that is this many intervals old tells nothing of now.
constexpr int kStaleIntervals = 3;

// "noisy-phy" is NOISY_PHY.
std::string VerdictWord(std::string word) {
  for (char& c : word) c = c == '-' ? '_' : static_cast<char>(std::toupper(c));
  return word;
}

pb::ListVerdictsRequest ListRequest(const GetOptions& options) {
  pb::ListVerdictsRequest request;
  request.mutable_names()->Assign(options.names.begin(), options.names.end());
  for (const std::string& word : options.verdicts) request.add_verdicts(VerdictWord(word));
  request.set_bad_only(options.bad);
  return request;
}

// Whether the options that are no selectors choose it.
bool IsChosen(const GetOptions& options, const pb::Verdict& verdict) {
  const std::string& word = verdict.verdict();
  if (options.bad && !IsBadVerdict(word)) return false;
  if (options.verdicts.empty()) return word != "HEALTHY" && word != "UNKNOWN";
  return std::any_of(options.verdicts.begin(), options.verdicts.end(),
                     [&](const std::string& wanted) { return VerdictWord(wanted) == word; });
}

// A listing of verdicts that goes on with what changes.
class VerdictWatch {
 public:
  VerdictWatch(const Globals& globals, const GetOptions& options)
      : globals_(globals), options_(options), printer_(globals) {}

  Result ShowFirst(std::unique_ptr<google::protobuf::Message> answer) {
    Listing listing;
    Result result = MakeListing(globals_, options_, std::move(answer), &listing);
    if (!result.ok()) return result;
    shown_.insert(listing.names.begin(), listing.names.end());
    std::string names;
    for (const std::string& name : listing.names) names += name + "\n";
    printer_.PrintRows(*listing.document, names, listing.table);
    return {};
  }
  // What was listed is shown also as what it is not any more.
  Result Take(const pb::WatchVerdictsResponse& message) {
    if (!message.has_change()) return {};
    const pb::Verdict& verdict = message.change().verdict();
    auto answer = std::make_unique<pb::ListVerdictsResponse>();
    *answer->add_verdicts() = verdict;
    Listing listing;
    Result result = MakeListing(globals_, options_, std::move(answer), &listing);
    if (!result.ok() || listing.items.empty()) return result;
    const std::string& name = listing.names.front();
    if (IsChosen(options_, verdict))
      shown_.insert(name);
    else if (shown_.erase(name) == 0)
      return {};
    printer_.PrintRows(*listing.items.front(), name + "\n", listing.table);
    return {};
  }

 private:
  const Globals& globals_;
  const GetOptions& options_;
  WatchPrinter printer_;
  std::set<std::string> shown_;
};

// Says the same of one verdict after the other.
template <typename Request, typename Response>
Result Remark(Client& client, const Globals& globals, const RemarkOptions& options,
              grpc::Status (VerdictStub::*method)(grpc::ClientContext*, const Request&, Response*),
              const char* done) {
  for (const std::string& port : options.ports) {
    Request request;
    request.set_port(port);
    request.set_reason(options.reason);
    if constexpr (std::is_same_v<Request, pb::OverruleVerdictRequest>)
      if (options.ttl)
        *request.mutable_ttl() = TimeUtil::MillisecondsToDuration(options.ttl->count());
    Response response;
    const Result result = client.Call(client.verdicts(), method, request, &response);
    if (!result.ok()) return {result.code, fmt::format("{}: {}", port, result.message)};
    const pb::Verdict& verdict = response.verdict();
    if (PrintDocument(globals, response)) continue;
    if (globals.format == Format::kName)
      Print(fmt::format("verdict/{}\n", AccusedName(verdict)));
    else
      Print(fmt::format("{} - {} {} ({})\n", verdict.a_name(), verdict.b_name(), done,
                        verdict.verdict()));
  }
  return {};
}

uint32_t CountOf(const pb::ListVerdictsResponse& verdicts, const char* word) {
  const auto found = verdicts.counts().find(std::string(word));
  return found == verdicts.counts().end() ? 0 : found->second;
}

FabricHealth::Code CodeOf(const pb::ListVerdictsResponse& verdicts) {
  bool is_blackout = false;
  for (const pb::CommonCause& cause : verdicts.common_causes())
    is_blackout |= cause.cause() == "BLACKOUT";
  for (const char* word : {"NOISY_PHY", "FLAPPING", "SLOW_RECEIVER", "CHATTY"})
    if (CountOf(verdicts, word) > 0) return FabricHealth::kCritical;
  const int64_t age = TimeUtil::DurationToMilliseconds(verdicts.age());
  const int64_t interval = TimeUtil::DurationToMilliseconds(verdicts.interval());
  if (is_blackout || (interval > 0 && age > kStaleIntervals * interval))
    return FabricHealth::kUnknown;
  const bool is_any_stale = std::any_of(verdicts.verdicts().begin(), verdicts.verdicts().end(),
                                        [](const pb::Verdict& verdict) { return verdict.stale(); });
  if (CountOf(verdicts, "SUSPECT") > 0 || CountOf(verdicts, "VICTIM") > 0 || is_any_stale ||
      verdicts.breaker_open() || !verdicts.common_causes().empty())
    return FabricHealth::kWarning;
  // Links of which nothing is known are no healthy fabric.
  return CountOf(verdicts, "HEALTHY") > 0 ? FabricHealth::kOk : FabricHealth::kUnknown;
}

const char* WordOf(FabricHealth::Code code) {
  switch (code) {
    case FabricHealth::kOk: return "OK";
    case FabricHealth::kWarning: return "WARNING";
    case FabricHealth::kCritical: return "CRITICAL";
    case FabricHealth::kUnknown: break;
  }
  return "UNKNOWN";
}

}  // namespace

Result FetchVerdicts(Client& client, const GetOptions& options, bool,
                     std::unique_ptr<google::protobuf::Message>* answer) {
  auto response = std::make_unique<pb::ListVerdictsResponse>();
  Result result = client.List(client.verdicts(), &VerdictStub::ListVerdicts, ListRequest(options),
                              response.get());
  if (!result.ok()) return result;
  if (const std::string why = WhyNoVerdicts(*response); !why.empty()) return {kUnavailable, why};
  *answer = std::move(response);
  return {};
}

Result WatchVerdicts(Client& client, const Globals& globals, const GetOptions& options) {
  std::unique_ptr<google::protobuf::Message> answer;
  Result result = FetchVerdicts(client, options, true, &answer);
  if (!result.ok()) return result;
  pb::WatchVerdictsRequest request;
  request.mutable_names()->Assign(options.names.begin(), options.names.end());
  request.set_resource_version(
      static_cast<const pb::ListVerdictsResponse&>(*answer).resource_version());
  VerdictWatch watch(globals, options);
  if (result = watch.ShowFirst(std::move(answer)); !result.ok()) return result;
  return client.Follow(
      client.verdicts(), &VerdictStub::WatchVerdicts, request,
      std::function<Result(const pb::WatchVerdictsResponse&)>(
          [&](const pb::WatchVerdictsResponse& message) { return watch.Take(message); }),
      globals.timeout);
}

Result DescribeVerdictOf(Client& client, const Globals& globals, const std::string& port) {
  pb::GetVerdictRequest request;
  request.set_port(port);
  pb::GetVerdictResponse response;
  const Result result =
      client.Call(client.verdicts(), &VerdictStub::GetVerdict, request, &response);
  if (result.ok() && !PrintDocument(globals, response)) Print(DescribeVerdict(response, NowMs()));
  return result;
}

Result AckVerdicts(Client& client, const Globals& globals, const RemarkOptions& options) {
  return Remark<pb::AckVerdictRequest, pb::AckVerdictResponse>(
      client, globals, options, &VerdictStub::AckVerdict, "acknowledged");
}

Result OverruleVerdicts(Client& client, const Globals& globals, const RemarkOptions& options) {
  return Remark<pb::OverruleVerdictRequest, pb::OverruleVerdictResponse>(
      client, globals, options, &VerdictStub::OverruleVerdict, "overruled");
}

Result ReleaseVerdicts(Client& client, const Globals& globals, const RemarkOptions& options) {
  return Remark<pb::ReleaseVerdictRequest, pb::ReleaseVerdictResponse>(
      client, globals, options, &VerdictStub::ReleaseVerdict, "released");
}

Result ResetBreaker(Client& client, const std::string& reason) {
  pb::ResetVerdictBreakerRequest request;
  request.set_reason(reason);
  pb::ResetVerdictBreakerResponse response;
  const Result result =
      client.Call(client.verdicts(), &VerdictStub::ResetVerdictBreaker, request, &response);
  if (result.ok()) Print("actions may follow from verdicts\n");
  return result;
}

Result Congestion(Client& client, const Globals& globals, const CongestionOptions& options) {
  pb::ListCongestionRequest request;
  request.mutable_names()->Assign(options.names.begin(), options.names.end());
  request.set_max_victims(options.victims);
  pb::ListCongestionResponse congestion;
  const Result result =
      client.List(client.verdicts(), &VerdictStub::ListCongestion, request, &congestion);
  if (!result.ok()) return result;
  if (!congestion.enabled() || !congestion.has_assessed())
    return {kUnavailable, congestion.enabled()
                              ? "nothing is known of congestion: it has not been looked for yet"
                              : "nothing is known of congestion: telemetry does not poll, or "
                                "verdicts.enabled is false (fabricctl describe telemetry)"};
  if (PrintDocument(globals, congestion)) return {};
  if (congestion.trees().empty()) PrintError("No congestion found.\n");
  PrintLong(globals, CongestionText(congestion));
  return {};
}

FabricHealth EvaluateFabric(const pb::ListVerdictsResponse& verdicts) {
  FabricHealth health;
  if (const std::string why = WhyNoVerdicts(verdicts); !why.empty()) {
    health.text = fmt::format("UNKNOWN: {}\n", why);
    return health;
  }
  health.code = CodeOf(verdicts);
  health.text = fmt::format("{}: {}", WordOf(health.code), VerdictNotes(verdicts));
  for (int i = 0; i < std::min(verdicts.verdicts_size(), kMostDetails); ++i) {
    const pb::Verdict& verdict = verdicts.verdicts(i);
    health.text +=
        fmt::format("{} {} {}{}\n", verdict.verdict(), AccusedName(verdict), verdict.stage(),
                    verdict.culprit().empty() ? "" : " by " + verdict.culprit());
  }
  if (verdicts.verdicts_size() > kMostDetails)
    health.text += fmt::format("and {} more\n", verdicts.verdicts_size() - kMostDetails);
  return health;
}

Result CheckFabric(Client& client) {
  pb::ListVerdictsResponse verdicts;
  const Result result = client.List(client.verdicts(), &VerdictStub::ListVerdicts,
                                    pb::ListVerdictsRequest(), &verdicts);
  const FabricHealth health =
      result.ok()
          ? EvaluateFabric(verdicts)
          : FabricHealth{FabricHealth::kUnknown, fmt::format("UNKNOWN: {}\n", result.message)};
  Print(health.text);
  return {static_cast<ExitCode>(health.code), ""};
}

}  // namespace fabricd::cli
