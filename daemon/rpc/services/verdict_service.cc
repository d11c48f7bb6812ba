// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/services/verdict_service.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "common/status.h"
#include "daemon/base/wall_clock.h"
#include "daemon/record/event_log.h"
#include "daemon/rpc/convert/convert_policy.h"
#include "daemon/rpc/convert/convert_verdict.h"
#include "daemon/rpc/convert/count.h"
#include "daemon/rpc/convert/port_selector.h"
#include "daemon/rpc/security/caller.h"
#include "fabric/hosts.h"
#include "policy/verdict/why_text.h"
#include "query/times.h"

namespace fabricd::rpc {
namespace {

using VerdictPage = ViewPage<query::VerdictView>;
using query::VerdictRecord;

constexpr size_t kDefaultVictims = 20;
constexpr int kMostVictims = 1000;

// What becomes of a command or a question, as the API says it.
absl::Status VerdictError(const absl::Status& status) {
  const std::string message = Message(status);
  switch (status.code()) {
    case absl::StatusCode::kOk: return status;
    case absl::StatusCode::kNotFound:
      return MakeError(absl::StatusCode::kNotFound, "LINK_NOT_ASSESSED", message);
    case absl::StatusCode::kFailedPrecondition: return WithReason(status, "NO_VERDICT");
    case absl::StatusCode::kUnavailable:
      return TryLater("VERDICTS_BUSY", message, std::chrono::seconds(1));
    default: return WithReason(status, "VERDICT_FAILED");
  }
}

struct VerdictFilter {
  std::set<policy::Verdict> verdicts;  // Empty: all but UNKNOWN.
  bool bad_only = false;
  PortSelector ports;

