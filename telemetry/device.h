// SPDX-License-Identifier: Apache-2.0
// Device: what the collector knows of asking one device: where its requests go, what it is to be
// asked for next, and what it has been found not to have. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "mad/wire/class_port_info.h"
#include "telemetry/ask.h"
#include "telemetry/options.h"
#include "telemetry/port_record.h"

namespace fabricd::telemetry {

// What is to be asked next.
struct NextAsk {
  Ask ask{};
  PortNum port;
  bool is_repeat = false;
};

class Device {
 public:
  // What a device was found not to have is asked for again after this long.
  static constexpr Millis kUnsupportedFor = 24u * 3600 * 1000;
  static constexpr Millis kNoAnswerFor = 3600 * 1000;  // Doubles each time, up to kUnsupportedFor.
  // What it must have, but did not answer or refused, is probed again sooner.
  static constexpr Millis kMandatoryFor = 120 * 1000;  // Doubles each time, up to kNoAnswerFor.
  // Requests in a row for what the device has not answered yet, and need not have. One of them at a
  // time: what the device has is read meanwhile.
  static constexpr uint8_t kProbesInARow = 2;

  void Fit(size_t ports) { wanted_.resize(ports + 1); }

  // ---- what is wanted
  void Want(Ask ask) { own_.Add(ask); }
  void Want(PortNum port, AskSet asks) {
    wanted_[port.value()].Add(asks);
    has_wanted_ = true;
  }
  void Forget(PortNum port) { wanted_[port.value()] = {}; }
  void ForgetAll();
  bool WantsAny() const { return !own_.IsEmpty() || has_wanted_ || repeat_.has_value(); }

  // What it need not have and has never answered: that it does not answer says nothing of it.
  bool IsProbe(Ask ask) const { return !IsMandatory(ask) && !present_.Has(ask); }
  bool HasAnswered(Ask ask) const { return present_.Has(ask); }
  bool ProbesNow() const;
  // Whether something is wanted or under way that the device has to have, and can come.
  bool AwaitsMandatory(Millis now) const;
  // The next thing to ask, which is then no longer wanted. Nothing of a port before ClassPortInfo
  // is known, and no register before GeneralInfo says that there are some. nullopt: none now.
  std::optional<NextAsk> Next(Millis now);
  // What is under way. Nothing is asked twice at a time: where two readings arrive in the wrong
  // order, the older looks like counters that somebody has cleared.
  // REQUIRES: in_flight() < kInFlightPerDevice.
  void Begin(NextAsk ask) { under_way_[in_flight_++] = ask; }
  void End(Ask ask, PortNum port);
  uint8_t in_flight() const { return in_flight_; }
  // A request got no response: it is to be repeated once, next.
  void Repeat(NextAsk ask) { repeat_ = ask; }

  // ---- what it has
  Absence absence(Ask ask, Millis now) const {
    if (IsOfVendor(ask) && vendor != Absence::kNone) return vendor;
    const Missing& missing = missing_[static_cast<size_t>(ask)];
    return now < missing.until ? missing.why : Absence::kNone;
  }
  // The same, but until it is answered, and not until it is asked for again.
  Absence last_absence(Ask ask) const {
    if (IsOfVendor(ask) && vendor != Absence::kNone) return vendor;
    return missing_[static_cast<size_t>(ask)].why;
  }
  void SetAbsent(Ask ask, Absence why, Millis now);
  void SetPresent(Ask ask) {
    missing_[static_cast<size_t>(ask)] = {};
    present_.Add(ask);
  }
  // It may have started again, with other firmware: what it was found not to have is asked for
  // again.
  void Renew() {
    missing_ = {};
    in_a_row = 0;
    is_smp_asked = false;
  }

  // kNone: it may be asked for attributes of class 0x0A and for vendor SMPs; else why not.
  Absence vendor = Absence::kOtherVendor;
  bool knows_capabilities = false;
  bool knows_registers = false;    // GeneralInfo of class 0x0A was read,
  bool has_registers = false;      // and says that AccessRegister is there.
  bool has_ext_port_info = false;  // SMP GeneralInfo says so.
  bool knows_tick = false;
  uint8_t tick = 0;
  uint16_t capability_mask = 0;
  uint32_t capability_mask2 = 0;
  uint8_t response_time_value = 0;
  std::optional<wire::ClassPortInfo::Target> redirect;

  uint8_t in_a_row = 0;       // Requests without a response of what it must have.
  bool is_queued = false;     // Has a place in the queue of devices.
  bool is_in_pass = false;    // A pass on demand waits for it.
  bool is_smp_asked = false;  // GeneralInfo as SMP, since the device was renewed.
  Millis identified_at = 0;   // When ClassPortInfo was last read.

 private:
  struct Missing {
    Millis until = 0;
    Absence why = Absence::kNone;
    uint8_t times = 0;
  };
  std::optional<NextAsk> Take(Millis now, AskSet& wanted, PortNum port);

  bool IsUnderWay(Ask ask, PortNum port) const;

  std::array<NextAsk, kInFlightPerDevice> under_way_{};
  uint8_t in_flight_ = 0;
  AskSet own_;
  std::vector<AskSet> wanted_;  // By port number.
  bool has_wanted_ = false;     // Some of them is not empty, perhaps.
  uint8_t cursor_ = 0;          // The port that was asked last.
  uint8_t probes_in_a_row_ = 0;
  AskSet present_;  // Has been answered.
  std::optional<NextAsk> repeat_;
  std::array<Missing, kAsks> missing_{};
};

}  // namespace fabricd::telemetry
