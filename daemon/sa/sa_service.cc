// SPDX-License-Identifier: Apache-2.0
#include "daemon/sa/sa_service.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include <spdlog/spdlog.h>

#include "common/mutex.h"
#include "common/process_clock.h"
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
// How often the kernel sends a window of segments again, two seconds after the last progress.
// Answers name no timeout: up to two seconds, Linux's mad_rmpp.c does not renew it after the first
// acknowledgement, and a later loss is never repaired.
constexpr uint32_t kSegmentRetries = 3;
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

// Whether an SM in this state answers, or may in a moment.
bool TakesRequests(wire::SmState state) {
  return state == wire::SmState::kMaster || state == wire::SmState::kDiscovering;
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

// How long a request waits for a view that can answer it, and how many may wait then.
struct SaService::Patience {
  std::chrono::seconds longest;
  size_t most;
};

SaService::SaService(mad::Transport& transport, SaKeeper& keeper, SaOptions options,
                     ReadLanes read_lanes)
    : transport_(transport),
      keeper_(keeper),
      options_(std::move(options)),
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
  return {of(kAnswered), of(kBusy), of(kDropped), of(kIgnored), of(kWrongKey), of(kSendFailed)};
}

void SaService::OnMads(std::span<mad::IncomingMad> burst) {
  bool here = burst.size() <= kFew && requests_.IsIdle();
  const auto until = Clock::now() + kOwnTime;
  std::vector<uint8_t> reply;
  for (mad::IncomingMad& mad : burst) {
    if (IsAboutReport(mad)) {
      keeper_.PushNote(std::move(mad));
    } else if (!IsRequest(mad)) {
      Count(kIgnored);
    } else if (here && sa::IsShort(mad.payload)) {
      AnswerOne(mad, reply);
      here = Clock::now() < until;
    } else if (!requests_.Push(mad.from.lid.value(), std::move(mad))) {
      Refuse(mad, reply);
    }
  }
}

bool SaService::IsRequest(const mad::IncomingMad& mad) const {
  return mad.kind == mad::IncomingMad::Kind::kReceived && mad.payload.size() >= wire::kMadBytes &&
         mad.payload.size() <= kLongestRequest && (TakesRequests(state_) || view_.Get() != nullptr);
}

