// SPDX-License-Identifier: Apache-2.0
#include "sim/store/virtual_threads.h"

#include <algorithm>

#include "common/check.h"

namespace fabricd::sim {

namespace {

// makecontext() passes no pointers.
thread_local VirtualThreads::Thread* starting = nullptr;

}  // namespace

VirtualThreads::Thread::Thread(VirtualThreads& all, std::function<void()> body, size_t stack)
    : all_(all),
      body_(std::move(body)),
      stack_(std::make_unique_for_overwrite<char[]>(stack)),
      is_waiting_(true) {
  getcontext(&context_);
  context_.uc_stack.ss_sp = stack_.get();
  context_.uc_stack.ss_size = stack;
  context_.uc_link = &all_.back_;
  makecontext(&context_, &Thread::Run, 0);
}

void VirtualThreads::Thread::Run() {
  Thread& thread = *starting;
  thread.body_();
  thread.has_ended_ = true;
}

VirtualThreads::~VirtualThreads() {
  for (const auto& thread : threads_) FABRICD_CHECK(thread->has_ended());
}

VirtualThreads::Thread& VirtualThreads::Start(std::function<void()> body, size_t stack) {
  Thread& thread = *threads_.emplace_back(std::make_unique<Thread>(*this, std::move(body), stack));
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
  current_ = starting = &thread;
  swapcontext(&back_, &thread.context_);
  current_ = nullptr;
  if (thread.has_ended_) thread.stack_.reset();
}

void VirtualThreads::Thread::Yield() {
  is_waiting_ = true;
  swapcontext(&context_, &all_.back_);
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
