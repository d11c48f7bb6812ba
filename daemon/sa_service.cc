// SPDX-License-Identifier: Apache-2.0
#include "daemon/sa_service.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include <spdlog/spdlog.h>

#include "common/status.h"
#include "mad/wire/notice.h"
#include "mad/wire/smp.h"
#include "sa/answer.h"
#include "sa/reply.h"
#include "sa/view_input.h"

namespace fabricd::daemon {
namespace {

constexpr size_t kRequests = 65536, kShare = 1024;
// Taken by a thread in one go: few enough that the others find work too.
constexpr size_t kBatch = 8;
// The largest request there is, a MultiPathRecord with all the GIDs that its counts can say, takes
// 8 KiB. What is larger is none, and would only fill the queue.
constexpr size_t kLongestRequest = 16384;
constexpr size_t kMethodAt = 3;
// After that a new snapshot counts more than a plan that stands.
constexpr std::chrono::seconds kLongestPassedOver{10};
constexpr uint32_t kGsiQKey = 0x80010000;

int ThreadsOf(int wanted) {
  if (wanted > 0) return wanted;
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()) / 2, 2, 8);
}

sa::WallMs WallNow() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// The way back (IBA vol 1 §13.5.4).
mad::Address AnswerAddress(mad::Address from) {
  from.qkey = kGsiQKey;
  return from;
}

}  // namespace

SaService::SaService(mad::Transport& transport, SaKeeper& keeper, SaOptions options)
    : transport_(transport), keeper_(keeper), options_(options), requests_(kRequests, kShare) {
  const int pool = ThreadsOf(options_.threads);
  for (int number = 0; number < pool; ++number) {
    threads_.emplace_back([this] { Serve(); });
    pthread_setname_np(threads_.back().native_handle(), "sa");
  }
  threads_.emplace_back([this] { MakeViews(); });
  pthread_setname_np(threads_.back().native_handle(), "sa-view");
}

SaService::~SaService() { Stop(); }