  bool Passes(const Verdicts& from, const VerdictRecord& record) const {
    const policy::Verdict verdict = query::VerdictOf(record);
    if (bad_only && !policy::IsBad(verdict)) return false;
    if (verdicts.empty() ? verdict == policy::Verdict::kUnknown : !verdicts.contains(verdict))
      return false;
    return verdict != policy::Verdict::kHealthy &&
           (ports.Passes(from.InModel(record.a)) || ports.Passes(from.InModel(record.b)));
  }
};

absl::StatusOr<VerdictFilter> ReadFilter(const query::ReadModel& model,
                                         const pb::ListVerdictsRequest& request) {
  VerdictFilter filter;
  for (const std::string& name : request.verdicts()) {
    const auto verdict = VerdictNamed(name);
    if (!verdict)
      return BadField("verdicts",
                      fmt::format("\"{}\" is no verdict; there are {}", name, VerdictWords()));
    if (verdict == policy::Verdict::kHealthy)
      return BadField("verdicts", "HEALTHY links are only counted (counts)");
    filter.verdicts.insert(*verdict);
  }
  filter.bad_only = request.bad_only();
  auto ports = PortSelector::Read(model, request.names());
  if (!ports.ok()) return ports.status();
  filter.ports = *std::move(ports);
  return filter;
}

// Of those listed, the worst first.
int RankOf(policy::Verdict verdict) {
  switch (verdict) {
    case policy::Verdict::kNoisyPhy: return 0;
    case policy::Verdict::kFlapping: return 1;
    case policy::Verdict::kSlowReceiver: return 2;
    case policy::Verdict::kChatty: return 3;
    case policy::Verdict::kSuspect: return 4;
    case policy::Verdict::kVictim: return 5;
    case policy::Verdict::kUnknown: return 6;
    case policy::Verdict::kHealthy: break;
  }
  return 7;
}

std::vector<const VerdictRecord*> Listed(const Verdicts& verdicts, const VerdictFilter& filter) {
  struct Entry {
    const VerdictRecord* record;
    int rank;
    std::string name;
  };
  std::vector<Entry> entries;
  for (const VerdictRecord& record : verdicts.view.records)
    if (filter.Passes(verdicts, record))
      entries.push_back(
          {&record, RankOf(query::VerdictOf(record)), LinkPortName(verdicts, record.a)});
  std::sort(entries.begin(), entries.end(), [](const Entry& one, const Entry& other) {
    if (one.rank != other.rank) return one.rank < other.rank;
    const double sure = one.record->found.confidence, other_sure = other.record->found.confidence;
    if (sure != other_sure) return sure > other_sure;
    const int order = fabric::CompareNatural(one.name, other.name);
    return order != 0 ? order < 0 : one.record->link < other.record->link;
  });
  std::vector<const VerdictRecord*> records;
  for (const Entry& entry : entries) records.push_back(entry.record);
  return records;
}

// What holds for all verdicts.
void FillWhole(const Verdicts& verdicts, pb::ListVerdictsResponse* out) {
  const query::VerdictView& view = verdicts.view;
  for (size_t i = 0; i < view.counts.size() && view.number > 0; ++i)
    (*out->mutable_counts())[std::string(policy::VerdictName(static_cast<policy::Verdict>(i)))] =
        Count(view.counts[i]);
  out->set_action(std::string(policy::ActionName(view.configured)));
  out->set_actions_in_effect(Count(view.in_effect));
  out->set_actions_budget(Count(view.budget));
  out->set_breaker_open(view.is_breaker_open);
  out->set_enabled(view.enabled);
  if (view.number == 0) return;
  const int64_t assessed = daemon::ToWallMs(view.at);
  *out->mutable_assessed() = query::ToTimestamp(assessed);
  *out->mutable_age() = ToDuration(std::chrono::milliseconds(WallNowMs() - assessed));
  *out->mutable_interval() = ToDuration(view.interval);
}

bool Reaches(const Verdicts& verdicts, const PortSelector& ports,
             const telemetry::CongestionRoot& root) {
  const auto passes = [&](PortRef port) { return ports.Passes(verdicts.InModel(port)); };
  const auto* snapshot = verdicts.view.snapshot.get();
  const fabric::Port* at = snapshot ? snapshot->port(root.port) : nullptr;
  return passes(root.port) || (at && !at->peer.IsNone() && passes(at->peer)) ||
         std::any_of(root.victims.begin(), root.victims.end(),
                     [&](const auto& victim) { return passes(victim.port); });
}

// The root with most victims first.
std::vector<const telemetry::CongestionRoot*> RootsOf(const Verdicts& verdicts,
                                                      const PortSelector& ports) {
  std::vector<const telemetry::CongestionRoot*> roots;
  for (const telemetry::CongestionRoot& root : verdicts.view.congestion.roots)
    if (Reaches(verdicts, ports, root)) roots.push_back(&root);
  std::stable_sort(roots.begin(), roots.end(), [](const auto* one, const auto* other) {
    return one->victims.size() > other->victims.size();
  });
  return roots;
}

// Those that stand when it begins, then what the log says has changed since.
class VerdictStream final : public LogStream<pb::WatchVerdictsResponse> {
 public:
  // `first`: what stands; null: the client has seen it.
  VerdictStream(daemon::Backend& backend, daemon::Models& models, fabric::EventSubjects about,
                uint64_t after, std::shared_ptr<const query::VerdictView> first)
      : LogStream(backend.events(), after),
        backend_(backend),
        models_(models),
        about_(std::move(about)),
        first_(std::move(first)) {}

 private:
  bool FillFirst(pb::WatchVerdictsResponse* out) override {
    while (first_ != nullptr && at_ < first_->records.size()) {
      const VerdictRecord& record = first_->records[at_++];
      if (!IsAbout(record.link) || query::VerdictOf(record) == policy::Verdict::kHealthy) continue;
      const auto model = models_.Current();
      pb::VerdictChange* change = out->mutable_change();
      ToProto(Verdicts{*model, *first_}, record, RowsShown::kNone, change->mutable_verdict());
      *change->mutable_time() = query::ToTimestamp(daemon::ToWallMs(first_->at));
      return true;
    }
    first_ = nullptr;
    return false;
  }

