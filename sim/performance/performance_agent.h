// SPDX-License-Identifier: Apache-2.0
// PerformanceAgent: the counters of one simulated device, and the agents that answer GMPs about
// them: performance management (class 0x04, IBA vol 1 §16.1) and the vendor's class 0x0A with its
// registers. The device answers itself, also where a program sits on its port: on hardware the
// kernel's driver does. Layouts: mad/wire; facts about devices:
// reference/telemetry-and-adaptive.md.
//
// Storage: a port takes some 500 bytes from the first time that it counts, changes its link or is
// set up; before that, nothing. Traffic of management itself is not counted, that of jobs is. Pure:
// no clock.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <absl/functional/function_ref.h>

#include "common/ids.h"
#include "common/rng.h"
#include "common/time.h"
#include "mad/wire/perf.h"
#include "mad/wire/registers.h"
#include "mad/wire/smp.h"
#include "mad/wire/vendor_mad.h"
#include "sim/device/sim_device.h"
#include "sim/performance/bit_error_rates.h"
#include "sim/performance/counters.h"
#include "sim/performance/performance_options.h"
#include "sim/traffic/port_loads.h"

namespace fabricd::sim {

// Why a link went down, seen from one of its ends (PDDR page 6).
struct LinkDownCause {
  enum class Blame : uint8_t { kUnknown = 0, kLocal = 1, kRemote = 2 };
  Blame blame = Blame::kUnknown;
  bool intentional = false;
  // Reason opcodes of the register: 23 cable unplugged, 22 management command, 33 peer disable, …
  uint8_t local_reason = 0, remote_reason = 0;
};

class PerformanceAgent {
 public:
  // PortSamplesControl.Tick: kXmitWait counts once in (kTick + 1) byte times.
  static constexpr uint8_t kTick = 7;
  // Of the traffic of jobs: each packet is so long, all of it data.
  static constexpr uint64_t kPacketBytes = 4096;
  static constexpr uint32_t kQp = 1;
  static constexpr uint32_t kRedirectQp = 0x48;  // PerformanceQuirk::kRedirect
  static constexpr uint32_t kQKey = 0x80010000;  // Of all QPs that serve GMPs.

  const PerformanceOptions& options() const;
  // Null: the defaults. Shared, as most devices of a fabric have the same.
  void SetOptions(std::shared_ptr<const PerformanceOptions> options) {
    options_ = std::move(options);
  }
  // As after power-up at `now`, links down. What is no register of the device stays: options, error
  // rates, modules.
  void Restart(Instant now);

  // ---- the port counts, or something happens to it. REQUIRES: the device has the port.
  void Add(PortNum port, Counter counter, uint64_t count) { Open(port).counts.Add(counter, count); }
  // Counts what SetBitErrorRates and SetTraffic cause up to `now`: before Total. Answer does so by
  // itself.
  void CountUpTo(Instant now, const SimDevice& device, PortNum port);
  // Since power-up; clearing changes nothing here.
  uint64_t Total(PortNum port, Counter counter) const;
  // What a tool does that clears all registers of a port: PortCounters, the extended and detailed
  // ones, and the vendor's.
  void ClearPort(Instant now, const SimDevice& device, PortNum port);
  void OnLinkUp(Instant now, PortNum port);
  // The link, which ran at the rate that the registers of `device` still show, has gone down.
  void OnLinkDown(Instant now, const SimDevice& device, PortNum port, const LinkDownCause& cause);
  // From now on; all 0 ends it. `seed`: of what is drawn for this port.
  void SetBitErrorRates(Instant now, const SimDevice& device, PortNum port, BitErrorRates rates,
                        uint64_t seed);
  // From now on; PortLoad() ends it, and so does the end of the link.
  void SetTraffic(Instant now, const SimDevice& device, PortNum port, const PortLoad& load);
  // Of the module, in degrees Celsius. nullopt: as it was made.
  void SetModuleTemperature(PortNum port, std::optional<int> celsius) {
    Open(port).module_temperature = celsius;
  }
  // Another one of the same make, with a serial number of its own, is plugged.
  void ReplaceModule(PortNum port) { ++Open(port).modules_before; }

  // ---- GMPs
  struct Request {
    Instant now;
    const SimDevice& device;
    PortNum end_port;  // Where it arrived: a CA's port, or port 0.
    uint32_t qpn;
    // The devices at the other ends of this one's cables.
    absl::FunctionRef<const SimDevice&(NodeIndex)> device_of;
  };
  // Answers a GMP of class 0x04 or 0x0A: on true `mad` has turned into the response. False: it is
  // dropped. REQUIRES: a request.
  bool Answer(const Request& request, std::span<uint8_t, wire::kMadBytes> mad);
  // The key that another manager has set where a quirk says so.
  static wire::VsKey VsKeyOf(const SimDevice& device);