void SaService::Stop() {
  requests_.Close();
  {
    std::lock_guard lock(newest_mutex_);
    stopping_ = true;
  }
  newest_came_.notify_all();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

SaService::Statistics SaService::statistics() const {
  const auto of = [this](Counter counter) { return counters_[counter].load(); };
  return {of(kAnswered), of(kBusy), of(kIgnored), of(kWrongKey), of(kSendFailed)};
}

void SaService::OnMad(mad::IncomingMad mad) {
  const bool is_response =
      mad.payload.size() > kMethodAt && (mad.payload[kMethodAt] & wire::kResponseBit) != 0;
  const bool is_report = mad.payload.size() > kMethodAt &&
                         (mad.payload[kMethodAt] & static_cast<uint8_t>(~wire::kResponseBit)) ==
                             static_cast<uint8_t>(wire::Method::kReport);
  // Of a Report: its answer, or that there is none.
  if (is_report && (is_response || mad.kind != mad::IncomingMad::Kind::kReceived)) {
    keeper_.PushNote(std::move(mad));
    return;
  }
  if (mad.kind != mad::IncomingMad::Kind::kReceived || !is_master_ ||
      mad.payload.size() > kLongestRequest) {
    Count(kIgnored);
    return;
  }
  const uint16_t source = mad.from.lid.value();
  if (requests_.Push(source, std::move(mad))) return;
  std::vector<uint8_t> reply;
  AnswerBusy(mad, reply);
}

void SaService::OnTrap(const mad::IncomingMad& mad) {
  if (!is_master_ || mad.kind != mad::IncomingMad::Kind::kReceived ||
      mad.payload.size() < wire::kMadBytes)
    return;
  const auto smp =
      wire::Smp::Decode(std::span<const uint8_t>(mad.payload).first<wire::kMadBytes>());
  if (!smp || smp->method != wire::Method::kTrap || smp->attribute != wire::AttributeId::kNotice)
    return;
  keeper_.PushNote(sa::TrapCame{mad.from.lid, smp->tid.value(), wire::Notice::Decode(smp->data)});
}

void SaService::Serve() {
  std::vector<mad::IncomingMad> batch;
  std::vector<uint8_t> reply;
  while (requests_.Take(batch, kBatch)) {
    for (mad::IncomingMad& request : batch) AnswerOne(request, reply);
    batch.clear();
  }
}

void SaService::AnswerOne(mad::IncomingMad& request, std::vector<uint8_t>& reply) {
  const std::shared_ptr<const sa::SaView> view = view_.Get();
  if (view == nullptr) {
    AnswerBusy(request, reply);
    return;
  }
  const std::shared_ptr<const sa::ClientState> clients = keeper_.clients();
  const sa::Sources sources{*view, *clients, WallNow()};
  switch (sa::Answer(sources, request.payload, request.from.lid, reply)) {
    case sa::Outcome::kChange:
      if (!keeper_.PushRequest(std::move(request))) AnswerBusy(request, reply);
      break;
    case sa::Outcome::kAnswered: Send(request, reply, kAnswered); break;
    case sa::Outcome::kNotARequest: Count(kIgnored); break;
    case sa::Outcome::kWrongKey: Count(kWrongKey); break;
  }
}

void SaService::AnswerBusy(const mad::IncomingMad& request, std::vector<uint8_t>& reply) {
  if (sa::Refuse(request.payload, wire::kStatusBusy, reply))
    Send(request, reply, kBusy);
  else
    Count(kIgnored);
}

void SaService::Send(const mad::IncomingMad& request, std::vector<uint8_t>& reply,
                     Counter counter) {
  mad::OutgoingMad out;
  out.agent = mad::Agent::kSubnAdm;
  out.to = AnswerAddress(request.from);
  out.payload.swap(reply);
  const absl::Status sent = transport_.Send(out);
  reply.swap(out.payload);
  Count(sent.ok() ? counter : kSendFailed);
  if (!sent.ok()) spdlog::debug("SA answer: {}", Message(sent));
}

void SaService::OnView(std::shared_ptr<const sweep::FabricView> view) {
  is_master_ = view->sm.state == wire::SmState::kMaster;
  {
    std::lock_guard lock(newest_mutex_);
    newest_ = std::move(view);
  }
  newest_came_.notify_one();
}

// Views of which nothing that is answered has changed are passed over. So are those whose plan
// still may lead over links that have gone, unless that goes on for long: an answer that will be
// right with the next plan is better than none.
void SaService::MakeViews() {
  sa::ViewInput last;
  using Clock = std::chrono::steady_clock;
  auto passed_over = Clock::time_point::max();  // The first since a view.
  bool was_settled = false;
  for (;;) {
    std::shared_ptr<const sweep::FabricView> view;
    {
      std::unique_lock lock(newest_mutex_);
      newest_came_.wait(lock, [this] { return stopping_ || newest_ != nullptr; });
      if (stopping_) return;
      view = std::move(newest_);
    }
    auto input = sa::InputOf(*view, options_.sm_key, options_.gid_prefix);
    if (!input) {  // What it was when this was the master is not what it will be then.
      view_.Set(nullptr);
      last = {};
      continue;
    }
    if (!view->plan_stands && view_.Get() != nullptr) {
      const auto now = Clock::now();
      passed_over = std::min(passed_over, now);
      if (now - passed_over < kLongestPassedOver) continue;
    }
    passed_over = Clock::time_point::max();
    const bool settled = view->phase == sweep::Phase::kIdle && view->sweeps_done > 0;
    if (*input == last && settled == was_settled) continue;
    if (*input != last) {
      last = *input;
      view_.Set(std::make_shared<const sa::SaView>(*std::move(input)));
    }
    was_settled = settled;
    keeper_.PushView({view_.Get(), settled});
  }
}

}  // namespace fabricd::daemon
