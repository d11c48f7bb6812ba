// SPDX-License-Identifier: Apache-2.0
// The wall clock, for what is stored and shown; durations run on the steady one. This file alone
// reads it (tools/layers).
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>

namespace fabricd {

// Milliseconds since 1970.
inline int64_t WallNowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

inline int64_t SteadyNowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Wall-clock time at zero of the steady clock, as it was when this was first asked for.
inline int64_t FirstEpochMs() {
  static const int64_t epoch = WallNowMs() - SteadyNowMs();
  return epoch;
}

// By the steady clock, counted from FirstEpochMs(): leases of services, which last as long as they
// were asked for whatever becomes of the wall clock.
inline int64_t LeaseNowMs() { return FirstEpochMs() + SteadyNowMs(); }

// gRPC takes deadlines by the wall clock, and turns them into steady ones at once.
template <typename Duration>
std::chrono::system_clock::time_point GrpcDeadline(Duration from_now) {
  return std::chrono::system_clock::now() + from_now;
}

// Tells when the wall clock is set. Both clocks are slewed alike, so that their offset changes when
// the wall clock is set and not otherwise. One thread.
class WallClockWatch {
 public:
  // Less is not seen: it is what reading two clocks one after the other may differ by on a busy
  // machine.
  static constexpr int64_t kLeastStepMs = 1000;

  // Wall-clock time at zero of the steady clock, as of the last Look().
  int64_t epoch() const { return epoch_; }
  // The new epoch, where the wall clock was set since the last call.
  std::optional<int64_t> Look() { return Look(SteadyNowMs(), WallNowMs(), SteadyNowMs()); }
  // The wall clock was read between two readings of the steady one.
  std::optional<int64_t> Look(int64_t before, int64_t wall, int64_t after) {
    if (after - before >= kLeastStepMs / 2) return std::nullopt;  // The next look tells.
    const int64_t epoch = wall - after;
    if (std::abs(epoch - epoch_) < kLeastStepMs) return std::nullopt;
    return epoch_ = epoch;
  }

 private:
  int64_t epoch_ = FirstEpochMs();
};

}  // namespace fabricd
