// SPDX-License-Identifier: Apache-2.0
#include "telemetry/schedule.h"

#include <algorithm>

#include "common/rng.h"

namespace fabricd::telemetry {

Millis Schedule::PlaceOf(PortRef port) const {
  const uint64_t key = uint64_t{port.node.value()} << 8 | port.port.value();
  return static_cast<Millis>(Rng(seed_ ^ key * 0x9E3779B97F4A7C15u).Below(interval_));
}

void Schedule::SetPorts(std::span<const PortRef> ports, Millis now) {
  turns_.clear();
  turns_.reserve(ports.size());
  for (PortRef port : ports) turns_.push_back({interval_ == 0 ? 0 : PlaceOf(port), port});
  std::ranges::sort(turns_, [](const Turn& a, const Turn& b) {
    return a.at != b.at ? a.at < b.at : a.port < b.port;
  });
  const Millis into = now - pass_at_;
  next_ =
      static_cast<size_t>(std::ranges::upper_bound(turns_, into, {}, &Turn::at) - turns_.begin());
}

void Schedule::Start(Millis now, Millis interval) {
  interval_ = interval;
  pass_at_ = now;
  std::vector<PortRef> ports;
  ports.reserve(turns_.size());
  for (const Turn& turn : turns_) ports.push_back(turn.port);
  SetPorts(ports, now);
  next_ = 0;
}

void Schedule::EndPass(Millis now) {
  pass_at_ += interval_;
  if (now - pass_at_ >= interval_) pass_at_ = now;  // Far behind: no two passes at once.
  ++pass_;
  next_ = 0;
}

Millis Schedule::NextAt() const {
  if (interval_ == 0 || turns_.empty()) return kNone;
  return next_ < turns_.size() ? pass_at_ + turns_[next_].at : pass_at_ + interval_;
}

}  // namespace fabricd::telemetry
