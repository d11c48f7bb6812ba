// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/models.h"

#include <pthread.h>

#include <algorithm>
#include <random>

#include <fmt/format.h>

#include "common/mutex.h"
#include "query/status.h"

namespace fabricd::daemon {

Models::Models(const Backend& backend)
    : backend_(backend), epoch_(std::random_device()()), thread_([this] { MakeModels(); }) {
  pthread_setname_np(thread_.native_handle(), "models");
}

Models::~Models() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  asked_changed_.NotifyOne();
  thread_.join();
}

std::shared_ptr<const query::ReadModel> Models::Current() {
  const auto view = backend_.view();
  const auto verdicts = backend_.verdicts();
  MutexLock lock(mutex_);
  if (current_ != nullptr && current_->view == view && current_->verdicts == verdicts)
    return current_;
  const uint64_t ticket = ++asked_;
  asked_changed_.NotifyOne();
  made_changed_.Wait(lock, [&]() FABRICD_REQUIRES(mutex_) { return made_ >= ticket; });
  return current_;
}

void Models::MakeModels() {
  MutexLock lock(mutex_);
  while (true) {
    asked_changed_.Wait(lock,
                        [this]() FABRICD_REQUIRES(mutex_) { return stopping_ || made_ < asked_; });
    if (stopping_) return;
    const uint64_t answered = asked_;
    lock.Unlock();
    const auto view = backend_.view();
    const auto verdicts = backend_.verdicts();
    auto model = current_ != nullptr && current_->view == view && current_->verdicts == verdicts
                     ? current_
                     : query::MakeReadModel({view, backend_.hosts(*view), backend_.node_name_map(),
                                             backend_.host_patterns(), verdicts},
                                            current_.get());
    lock.Lock();
    current_ = std::move(model);
    made_ = answered;
    made_changed_.NotifyAll();
  }
}

absl::StatusOr<std::shared_ptr<const query::ReadModel>> Models::Ready() {
  auto model = Current();
  if (model->ready()) return model;
  return query::TryLater("NOT_READY",
                         fmt::format("the first sweep has not ended ({})",
                                     std::string(sweep::PhaseName(model->view->phase))),
                         std::chrono::seconds(1));
}

void Models::Keep(const std::shared_ptr<const query::ReadModel>& model) {
  MutexLock lock(mutex_);
  DropOld();
  kept_.erase(std::remove_if(kept_.begin(), kept_.end(),
                             [&](const Kept& kept) {
                               return kept.model->view->generation == model->view->generation;
                             }),
              kept_.end());
  if (kept_.size() == kMostKept) kept_.erase(kept_.begin());
  kept_.push_back({model, std::chrono::steady_clock::now() + kKeep});
}

std::shared_ptr<const query::ReadModel> Models::Find(Generation generation) {
  MutexLock lock(mutex_);
  DropOld();
  for (const Kept& kept : kept_) {
    if (kept.model->view->generation == generation) return kept.model;
  }
  return nullptr;
}

void Models::DropOld() {
  const auto now = std::chrono::steady_clock::now();
  kept_.erase(std::remove_if(kept_.begin(), kept_.end(),
                             [&](const Kept& kept) { return kept.until <= now; }),
              kept_.end());
}

}  // namespace fabricd::daemon