  // ---- SMPs
  // Fills in the response to one of `method`, which the device itself does not know, where it is an
  // attribute of the vendor that the family has; else leaves it.
  void AnswerSmp(const SimDevice& device, PortNum ingress, wire::Method method,
                 wire::Smp& smp) const;

 private:
  using Registers = PortCounts::Registers;
  struct ErrorProcess {
    BitErrorRates rates;
    Rng rng;
    uint64_t drawn_bits = 0;  // Received when errors were drawn last.
  };
  // What has passed since a load was set, counted from its beginning so that nothing is lost by
  // rounding.
  struct Traffic {
    PortLoad load;
    double link_gigabits = 0;
    Instant since;
    // Units of data and ticks that are counted already.
    uint64_t xmit = 0, rcv = 0, wait = 0, discards = 0;
  };
  struct Port {
    PortCounts counts;
    Instant up_since;          // Where the link is up: since when, or since the vendor's registers
                               // were cleared.
    Instant cleared;           // The vendor's registers, or power-up.
    uint64_t bits_before = 0;  // Received since then, before up_since.
    std::optional<LinkDownCause> last_down;
    std::optional<int> module_temperature;
    uint32_t modules_before = 0;           // How many have been plugged there before this one.
    std::unique_ptr<ErrorProcess> errors;  // Null: none.
    std::unique_ptr<Traffic> traffic;      // Null: none.
  };

  Port& Open(PortNum port);
  const Port* Find(PortNum port) const {
    return port.value() < ports_.size() ? ports_[port.value()].get() : nullptr;
  }
  bool Has(PerformanceQuirk quirk) const { return options().Has(quirk); }
  PerformanceFamily Family(const SimDevice& device) const;
  static void CountTraffic(Instant now, Port& port);
  uint64_t ReceivedBits(Instant now, const SimDevice& device, PortNum port) const;

  // Class 0x04. nullopt: no response.
  std::optional<uint16_t> ServePerf(const Request& request, wire::PerfMad& mad);
  uint16_t ServeCounters(const Request& request, wire::PerfMad& mad);
  wire::ClassPortInfo PerfClassPortInfo(const Request& request) const;
  uint64_t Shown(const SimDevice& device, PortNum select, Registers registers,
                 Counter counter) const;
  void Clear(PortNum select, Registers registers, Counter counter);
  uint16_t ServeClassic(const SimDevice& device, wire::PerfMad& mad);
  uint16_t ServeExtended(const SimDevice& device, wire::PerfMad& mad);
  uint16_t DetailShown(const SimDevice& device, PortNum select, Counter counter) const;
  uint16_t ServeRcvErrorDetails(const SimDevice& device, wire::PerfMad& mad);
  uint16_t ServeXmitDiscardDetails(const SimDevice& device, wire::PerfMad& mad);
  void FillExtendedSpeeds(const SimDevice& device, wire::PerfMad& mad) const;

  // Class 0x0A. nullopt: no response.
  std::optional<uint16_t> ServeVendor(const Request& request, wire::VendorMad& mad);
  uint16_t ServeRegister(const Request& request, wire::VendorMad& mad);
  static std::optional<PortNum> RegisterPortOf(const SimDevice& device, wire::RegisterPort port);
  uint16_t ServePpcnt(const Request& request, wire::AccessRegister& access);
  uint64_t MillisecondsSinceClear(Instant now, PortNum port) const;
  void FillPhysical(const Request& request, PortNum port, wire::RegisterBytes block) const;
  void FillStatistical(const Request& request, PortNum port, wire::RegisterBytes block) const;
  wire::PddrModule ModuleAt(const Request& request, PortNum port) const;
  uint16_t ServePddr(const Request& request, wire::RegisterBytes block) const;
  uint16_t ServePpbmc(const Request& request, wire::RegisterBytes block);

  std::shared_ptr<const PerformanceOptions> options_;  // Null: the defaults.
  Instant since_{};                                    // Power-up.
  // By port number. Null or missing: no count is above 0, and the link has run since `since_`, or
  // is down.
  std::vector<std::unique_ptr<Port>> ports_;
  uint16_t vs_key_violations_ = 0;
};

}  // namespace fabricd::sim
