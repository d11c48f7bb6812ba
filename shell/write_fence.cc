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
          [&shared] { return shared.Confirm(); }, [&shared] { return shared.answered(); }};
}

std::optional<WriteFence::Time> WriteFence::Pause() {
  if (IsBroken(Breakage::kPauseNotNoticed)) return std::nullopt;
  const Time now = witnesses_.now();
  const Time pause = turn_ ? now - *turn_ : Time{};
  if (pause > kMostPause && !HasKeptEpoch()) return pause;
  if (pause > kShortPause) BeginDoubt(pause, now);
  // The lease may be over because the store does not answer: that ends no mastership.
  const bool is_strict = stopped_ > kMostPause;
  const bool is_lost =
      is_strict && now < doubt_until_ && epoch_ != 0 && witnesses_.epoch() != epoch_;
  return is_refused_ || is_lost ? std::optional(stopped_) : std::nullopt;
}

std::optional<WriteFence::Time> WriteFence::BeginTurn() {
  const std::optional<Time> pause = Pause();
  turn_ = witnesses_.now();
  epoch_ = witnesses_.epoch();
  has_no_answer_ = false;
  return pause;
}

// A short stop does not shorten the doubt of a longer one.
void WriteFence::BeginDoubt(Time stopped, Time now) {
  if (now >= doubt_until_ || stopped > stopped_) stopped_ = stopped;
  stop_began_ = now - stopped;
  doubt_until_ = now + kDoubt;
}

bool WriteFence::MaySend(const mad::OutgoingMad& mad) { return !IsSmpSet(mad) || MayWrite(); }

bool WriteFence::MayWrite() {
  if (IsBroken(Breakage::kPauseNotNoticed)) return true;
  if (!turn_ || is_refused_) return false;
  const Time now = witnesses_.now(), pause = now - *turn_;
  if (pause <= kShortPause && now >= doubt_until_) return true;
  const bool is_paused = pause > kMostPause;
  if (is_paused || (now < doubt_until_ && stopped_ > kMostPause)) {
    if (!HasKeptEpoch()) {
      is_refused_ = is_refused_ || !is_paused;
      return false;
    }
    if (is_paused) BeginDoubt(pause, now);
    turn_ = witnesses_.now();  // The time that the store takes is no stop.
    return true;
  }
  if (pause > kShortPause) BeginDoubt(pause, now);
  const Epoch epoch = Ask();
  if (epoch == Epoch::kHeld) turn_ = witnesses_.now();
  if (epoch == Epoch::kLost) is_refused_ = true;
  // Each further Set would only be delayed. This one has been.
  if (epoch == Epoch::kUnknown) {
    has_no_answer_ = true;
    doubt_until_ = {};
  }
  return epoch != Epoch::kLost && witnesses_.now() - *turn_ <= kMostPause;
}

// Where the lease is over because the store does not answer, nobody else need have the epoch.
WriteFence::Epoch WriteFence::Ask() const {
  const int64_t held = witnesses_.epoch();
  if (epoch_ == 0 || held == 0) return Epoch::kUnknown;
  if (held != epoch_) return Epoch::kLost;
  if (has_no_answer_ || stop_began_ - witnesses_.answered() > kAnswers) return Epoch::kUnknown;
  const absl::Status confirmed = witnesses_.confirm();
  if (confirmed.ok()) return Epoch::kHeld;
  return absl::IsAborted(confirmed) ? Epoch::kLost : Epoch::kUnknown;
}

bool WriteFence::HasKeptEpoch() const {
  return epoch_ != 0 && witnesses_.epoch() == epoch_ && witnesses_.confirm().ok();
}

}  // namespace fabricd::shell
