// SPDX-License-Identifier: Apache-2.0
#include "daemon/sa/sa_service.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include <spdlog/spdlog.h>

#include "common/mutex.h"
#include "common/status.h"
#include "daemon/base/niceness.h"
#include "daemon/base/wall_clock.h"
#include "mad/wire/notice.h"
#include "mad/wire/smp.h"
#include "sa/answer.h"
#include "sa/view/view_input.h"
#include "sa/wire/reply.h"

namespace fabricd::daemon {
namespace {

constexpr size_t kRequests = 65536, kShare = 1024;
// Taken by a thread in one go: few enough that the others find work too.
constexpr size_t kBatch = 8;
// So many are answered by who receives them, and for so long. It receives nothing meanwhile, so
// that what is more has to wait in the queue, in which sources take turns.
constexpr size_t kFew = 64;
constexpr std::chrono::microseconds kOwnTime{300};
// The largest request there is, a MultiPathRecord with all the GIDs that its counts can say, takes
// 8 KiB. What is larger is none, and would only fill the queue.
constexpr size_t kLongestRequest = 16384;
constexpr size_t kMethodAt = 3;
// How long a view is held while a plan is being made, and while one is being written.
constexpr std::chrono::seconds kLongestPlanning{10}, kLongestPush{1};
// How long a request waits for tables that are being read, and how many do.
constexpr std::chrono::seconds kLongestReading{2};
constexpr size_t kMostParked = 256;
// Who answers what had to wait goes before who computes, where the daemon may say so: an answer
// takes microseconds, and all that a reroute takes of the processors is not to stand in front of
// it.
constexpr int kNiceness = 10, kAnsweringNiceness = -10;
constexpr uint32_t kGsiQKey = 0x80010000;

// The answer to a Report, or that there is none.
bool IsAboutReport(const mad::IncomingMad& mad) {
  if (mad.payload.size() <= kMethodAt) return false;
  const uint8_t method = mad.payload[kMethodAt];
  const bool is_response = (method & wire::kResponseBit) != 0;
  return (method & static_cast<uint8_t>(~wire::kResponseBit)) ==
             static_cast<uint8_t>(wire::Method::kReport) &&
         (is_response || mad.kind != mad::IncomingMad::Kind::kReceived);
}

bool IsAnswerGivenBack(const mad::IncomingMad& mad) {
  return mad.kind != mad::IncomingMad::Kind::kReceived && mad.payload.size() > kMethodAt &&
         (mad.payload[kMethodAt] & wire::kResponseBit) != 0;
}

int ThreadsOf(int wanted) {
  if (wanted > 0) return wanted;
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()) / 2, 2, 8);
}

// The way back (IBA vol 1 §13.5.4).
mad::Address AnswerAddress(mad::Address from) {
  from.qkey = kGsiQKey;
  return from;
}

}  // namespace

SaService::SaService(mad::Transport& transport, SaKeeper& keeper, SaOptions options,
                     ReadLanes read_lanes)
    : transport_(transport),
      keeper_(keeper),
      options_(options),
      read_lanes_(std::move(read_lanes)),
      requests_(kRequests, kShare) {
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
    MutexLock lock(newest_mutex_);
    order_ = Order::kStop;
  }
  newest_came_.NotifyAll();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

SaService::Statistics SaService::statistics() const {
  const auto of = [this](Counter counter) { return counters_[counter].load(); };
  return {of(kAnswered), of(kBusy), of(kIgnored), of(kWrongKey), of(kSendFailed), of(kUnheard)};
}

void SaService::OnMads(std::span<mad::IncomingMad> burst) {
  bool here = burst.size() <= kFew && requests_.IsIdle();
  const auto until = Clock::now() + kOwnTime;
  std::vector<uint8_t> reply;
  for (mad::IncomingMad& mad : burst) {
    if (IsAboutReport(mad)) {
      keeper_.PushNote(std::move(mad));
    } else if (!IsRequest(mad)) {
      Count(IsAnswerGivenBack(mad) ? kUnheard : kIgnored);
    } else if (here && sa::IsShort(mad.payload)) {
      AnswerOne(mad, reply);
      here = Clock::now() < until;
    } else if (!requests_.Push(mad.from.lid.value(), std::move(mad))) {
      AnswerBusy(mad, reply);
    }
  }
}

bool SaService::IsRequest(const mad::IncomingMad& mad) const {
  return mad.kind == mad::IncomingMad::Kind::kReceived && is_master_ &&
         mad.payload.size() <= kLongestRequest;
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
  SetNiceness(kAnsweringNiceness);
  std::vector<mad::IncomingMad> batch;
  std::vector<uint8_t> reply;
  while (requests_.Take(batch, kBatch)) {
    for (mad::IncomingMad& request : batch) AnswerOne(request, reply);
    batch.clear();
  }
}

