// SPDX-License-Identifier: Apache-2.0
#include "telemetry/device.h"

#include <algorithm>
#include <utility>

namespace fabricd::telemetry {

void Device::ForgetAll() {
  own_ = {};
  std::ranges::fill(wanted_, AskSet());
  has_wanted_ = false;
  repeat_.reset();
}

void Device::SetAbsent(Ask ask, Absence why, Millis now) {
  Missing& missing = missing_[static_cast<size_t>(ask)];
  missing.why = why;
  Millis pause = kUnsupportedFor;
  if (IsMandatory(ask)) {
    pause = std::min(kNoAnswerFor, kMandatoryFor << std::min<uint8_t>(missing.times, 5));
  } else if (why != Absence::kUnsupported) {
    pause = std::min(kUnsupportedFor, kNoAnswerFor << std::min<uint8_t>(missing.times, 5));
  }
  missing.until = now + pause;
  if (missing.times < 0xFF) ++missing.times;
}

bool Device::IsUnderWay(Ask ask, PortNum port) const {
  for (uint8_t i = 0; i < in_flight_; ++i) {
    if (under_way_[i].ask == ask && under_way_[i].port == port) return true;
  }
  return false;
}

void Device::End(Ask ask, PortNum port) {
  for (uint8_t i = 0; i < in_flight_; ++i) {
    if (under_way_[i].ask != ask || under_way_[i].port != port) continue;
    under_way_[i] = under_way_[--in_flight_];
    return;
  }
}

bool Device::ProbesNow() const {
  for (uint8_t i = 0; i < in_flight_; ++i) {
    if (IsProbe(under_way_[i].ask)) return true;
  }
  return false;
}

bool Device::AwaitsMandatory(Millis now) const {
  for (uint8_t i = 0; i < in_flight_; ++i) {
    if (IsMandatory(under_way_[i].ask)) return true;
  }
  if (repeat_ && IsMandatory(repeat_->ask)) return true;
  const auto comes = [&](AskSet asks, Ask ask) {
    return asks.Has(ask) && absence(ask, now) == Absence::kNone;
  };
  if (comes(own_, Ask::kClassPortInfo)) return true;
  return knows_capabilities && std::ranges::any_of(wanted_, [&](AskSet asks) {
           return comes(asks, Ask::kExtended) || comes(asks, Ask::kClassic);
         });
}

std::optional<NextAsk> Device::Take(Millis now, AskSet& wanted, PortNum port) {
  for (AskSet left = wanted; !left.IsEmpty();) {
    const Ask ask = left.First();
    left.Remove(ask);
    if (absence(ask, now) != Absence::kNone) {
      wanted.Remove(ask);
      continue;
    }
    if (IsRegister(ask) && !has_registers) {
      if (knows_registers || last_absence(Ask::kVendorInfo) != Absence::kNone) wanted.Remove(ask);
      continue;
    }
    if (IsUnderWay(ask, port)) continue;
    const bool is_probe = IsProbe(ask);
    if (is_probe && (probes_in_a_row_ >= kProbesInARow || ProbesNow())) continue;
    probes_in_a_row_ = is_probe ? static_cast<uint8_t>(probes_in_a_row_ + 1) : uint8_t{0};
    wanted.Remove(ask);
    return NextAsk{ask, port};
  }
  return std::nullopt;
}

std::optional<NextAsk> Device::Next(Millis now) {
  if (repeat_) return std::exchange(repeat_, std::nullopt);
  std::optional<NextAsk> next = Take(now, own_, PortNum(0));
  if (next || !knows_capabilities || !has_wanted_) return next;
  const size_t ports = wanted_.size();
  for (size_t i = 1; i <= ports; ++i) {
    const size_t port = (cursor_ + i) % ports;
    next = Take(now, wanted_[port], PortNum(static_cast<uint8_t>(port)));
    if (!next) continue;
    cursor_ = static_cast<uint8_t>(port);
    return next;
  }
  has_wanted_ = std::ranges::any_of(wanted_, [](AskSet asks) { return !asks.IsEmpty(); });
  return std::nullopt;
}

}  // namespace fabricd::telemetry