  absl::StatusOr<bool> Fill(const store::EventRecord& record,
                            pb::WatchVerdictsResponse* out) override {
    // Of very many changes at once the last ones have no events of their own, but one for all.
    if (record.event.type == "VerdictChanged" && !record.event.node)
      return MakeError(absl::StatusCode::kOutOfRange, "RESOURCE_VERSION_TOO_OLD",
                       record.event.message + "; list them and watch from there",
                       {{"oldest", log().VersionOf(record.number)}});
    if (!about_.Has(record.event)) return false;
    const auto view = backend_.verdicts();
    const auto model = models_.Current();
    const Verdicts verdicts{*model, *view};
    pb::VerdictChange change;
    if (!ToProto(verdicts, record.event, &change)) return false;
    Complete(verdicts, record.event, change.mutable_verdict());
    *change.mutable_time() = query::ToTimestamp(record.time_ms);
    change.set_resource_version(log().VersionOf(record.number));
    out->mutable_change()->Swap(&change);
    return true;
  }

  // With what only the view knows, as long as the verdict is that of the event.
  static void Complete(const Verdicts& verdicts, const fabric::FabricEvent& event,
                       pb::Verdict* verdict) {
    const VerdictRecord* now = verdicts.view.Find(
        policy::LinkKey({event.node, event.port}, {event.peer, event.peer_port}));
    if (now == nullptr || policy::VerdictName(query::VerdictOf(*now)) != verdict->verdict() ||
        policy::StageName(now->standing.stage) != verdict->stage())
      return;
    verdict->Clear();
    ToProto(verdicts, *now, RowsShown::kNone, verdict);
  }

  bool IsAbout(const policy::LinkKey& link) const {
    fabric::FabricEvent event;
    event.node = link.a.node;
    event.peer = link.b.node;
    return about_.Has(event);
  }

