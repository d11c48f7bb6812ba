// SPDX-License-Identifier: Apache-2.0
// StuckCalls: cancels calls whose clients take nothing of what they are sent, or send nothing of
// what is awaited. What such a call holds (a dump, an answer, a place among few) would else be held
// for as long as its connection lives. A thread of its own; any thread may track calls.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "common/bounded_queue.h"
#include "common/mutex.h"

namespace fabricd::rpc {

class StuckCalls {
 public:
  // One call. Its context is not touched after the tracker's end.
  class Tracker {
   public:
    explicit Tracker(grpc::ServerContextBase* context) : context_(context) {}
    // A message or the status is on its way to the client, or one of the client's is awaited.
    void Waits();
    void Moves() { waits_since_ = 0; }
    void End();

   private:
    friend class StuckCalls;
    using Clock = std::chrono::steady_clock;
    void CancelIfSince(Clock::time_point earliest);

    // Recursive: a cancellation may end the call on the thread that cancels.
    std::recursive_mutex mutex_;
    grpc::ServerContextBase* context_;         // Null after End().
    std::atomic<Clock::rep> waits_since_ = 0;  // 0: does not wait.
  };

  explicit StuckCalls(std::chrono::milliseconds limit);
  ~StuckCalls();

  std::shared_ptr<Tracker> Track(grpc::ServerContextBase* context);

 private:
  void Run();

  const std::chrono::milliseconds limit_;
  Mutex mutex_;
  std::vector<std::weak_ptr<Tracker>> calls_ FABRICD_GUARDED_BY(mutex_);
  size_t clean_at_ FABRICD_GUARDED_BY(mutex_) =
      64;  // Ended calls are dropped when there are so many.
  BoundedQueue<int> stop_{1};
  std::thread thread_;  // Last: it uses the others.
};

}  // namespace fabricd::rpc
