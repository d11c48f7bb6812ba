// SPDX-License-Identifier: Apache-2.0
#include "shell/write_fence.h"

#include "common/breakage.h"
#include "mad/wire/mad_header.h"

namespace fabricd::shell {

bool IsSmpSet(const mad::OutgoingMad& mad) {
  const bool is_smp = mad.agent == mad::Agent::kSmpDirected || mad.agent == mad::Agent::kSmpLid;
  return is_smp && wire::MadHeader::Decode(mad::WholeMad(mad.payload)).method == wire::Method::kSet;
}

WriteFence::Witnesses WriteFence::WitnessesOf(store::etcd::SharedStore& shared,
                                              store::etcd::BootClock clock) {
  return {std::move(clock), [&shared] { return shared.epoch(); },
          [&shared] { return shared.Confirm().ok(); }};
}

std::optional<WriteFence::Time> WriteFence::Pause() {
  if (IsBroken(Breakage::kPauseNotNoticed)) return std::nullopt;
  const Time now = witnesses_.now();
  const Time pause = turn_ ? now - *turn_ : Time{};
  if (pause > kMostPause) {
    if (!HasKeptEpoch()) return pause;
    BeginDoubt(pause, now);
  }
  const bool is_lost = now < doubt_until_ && epoch_ != 0 && witnesses_.epoch() != epoch_;
  return is_refused_ || is_lost ? std::optional(stopped_) : std::nullopt;
}

std::optional<WriteFence::Time> WriteFence::BeginTurn() {
  const std::optional<Time> pause = Pause();
  turn_ = witnesses_.now();
  epoch_ = witnesses_.epoch();
  return pause;
}

void WriteFence::BeginDoubt(Time stopped, Time now) {
  stopped_ = stopped;
  doubt_until_ = now + kDoubt;
}

bool WriteFence::MaySend(const mad::OutgoingMad& mad) { return !IsSmpSet(mad) || MayWrite(); }

bool WriteFence::MayWrite() {
  if (IsBroken(Breakage::kPauseNotNoticed)) return true;
  if (!turn_ || is_refused_) return false;
  const Time now = witnesses_.now(), pause = now - *turn_;
  const bool is_paused = pause > kMostPause;
  if (!is_paused && now >= doubt_until_) return true;
  if (!HasKeptEpoch()) {
    is_refused_ = is_refused_ || !is_paused;
    return false;
  }
  if (is_paused) BeginDoubt(pause, now);
  turn_ = witnesses_.now();  // The time that the store takes is no stop.
  return true;
}

bool WriteFence::HasKeptEpoch() const {
  return epoch_ != 0 && witnesses_.epoch() == epoch_ && witnesses_.confirms();
}

}  // namespace fabricd::shell
