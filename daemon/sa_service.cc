// SPDX-License-Identifier: Apache-2.0
#include "daemon/sa_service.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include <spdlog/spdlog.h>

#include "common/status.h"
#include "sa/answer.h"
#include "sa/view_input.h"

namespace fabricd::daemon {
namespace {

constexpr size_t kRequests = 16384, kShare = 1024;
// Taken by a thread in one go: few enough that the others find work too.
constexpr size_t kBatch = 8;
// The largest request there is, a MultiPathRecord with all the GIDs that its counts can say, takes
// 8 KiB. What is larger is none, and would only fill the queue.
constexpr size_t kLongestRequest = 16384;
constexpr uint32_t kGsiQpn = 1, kGsiQKey = 0x80010000;

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

SaService::SaService(mad::Transport& transport, SaOptions options)
    : transport_(transport), options_(options), requests_(kRequests, kShare) {
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

void SaService::Serve() {
  std::vector<mad::IncomingMad> batch;
  std::vector<uint8_t> reply;
  while (requests_.Take(batch, kBatch)) {
    for (const mad::IncomingMad& request : batch) AnswerOne(request, reply);
    batch.clear();
  }
}

void SaService::AnswerOne(const mad::IncomingMad& request, std::vector<uint8_t>& reply) {
  const std::shared_ptr<const sa::SaView> view = view_.Get();
  if (view == nullptr) {
    AnswerBusy(request, reply);
    return;
  }
  switch (sa::Answer(*view, request.payload, request.from.lid, reply)) {
    case sa::Outcome::kAnswered: Send(request, reply, kAnswered); break;
    case sa::Outcome::kNotARequest: Count(kIgnored); break;
    case sa::Outcome::kWrongKey: Count(kWrongKey); break;
  }
}

void SaService::AnswerBusy(const mad::IncomingMad& request, std::vector<uint8_t>& reply) {
  if (sa::Refuse(request.payload, wire::kStatusBusy, reply) == sa::Outcome::kAnswered)
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

// Views of which nothing that is answered has changed are passed over.
void SaService::MakeViews() {
  sa::ViewInput last;
  for (;;) {
    std::shared_ptr<const sweep::FabricView> view;
    {
      std::unique_lock lock(newest_mutex_);
      newest_came_.wait(lock, [this] { return stopping_ || newest_ != nullptr; });
      if (stopping_) return;
      view = std::move(newest_);
    }
    auto input = sa::InputOf(*view, options_.sm_key, options_.gid_prefix);
    if (!input || *input == last) continue;
    last = *input;
    view_.Set(std::make_shared<const sa::SaView>(*std::move(input)));
  }
}

}  // namespace fabricd::daemon
