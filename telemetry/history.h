// SPDX-License-Identifier: Apache-2.0
// History: transmit rate and wait share of every port, 2 bytes a sample, in rings of fixed size.
// What a port received is what the far end of its link transmitted. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/time.h"
#include "telemetry/port_record.h"

namespace fabricd::telemetry {

// One value in 16 bits: whole units below 2048, and from there on 11 bits of mantissa and 5 of
// exponent: off by half a unit, or by 1/4096 of the value.
class PackedValue {
 public:
  static constexpr uint16_t kNone = 0xFFFF;
  static uint16_t Pack(double value, double unit);     // value >= 0, in multiples of unit.
  static double Unpack(uint16_t packed, double unit);  // REQUIRES: packed != kNone.
};

struct HistoryOptions {
  Duration fine_step = std::chrono::seconds(30);  // The poll interval.
  Duration fine_span = std::chrono::hours(1);
  Duration coarse_step = std::chrono::minutes(5);
  Duration coarse_span = std::chrono::hours(24);
  friend bool operator==(const HistoryOptions&, const HistoryOptions&) = default;
};

struct HistorySample {
  Millis at = 0;  // End of the step.
  bool known = false;
  float xmit_bytes = 0;  // Bytes per second, mean of the step.
  bool knows_wait = false;
  float wait = 0;  // Share, the largest of the step.
};

class History {
 public:
  // `ports`: how many slots; each costs bytes_per_port().
  History(const HistoryOptions& options, size_t ports);

  static size_t BytesPerPort(const HistoryOptions& options);
  size_t bytes() const { return values_.size() * sizeof(uint16_t); }
  size_t ports() const { return ports_; }
  // Adds slots without samples. Costs a copy of all: for changes of the fabric.
  void Grow(size_t ports);
  void Forget(size_t port);
  // Of a reading at `rates.at`; a second one in the same step replaces the first. Steps before it
  // that its window holds have its values too: an interval may be longer than a step.
  void Enter(size_t port, const Rates& rates, const WaitShare& wait);

  // Oldest first, up to `now`; steps without a reading are not known. The one that has not ended is
  // left out where it has none yet.
  std::vector<HistorySample> Read(size_t port, Millis now, Duration span) const;
  // What `span` is answered in: above fine_span in coarse steps.
  Millis StepOf(Duration span) const { return RingOf(span).step; }

 private:
  struct Ring {
    Millis step = 0;
    uint32_t samples = 0;
    size_t offset = 0;  // In a port's values: transmit rates, then wait shares.
  };
  uint16_t* At(size_t port, const Ring& ring) { return &values_[port * stride_ + ring.offset]; }
  const uint16_t* At(size_t port, const Ring& ring) const {
    return &values_[port * stride_ + ring.offset];
  }
  const Ring& RingOf(Duration span) const;
  void Put(size_t port, const Ring& ring, Millis& newest, const Rates& rates, const WaitShare& wait,
           bool merge);

  Ring fine_, coarse_;
  size_t ports_ = 0;
  size_t stride_ = 0;
  std::vector<uint16_t> values_;
  // By port: the step that was written last, in either ring; 0: none.
  std::vector<Millis> newest_fine_, newest_coarse_;
};

}  // namespace fabricd::telemetry