// `until`: the request has waited already, and is not to beyond that; then BUSY is answered.
void SaService::AnswerOne(mad::IncomingMad& request, std::vector<uint8_t>& reply,
                          Clock::time_point until) {
  const std::shared_ptr<const sa::SaView> view = view_.Get();
  if (view == nullptr) {
    AnswerBusy(request, reply);
    return;
  }
  const std::shared_ptr<const sa::ClientState> clients = keeper_.clients();
  std::vector<NodeIndex> unread;
  const sa::Sources sources{*view, *clients, LeaseNowMs(), &unread};
  switch (sa::Answer(sources, request.payload, request.from.lid, reply)) {
    case sa::Outcome::kChange:
      if (!keeper_.PushRequest(std::move(request))) AnswerBusy(request, reply);
      break;
    case sa::Outcome::kAnswered:
      if (unread.empty()) {
        Send(request, reply, kAnswered);
      } else if (until == Clock::time_point::max()) {
        read_lanes_(unread);
        if (!Park(request, Clock::now() + kLongestReading, /*is_new=*/true))
          AnswerBusy(request, reply);
      } else if (Clock::now() >= until || !Park(request, until, /*is_new=*/false)) {
        AnswerBusy(request, reply);
      }
      break;
    case sa::Outcome::kNotARequest: Count(kIgnored); break;
    case sa::Outcome::kWrongKey: Count(kWrongKey); break;
  }
}

// To be answered from a later view. False: too many wait.
bool SaService::Park(mad::IncomingMad& request, Clock::time_point until, bool is_new) {
  {
    MutexLock lock(newest_mutex_);
    if (parked_.size() >= kMostParked) return false;
    parked_.push_back({std::move(request), until});
    // A later view may have come just now, so that the thread that makes them looks once at once.
    if (is_new && order_ == Order::kNone) order_ = Order::kLookAtParked;
  }
  newest_came_.NotifyOne();
  return true;
}

void SaService::AnswerParked() {
  std::vector<Parked> parked;
  {
    MutexLock lock(newest_mutex_);
    parked.swap(parked_);
  }
  std::vector<uint8_t> reply;
  for (Parked& each : parked) AnswerOne(each.request, reply, each.until);
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
  is_master_ = view->sm.Manages();
  {
    MutexLock lock(newest_mutex_);
    newest_ = std::move(view);
  }
  newest_came_.NotifyOne();
}

// Views of which nothing that is answered has changed are passed over. One that is not at rest is
// held until a better one comes, for an answer that will be right in a moment is better than one
// whose links have gone or whose tables are not written yet; but not for ever.
void SaService::MakeViews() {
  // Making one takes a processor for a while: not before what a reroute needs.
  SetNiceness(kNiceness);
  std::shared_ptr<const sweep::FabricView> view;  // Held, or just come.
  constexpr auto kNotHeld = Clock::time_point::max();
  auto held_since = kNotHeld, use_at = kNotHeld;
  for (; TakeNewest(view, use_at); AnswerParked()) {
    if (view == nullptr) continue;
    auto input = sa::InputOf(*view, options_.sm_key, options_.gid_prefix);
    const bool idle = view->phase == sweep::Phase::kIdle;
    if (input && view_.Get() != nullptr && !(idle && view->plan_stands)) {
      const auto now = Clock::now();
      held_since = std::min(held_since, now);
      use_at = held_since + (view->plan_stands ? kLongestPush : kLongestPlanning);
      if (now < use_at) continue;
    }
    held_since = use_at = kNotHeld;
    if (input)
      Show(*std::move(input), idle && view->sweeps_done > 0);
    else  // What it was when this was the master is not what it will be then.
      Hide();
    view.reset();
  }
}

// True: `view` is the newest, or `use_at` has come for the one that it was, or a parked request is
// to be looked at. False: stop.
bool SaService::TakeNewest(std::shared_ptr<const sweep::FabricView>& view,
                           Clock::time_point use_at) {
  MutexLock lock(newest_mutex_);
  const auto woken = [this]() FABRICD_REQUIRES(newest_mutex_) {
    return order_ != Order::kNone || newest_ != nullptr;
  };
  for (const Parked& parked : parked_) use_at = std::min(use_at, parked.until);
  if (use_at == Clock::time_point::max())
    newest_came_.Wait(lock, woken);
  else
    newest_came_.WaitUntil(lock, use_at, woken);
  if (order_ == Order::kLookAtParked) order_ = Order::kNone;
  if (newest_ != nullptr) view = std::move(newest_);
  return order_ != Order::kStop;
}

void SaService::Show(sa::ViewInput input, bool settled) {
  // What clients leave does not depend on the trees that are made of it.
  const bool tell = !sa::HasSameLayout(input, shown_) || settled != shown_settled_;
  if (input != shown_) {
    shown_ = input;
    view_.Set(std::make_shared<const sa::SaView>(std::move(input), view_.Get().get()));
  }
  shown_settled_ = settled;
  if (tell) keeper_.PushView({view_.Get(), settled});
}

void SaService::Hide() {
  view_.Set(nullptr);
  shown_ = {};
}

}  // namespace fabricd::daemon