void SaService::OnTrap(const mad::IncomingMad& mad) {
  if (state_ != wire::SmState::kMaster || mad.kind != mad::IncomingMad::Kind::kReceived ||
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

// `until`: the request has waited already, and is not to beyond that.
void SaService::AnswerOne(mad::IncomingMad& request, std::vector<uint8_t>& reply,
                          Clock::time_point until) {
  static constexpr Patience kForView{std::chrono::seconds(10), ParkedRequests::kMost};
  static constexpr Patience kForReading{std::chrono::seconds(2), 256};
  const std::shared_ptr<const sa::SaView> view = view_.Get();
  if (view == nullptr) return Postpone(request, reply, until, kForView);
  const std::shared_ptr<const sa::ClientState> clients = keeper_.clients();
  std::vector<NodeIndex> unread;
  const sa::Sources sources{*view, *clients, LeaseNowMs(), &unread};
  switch (sa::Answer(sources, request.payload, request.from.lid, reply)) {
    case sa::Outcome::kChange:
      if (state_ != wire::SmState::kMaster)
        Count(kIgnored);
      else if (!keeper_.PushRequest(std::move(request)))
        Refuse(request, reply);
      break;
    case sa::Outcome::kAnswered:
      if (unread.empty()) return Send(request, reply, kAnswered);
      if (until == kNew && state_ == wire::SmState::kMaster) read_lanes_(unread);
      Postpone(request, reply, until, kForReading);
      break;
    case sa::Outcome::kUnknownRequester: Postpone(request, reply, until, kForView); break;
    case sa::Outcome::kNotARequest: Count(kIgnored); break;
    case sa::Outcome::kWrongKey: Count(kWrongKey); break;
  }
}

// To be answered from a later view.
void SaService::Postpone(mad::IncomingMad& request, std::vector<uint8_t>& reply,
                         Clock::time_point until, const Patience& patience) {
  const bool is_new = until == kNew;
  const auto now = Clock::now();
  if (is_new) until = now + patience.longest;
  if (now >= until || !TakesRequests(state_) || !Park(request, until, is_new, patience.most))
    Refuse(request, reply);
}

// False: too many wait.
bool SaService::Park(mad::IncomingMad& request, Clock::time_point until, bool is_new, size_t most) {
  {
    MutexLock lock(newest_mutex_);
    if (parked_.size() >= most || !parked_.Add(request, until)) return false;
    // A later view may have come just now, so that the thread that makes them looks once at once.
    if (is_new && order_ == Order::kNone) order_ = Order::kLookAtParked;
  }
  newest_came_.NotifyOne();
  return true;
}

void SaService::AnswerParked() {
  // Without a view there is nothing to look at until one has waited for too long.
  const bool is_hopeless = view_.Get() == nullptr && TakesRequests(state_);
  std::vector<ParkedRequests::Parked> parked;
  {
    MutexLock lock(newest_mutex_);
    if (is_hopeless && Clock::now() < parked_.first_deadline()) return;
    parked = parked_.TakeAll();
  }
  std::vector<uint8_t> reply;
  for (ParkedRequests::Parked& each : parked) AnswerOne(each.request, reply, each.until);
}

void SaService::Refuse(const mad::IncomingMad& request, std::vector<uint8_t>& reply) {
  if (state_ == wire::SmState::kMaster && sa::UnderstandsBusy(request.payload) &&
      sa::Refuse(request.payload, wire::kStatusBusy, reply))
    Send(request, reply, kBusy);
  else
    Count(kDropped);
}

void SaService::Send(const mad::IncomingMad& request, std::vector<uint8_t>& reply,
                     Counter counter) {
  mad::OutgoingMad out;
  out.agent = mad::Agent::kSubnAdm;
  out.to = AnswerAddress(request.from);
  out.payload.swap(reply);
  if (sa::IsUnderRmpp(out.payload)) out.retries = kSegmentRetries;
  const absl::Status sent = transport_.Send(out);
  reply.swap(out.payload);
  Count(sent.ok() ? counter : kSendFailed);
  if (!sent.ok()) spdlog::debug("SA answer: {}", Message(sent));
}

void SaService::OnView(std::shared_ptr<const sweep::FabricView> view) {
  // One whose takeover is held answers no more than one that rules nothing.
  state_ = view->sm.is_held ? wire::SmState::kNotActive : view->sm.state;
  {
    MutexLock lock(newest_mutex_);
    newest_ = {std::move(view), ProcessClock::Now()};
  }
  newest_came_.NotifyOne();
}

// Views of which nothing that is answered has changed are passed over. One that is not at rest is
// held until a better one comes, for an answer that will be right in a moment is better than one
// whose links have gone or whose tables are not written yet; but not for ever. The last one of a
// master that has handed over serves for a while.
void SaService::MakeViews() {
  // Making one takes a processor for a while: not before what a reroute needs.
  SetNiceness(kNiceness);
  Newest newest;  // Held, or just come.
  constexpr auto kNotHeld = Clock::time_point::max();
  auto held_since = kNotHeld, use_at = kNotHeld;
  for (; TakeNewest(newest, use_at); AnswerParked()) {
    const auto& view = newest.view;
    if (view == nullptr) continue;
    auto input = sa::InputOf(*view, options_.sm_key, options_.gid_prefix);
    if (input) input->sm.prefix_routes = options_.prefix_routes;
    const bool idle = view->phase == sweep::Phase::kIdle;
    if (view_.Get() != nullptr && !(input && idle && view->plan_stands)) {
      const auto now = Clock::now();
      held_since = std::min(held_since, now);
      use_at = held_since + (!input              ? options_.farewell
                             : view->plan_stands ? kLongestPush
                                                 : kLongestPlanning);
      if (now < use_at) continue;
    }
    held_since = use_at = kNotHeld;
    if (input)
      Show(*std::move(input), idle && view->sweeps_done > 0, newest.published);
    else  // What it was when this was the master is not what it will be then.
      Hide();
    newest.view.reset();
  }
}

// True: `view` is the newest, or `use_at` has come for the one that it was, or a parked request is
// to be looked at. False: stop.
bool SaService::TakeNewest(Newest& view, Clock::time_point use_at) {
  MutexLock lock(newest_mutex_);
  const auto woken = [this]() FABRICD_REQUIRES(newest_mutex_) {
    return order_ != Order::kNone || newest_.view != nullptr;
  };
  use_at = std::min(use_at, parked_.first_deadline());
  if (use_at == Clock::time_point::max())
    newest_came_.Wait(lock, woken);
  else
    newest_came_.WaitUntil(lock, use_at, woken);
  if (order_ == Order::kLookAtParked) order_ = Order::kNone;
  if (newest_.view != nullptr) view = std::exchange(newest_, {});
  return order_ != Order::kStop;
}

void SaService::Show(sa::ViewInput input, bool settled, Instant published) {
  // What clients leave does not depend on the trees that are made of it.
  const bool tell = !sa::HasSameLayout(input, shown_) || settled != shown_settled_ ||
                    input.foreign_mlids != shown_.foreign_mlids;
  std::shared_ptr<const sa::SaView> view = view_.Get();
  if (input != shown_) {
    shown_ = input;
    view = std::make_shared<const sa::SaView>(std::move(input), view.get());
  }
  shown_settled_ = settled;
  // The keeper first: it is to know every requester that the pool knows.
  if (tell) keeper_.PushView({view, settled, published});
  view_.Set(std::move(view));
}

void SaService::Hide() {
  view_.Set(nullptr);
  shown_ = {};
}

}  // namespace fabricd::daemon
