// SPDX-License-Identifier: Apache-2.0
#include "sim/store/virtual_threads.h"

#include <algorithm>

namespace fabricd::sim {

VirtualThreads::Thread& VirtualThreads::Start(std::function<void()> body) {
  Thread& thread = *threads_.emplace_back(std::make_unique<Thread>(*this));
  thread.thread_ = std::thread([this, &thread, body = std::move(body)] {
    thread.go_.acquire();
    body();
    thread.has_ended_ = true;
    back_.release();
  });
  thread.is_waiting_ = true;
  At(now_, [this, &thread] { Resume(thread); });
  return thread;
}

void VirtualThreads::RunUntil(Instant end) {
  while (!agenda_.empty() && agenda_.begin()->first <= end) {
    auto next = agenda_.extract(agenda_.begin());
    now_ = std::max(now_, next.key());
    next.mapped()();
  }
  now_ = std::max(now_, end);
}

void VirtualThreads::Resume(Thread& thread) {
  thread.is_waiting_ = false;
  ++thread.wait_;
  current_ = &thread;
  thread.go_.release();
  back_.acquire();
  current_ = nullptr;
}

void VirtualThreads::Thread::Yield() {
  is_waiting_ = true;
  all_.back_.release();
  go_.acquire();
}

void VirtualThreads::Thread::WaitUntil(Instant deadline, const std::function<bool()>& done) {
  while (!is_killed_) {
    const bool is_over = all_.now() >= deadline || done();
    if (is_over && !is_paused()) return;
    const Instant next = is_over ? paused_until_ : std::max(deadline, paused_until_);
    all_.At(next, [this, wait = wait_] {
      if (is_waiting_ && wait_ == wait) all_.Resume(*this);
    });
    Yield();
  }
}

void VirtualThreads::Thread::Wake() {
  all_.At(all_.now(), [this, wait = wait_] {
    if (is_waiting_ && wait_ == wait) all_.Resume(*this);
  });
}

void VirtualThreads::Thread::Kill() {
  is_killed_ = true;
  Wake();
}

}  // namespace fabricd::sim
