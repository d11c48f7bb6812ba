// SPDX-License-Identifier: Apache-2.0
#include "sweep/agenda/agenda.h"

namespace fabricd::sweep {
namespace {

// The next wait of an exponential backoff.
Duration Longer(Duration wait, const SweepOptions& options, Duration cap) {
  return std::min(std::max(wait * 2, options.retry_min), cap);
}

}  // namespace

void Agenda::WantSweep(std::string why) {
  if (sweep_ && sweep_->waits_until == Instant::min()) return;
  sweep_ = {std::move(why), Instant::min(), sweep_ && sweep_->reads_back};
}

void Agenda::WantCheck(std::string why, Instant now) {
  if (!sweep_) sweep_ = {std::move(why), now + kLongestWait};
  sweep_->reads_back = true;
}

bool Agenda::IsSweepDue(bool is_reported, Instant now) const {
  return sweep_ && (now >= sweep_->waits_until || !is_reported);
}

void Agenda::OnSweepStart(bool is_patient) {
  is_patient_ = is_patient;
  reads_back_ = reads_back_ || (sweep_ && sweep_->reads_back);
  sweep_.reset();
  next_retry_ = kNever;
  retries_ = 0;
}

bool Agenda::StaysPatient(bool may) {
  is_patient_ = is_patient_ && may && !WantsReroute();
  return is_patient_;
}

void Agenda::OnSweepEnd(const End& end, Instant now) {
  const SweepOptions& sweep = options_.sweep;
  // The others read a part of the fabric: they do not put off a light sweep, however many follow
  // each other.
  const bool reads_all = end.kind == SweepKind::kHeavy || end.kind == SweepKind::kLight;
  if (reads_all || (end.has_unread && next_light_ - unread_wait_ > now)) {
    const Duration wait = UntilLightSweep(end.has_unread);
    const Instant light = wait > Duration::zero() ? now + wait : kNever;
    next_light_ = reads_all ? light : std::min(next_light_, light);
  }
  if (end.kind == SweepKind::kHeavy)
    next_heavy_ = sweep.heavy_interval > Duration::zero() ? now + sweep.heavy_interval : kNever;
  if (end.kind == SweepKind::kLight || end.is_standby) return;
  // Checking whether the SM's own link works again costs no more than a light sweep.
  const bool soon = end.is_alone && sweep.light_interval > Duration::zero();
  const Duration cap = soon ? std::min(sweep.retry_max, sweep.light_interval) : sweep.retry_max;
  retry_wait_ = end.failed ? Longer(retry_wait_, sweep, cap) : Duration::zero();
  next_retry_ = end.failed ? now + retry_wait_ : kNever;
}

// Unread ports are read again soon, then at growing intervals up to the configured one.
Duration Agenda::UntilLightSweep(bool has_unread) {
  const SweepOptions& sweep = options_.sweep;
  if (!has_unread) return sweep.light_interval;
  const bool has_interval = sweep.light_interval > Duration::zero();
  unread_wait_ = Longer(unread_wait_, sweep, has_interval ? sweep.light_interval : sweep.retry_max);
  return unread_wait_;
}

void Agenda::WantLightSweepSoon(Instant now) {
  next_light_ = std::min(next_light_, now + options_.sweep.retry_min);
}

void Agenda::WantRetrySoon(Instant now) {
  next_retry_ = std::min(next_retry_, now + options_.sweep.retry_min);
}

bool Agenda::TakeRetry(bool may) {
  next_retry_ = kNever;
  return may && ++retries_ <= kMostRetries;
}

}  // namespace fabricd::sweep
