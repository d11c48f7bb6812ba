// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "common/mutex.h"
#include "daemon/rpc/streams/watch_stream.h"

namespace fabricd::rpc {

void WatchHub::OnChange(bool beat) {
  if (beat) beat_due_ = true;
  // What is refused is on its way to the thread already.
  if (!scheduled_.exchange(true)) (void)worker_.Post(0);
}

void WatchHub::Wake() {
  scheduled_ = false;
  const bool beat = beat_due_.exchange(false);
  std::vector<std::shared_ptr<Stream>> alive;
  {
    MutexLock lock(mutex_);
    for (const auto& stream : streams_)
      if (auto held = stream.lock()) alive.push_back(std::move(held));
  }
  for (const auto& stream : alive) stream->OnChange(beat);
}

bool WatchHub::Add(const std::shared_ptr<Stream>& stream, size_t most) {
  MutexLock lock(mutex_);
  std::erase_if(streams_, [](const auto& other) { return other.expired(); });
  if (streams_.size() >= most) return false;
  streams_.push_back(stream);
  return true;
}

size_t WatchHub::stream_count() const {
  MutexLock lock(mutex_);
  return static_cast<size_t>(std::count_if(streams_.begin(), streams_.end(),
                                           [](const auto& stream) { return !stream.expired(); }));
}

}  // namespace fabricd::rpc
