// SPDX-License-Identifier: Apache-2.0
// Evidence: what is known of a link's two ends, as far as a verdict about the link depends on it.
// Values only, in SI units. telemetry/ makes them of the collector's records; policy/verdict
// evaluates them. Nothing here says what is good or bad.
//
// Unknown is not zero: what was not measured is absent, and nothing may be concluded from that.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/ids.h"
#include "common/time.h"

namespace fabricd::policy {

// What increases at a port. Those of the receiver accuse the transmitter at the other end, the
// cable, or the receiver itself.
enum class Signal : uint8_t {
  kSymbolErrors,         // Behind FEC and retransmission (PPCNT 0x16, else SymbolErrorCounter).
  kEffectiveErrors,      // Behind FEC (PPCNT 0x16).
  kUncorrectableBlocks,  // PPCNT 0x12.
  kLinkDowns,            // Unintentional: PPCNT 0x12, else LinkDownedCounter.
  kRecoveries,           // PPCNT 0x12, else LinkErrorRecoveryCounter.
  kRcvErrors,            // PortRcvErrors without those that arrived marked as bad (EBP).
  kRemotePhysical,       // PortRcvRemotePhysicalErrors: marked as bad upstream.
  kLocalPhysical,        // PortRcvErrorDetails, as are the next two.
  kMalformed,
  kBufferOverrun,
  kLinkIntegrity,     // LocalLinkIntegrityErrors.
  kExcessiveOverrun,  // ExcessiveBufferOverrunErrors.
  kXmitDiscards,
  kHoqDiscards,  // PortXmitDiscardDetails: head of queue and lifetime limits together.
  kInactiveDiscards,
  kTraps,     // 128 to 131, 257 to 259, sent by this port.
  kTimeouts,  // MADs to this device without a response, while its peer answered.
};
inline constexpr size_t kSignals = 17;

// How far back is looked.
enum class Window : uint8_t { k60s, k300s, k600s, k720s, k3600s, k7500s, k24h };
inline constexpr size_t kWindows = 7;
Duration LengthOf(Window window);

// What one signal did within a window.
struct WindowCount {
  uint64_t count = 0;
  uint16_t readings = 0;      // That showed an increase. Bursts have few.
  bool is_saturated = false;  // A lower bound: the counter is at its maximum.
};

// One window of 300 s, by which wait is evaluated.
struct WaitWindow {
  double share = 0;        // Of time in which the port had data and no credits, in [0, 1].
  double utilisation = 0;  // Of what it sends, in [0, 1].
};

enum class EndRole : uint8_t {
  kHost,   // A port of a channel adapter.
  kLeaf,   // A switch port attached to one.
  kTrunk,  // A switch port linked to another switch.
  kOther,  // Of routers, gateways and aggregation nodes, or linked to one.
};

// Keys of the threshold table.
enum class FecClass : uint8_t { kUnknown, kNone, kLowLatency, kKp4 };
enum class Media : uint8_t { kUnknown, kCopper, kActiveCopper, kOptical };

// Why the device says that the link was down last (PDDR page 6).
struct LinkDownReport {
  enum class Blame : uint8_t { kUnknown, kLocal, kRemote };
  Blame blame = Blame::kUnknown;
  bool is_intentional = false;
  uint8_t local_reason = 0, remote_reason = 0;  // Opcodes of the register.
};

// What a device's own monitor concludes (PPBMC, ExtPortInfo).
enum class DeviceVerdict : uint8_t { kUnknown, kNormal, kWarning, kAlarm };

// What a family of devices shares: a defect of its firmware shows at many of them at once.
struct DeviceFamily {
  uint32_t vendor_id = 0;
  uint16_t device_id = 0;
  uint32_t revision = 0;  // NodeInfo.Revision.
  friend auto operator<=>(const DeviceFamily&, const DeviceFamily&) = default;
};

struct EndEvidence {
  Guid node;
  PortNum port;
  EndRole role = EndRole::kOther;
  DeviceFamily family;
  bool is_fresh = false;  // Read within three polling intervals. False: nothing else is to be used.
  Duration age{};         // Of the last reading.

  // By Signal; nullopt: not measured. The counts of a signal by Window. Increases within 60 s of a
  // change of the port's state are left out, but of kLinkDowns, kTraps and kTimeouts.
  std::array<std::optional<std::array<WindowCount, kWindows>>, kSignals> signals;
  // Bits received in each window, by PPCNT 0x16 or rate x time, as long as the link was up.
  std::array<double, kWindows> bits{};
  bool has_registers = false;  // Symbol errors and bits are those of PPCNT 0x16.
  std::array<double, kWindows> rcv_packets{};

  // The last three windows of 300 s, the newest first; nullopt: not known, or not whole.
  std::array<std::optional<WaitWindow>, 3> wait;

  std::optional<double> temperature;         // Of the module, degrees Celsius.
  std::optional<double> temperature_median;  // Of its last 24 h.
  std::optional<double> temperature_alarm;   // The module's own upper limit.
  DeviceVerdict device_verdict = DeviceVerdict::kUnknown;
  // It is about the device itself (ExtPortInfo), not about what the port receives (PPBMC).
  bool is_unhealthy = false;
  std::optional<LinkDownReport> last_down;

  const WindowCount* Find(Signal signal, Window window) const {
    const auto& counts = signals[static_cast<size_t>(signal)];
    return counts ? &(*counts)[static_cast<size_t>(window)] : nullptr;
  }
};

// A link that is ACTIVE, or was within 24 h. Of a host's link `a` is the host.
struct LinkEvidence {
  EndEvidence a, b;
  double gigabits = 0;  // Nominal, of all physical lanes together.
  double lane_gigabits = 0;
  FecClass fec = FecClass::kUnknown;
  Media media = Media::kUnknown;
  bool is_up = false;
  Duration up_for{};  // Since the link came up, or since it is known.
  // Since another module, cable or peer was seen at an end; nullopt: not that we know.
  std::optional<Duration> replaced_for;
  bool is_below_capability = false;  // Width or speed is below what both ends can do.
  // Within the last 60 s or ahead: the state of a quarter of the switch's links changed (restart).
  bool is_with_its_switch = false;
  bool is_with_its_host = false;  // Or of all links of the host: a reboot, not a cable.
  // By Window: of the link downs, those that were with its switch or with its host.
  std::array<uint64_t, kWindows> excused_downs{};
};

// What waits for one port, as a search along the routes finds it.
struct CongestionTree {
  enum class Kind : uint8_t { kUnknown, kSlowReceiver, kIncast, kHotLink };
  struct Egress {
    Guid node;
    PortNum port;
    friend auto operator<=>(const Egress&, const Egress&) = default;
  };
  Egress root;  // The port at which it begins.
  Kind kind = Kind::kUnknown;
  std::vector<Egress> victims;
};

}  // namespace fabricd::policy
