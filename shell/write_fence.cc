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

std::optional<WriteFence::Time> WriteFence::Pause() const {
  const Time pause = turn_ ? witnesses_.now() - *turn_ : Time{};
  if (pause <= kMostPause || HasKeptEpoch() || IsBroken(Breakage::kPauseNotNoticed))
    return std::nullopt;
  return pause;
}

std::optional<WriteFence::Time> WriteFence::BeginTurn() {
  const std::optional<Time> pause = Pause();
  turn_ = witnesses_.now();
  epoch_ = witnesses_.epoch();
  return pause;
}

bool WriteFence::MaySend(const mad::OutgoingMad& mad) { return !IsSmpSet(mad) || MayWrite(); }

bool WriteFence::MayWrite() {
  const Time now = witnesses_.now();
  if (turn_ && now - *turn_ <= kMostPause) return true;
  if (!turn_ || !HasKeptEpoch()) return IsBroken(Breakage::kPauseNotNoticed);
  turn_ = now;
  return true;
}

bool WriteFence::HasKeptEpoch() const {
  return epoch_ != 0 && witnesses_.epoch() == epoch_ && witnesses_.confirms();
}

}  // namespace fabricd::shell