  daemon::Backend& backend_;
  daemon::Models& models_;
  const fabric::EventSubjects about_;
  std::shared_ptr<const query::VerdictView> first_;
  size_t at_ = 0;
};

}  // namespace

grpc::ServerUnaryReactor* VerdictService::ListVerdicts(Context* context,
                                                       const pb::ListVerdictsRequest* request,
                                                       pb::ListVerdictsResponse* response) {
  return Answer(context, [&]() -> absl::Status {
    // Before the view is taken: changes that it has are sent again rather than left out.
    response->set_resource_version(backend_.events().version());
    auto page = VerdictPage::Open(models_, backend_.verdicts(), kept_, *request);
    if (!page.ok()) return page.status();
    const auto filter = ReadFilter(page->model(), *request);
    if (!filter.ok()) return filter.status();
    const Verdicts verdicts{page->model(), page->view()};
    for (const VerdictRecord* record : Listed(verdicts, *filter))
      if (page->Take()) ToProto(verdicts, *record, RowsShown::kRaised, response->add_verdicts());
    FillWhole(verdicts, response);
    // Pages are put together: what does not go by pages is on the first.
    if (request->page_token().empty())
      for (const policy::CommonFinding& finding : verdicts.view.findings)
        ToProto(verdicts, finding, response->add_common_causes());
    page->Close(models_, kept_, response);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* VerdictService::ListCongestion(Context* context,
                                                         const pb::ListCongestionRequest* request,
                                                         pb::ListCongestionResponse* response) {
  return Answer(context, [&]() -> absl::Status {
    if (request->max_victims() < 0) return BadField("max_victims", "is negative");
    const size_t victims =
        request->max_victims() == 0
            ? kDefaultVictims
            : static_cast<size_t>(std::min(request->max_victims(), kMostVictims));
    auto page = VerdictPage::Open(models_, backend_.verdicts(), kept_, *request);
    if (!page.ok()) return page.status();
    const auto ports = PortSelector::Read(page->model(), request->names());
    if (!ports.ok()) return ports.status();
    const Verdicts verdicts{page->model(), page->view()};
    for (const telemetry::CongestionRoot* root : RootsOf(verdicts, *ports))
      if (page->Take()) ToProto(verdicts, *root, victims, response->add_trees());
    const query::VerdictView& view = verdicts.view;
    response->set_without_root(Count(view.congestion.without_root.size()));
    response->set_enabled(view.enabled);
    if (view.number > 0)
      *response->mutable_assessed() = query::ToTimestamp(daemon::ToWallMs(view.at));
    page->Close(models_, kept_, response);
    return absl::OkStatus();
  });
}

absl::StatusOr<PortRef> VerdictService::FindPort(const std::string& name) {
  const auto model = models_.Ready();
  if (!model.ok()) return model.status();
  const auto port = FindLinkPort(**model, name);
  if (!port.ok()) return port.status();
  const auto view = backend_.verdicts();
  if (!view->enabled)
    return MakeError(absl::StatusCode::kFailedPrecondition, "VERDICTS_OFF",
                     "links are not assessed: verdicts.enabled is false in fabricd.yaml, or "
                     "telemetry does not poll");
  if (view->snapshot == nullptr)
    return TryLater("NOT_ASSESSED", "links have not been assessed yet",
                    std::chrono::duration_cast<std::chrono::milliseconds>(
                        std::max(view->interval, Duration(std::chrono::seconds(1)))));
  const NodeIndex node = view->snapshot->FindIndex((*model)->snapshot().node(port->node)->guid());
  if (node.IsNone())
    return MakeError(absl::StatusCode::kNotFound, "LINK_NOT_ASSESSED",
                     fmt::format("{} is new: its links have not been assessed yet", name));
  return PortRef{node, port->port};
}

template <typename Response, typename Fill>
daemon::VerdictDone VerdictService::AnswerWith(std::shared_ptr<LaterCall<Response>> call,
                                               Fill fill) {
  return
      [this, call, fill](const absl::Status& status, std::shared_ptr<const VerdictRecord> record) {
        const bool taken = worker_.Post([this, call, fill, status, record] {
          call->Answer([&](Response* response) -> absl::Status {
            if (!status.ok()) return VerdictError(status);
            const auto model = models_.Current();
            const auto view = backend_.verdicts();
            fill(Verdicts{*model, *view}, record.get(), response);
            return absl::OkStatus();
          });
        });
        // It is done or not; only the answer is lost.
        if (!taken)
          call->Fail(TryLater("SERVER_BUSY", "too many answers wait", std::chrono::seconds(1)));
      };
}

grpc::ServerUnaryReactor* VerdictService::GetVerdict(Context*, const pb::GetVerdictRequest* request,
                                                     pb::GetVerdictResponse* response) {
  const auto call = std::make_shared<LaterCall<pb::GetVerdictResponse>>(response);
  auto* reactor = call->Start(call);
  const auto port = FindPort(request->port());
  if (!port.ok()) {
    call->Fail(port.status());
    return reactor;
  }
  backend_.EvaluateLink(
      *port, AnswerWith(call, [](const Verdicts& verdicts, const VerdictRecord* record,
                                 pb::GetVerdictResponse* out) {
        if (record == nullptr) return;
        ToProto(verdicts, *record, RowsShown::kAll, out->mutable_verdict());
        if (record->evidence == nullptr) return;
        const pb::Verdict& verdict = out->verdict();
        out->set_text(policy::WhyText(*record->evidence, record->found, record->standing,
                                      verdicts.view.at, {verdict.a_name(), verdict.b_name()}));
      }));
  return reactor;
}

template <typename Response>
grpc::ServerUnaryReactor* VerdictService::Say(Context* context, const std::string& port,
                                              daemon::VerdictCommand command, Response* response) {
  const auto call = std::make_shared<LaterCall<Response>>(response);
  auto* reactor = call->Start(call);
  const auto found = FindPort(port);
  const bool needs_reason = command.kind != daemon::VerdictCommand::Kind::kAcknowledge;
  if (!found.ok() || (needs_reason && command.reason.empty())) {
    call->Fail(found.ok() ? BadField("reason", "is required") : found.status());
    return reactor;
  }
  command.port = *found;
  command.by = CallerOf(*context).name;
  backend_.PostVerdict(
      std::move(command),
      AnswerWith(call, [](const Verdicts& verdicts, const VerdictRecord* record, Response* out) {
        if (record != nullptr) ToProto(verdicts, *record, RowsShown::kNone, out->mutable_verdict());
      }));
  return reactor;
}

grpc::ServerUnaryReactor* VerdictService::AckVerdict(Context* context,
                                                     const pb::AckVerdictRequest* request,
                                                     pb::AckVerdictResponse* response) {
  daemon::VerdictCommand command;
  command.kind = daemon::VerdictCommand::Kind::kAcknowledge;
  command.reason = request->reason();
  return Say(context, request->port(), std::move(command), response);
}

grpc::ServerUnaryReactor* VerdictService::OverruleVerdict(Context* context,
                                                          const pb::OverruleVerdictRequest* request,
                                                          pb::OverruleVerdictResponse* response) {
  daemon::VerdictCommand command;
  command.kind = daemon::VerdictCommand::Kind::kOverrule;
  command.reason = request->reason();
  if (request->has_ttl()) {
    const auto ttl = ReadTtl(request->ttl());
    if (!ttl.ok()) return Answer(context, [&] { return ttl.status(); });
    command.ttl = *ttl;
  }
  return Say(context, request->port(), std::move(command), response);
}

grpc::ServerUnaryReactor* VerdictService::ReleaseVerdict(Context* context,
                                                         const pb::ReleaseVerdictRequest* request,
                                                         pb::ReleaseVerdictResponse* response) {
  daemon::VerdictCommand command;
  command.kind = daemon::VerdictCommand::Kind::kRelease;
  command.reason = request->reason();
  return Say(context, request->port(), std::move(command), response);
}

grpc::ServerUnaryReactor* VerdictService::ResetVerdictBreaker(
    Context* context, const pb::ResetVerdictBreakerRequest* request,
    pb::ResetVerdictBreakerResponse* response) {
  const auto call = std::make_shared<LaterCall<pb::ResetVerdictBreakerResponse>>(response);
  auto* reactor = call->Start(call);
  if (request->reason().empty()) {
    call->Fail(BadField("reason", "is required"));
    return reactor;
  }
  daemon::VerdictCommand command;
  command.kind = daemon::VerdictCommand::Kind::kResetBreaker;
  command.by = CallerOf(*context).name;
  command.reason = request->reason();
  backend_.PostVerdict(std::move(command),
                       AnswerWith(call, [](const Verdicts&, const VerdictRecord*,
                                           pb::ResetVerdictBreakerResponse*) {}));
  return reactor;
}

grpc::ServerWriteReactor<pb::WatchVerdictsResponse>* VerdictService::WatchVerdicts(
    Context* context, const pb::WatchVerdictsRequest* request) {
  return VerdictStream::Start(context, hub_, MakeStream(*request));
}

absl::StatusOr<std::shared_ptr<WatchStream<pb::WatchVerdictsResponse>>> VerdictService::MakeStream(
    const pb::WatchVerdictsRequest& request) {
  auto names = SubjectsNamed(models_, request.names());
  if (!names.ok()) return names.status();
  const auto after = BeginAt(backend_.events(), *names, request.resource_version());
  if (!after.ok()) return after.status();
  // After the place in the log: views are published before the events of what has changed in them.
  auto first = request.resource_version().empty() ? backend_.verdicts() : nullptr;
  return std::make_shared<VerdictStream>(backend_, models_, std::move(names->about), *after,
                                         std::move(first));
}

}  // namespace fabricd::rpc
