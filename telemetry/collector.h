// SPDX-License-Identifier: Apache-2.0
// Collector: reads the counters of every port and keeps what they say. Pure: Step(event, now)
// appends to Effects; it has no clock, no thread and no socket. The shell sends, delivers
// responses, calls Tick no later than NextWake, and publishes MakeView.
//
// It sends Gets only. At most two requests are in flight to a device, one attempt is repeated, and
// nothing is sent while the core is busy (CoreLoad). It needs no mastership: LIDs are those that
// the ports have, whoever assigned them.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "common/time.h"
#include "fabric/snapshot.h"
#include "mad/transport.h"
#include "mad/wire/notice.h"
#include "telemetry/device.h"
#include "telemetry/intake.h"
#include "telemetry/options.h"
#include "telemetry/records.h"
#include "telemetry/request_window.h"
#include "telemetry/requests.h"
#include "telemetry/schedule.h"
#include "telemetry/view.h"

namespace fabricd::telemetry {

// What there is to poll. `state`: kPolling, or why not; kStandby is polled all the same where the
// options say so.
struct FabricChanged {
  std::shared_ptr<const fabric::FabricSnapshot> snapshot;
  State state = State::kWaiting;
};
// What the core and the SA are doing. `busy`: telemetry waits, for at most kLongestWait and then at
// a tenth of its window. `writing`: tables are being written; requests in flight may be lost for
// that reason. `smps`: the core has SMPs in flight, and vendor SMPs wait, without end.
struct CoreLoad {
  bool busy = false;
  bool writing = false;
  bool smps = false;
  friend bool operator==(const CoreLoad&, const CoreLoad&) = default;
};
// Every port is to be read at once. Effects::passes_done repeats the id, or passes_refused where
// nothing is polled.
struct PollNow {
  uint64_t id = 0;
};
struct ReadHistory {
  uint64_t id = 0;
  PortRef port;
  Duration span{};
};
// The transport did not take a request: it has no room now, or `for_good` none for its class.
struct SendFailed {
  TransactionId id;
  bool for_good = false;
};
struct NewOptions {
  Options options;
};
// A port has sent a trap. 129, 130 and 131: its link's error counters have passed a threshold. 257
// to 259, a P_Key or Q_Key that is not right, say nothing of its link: they are only counted.
struct LinkTrap {
  Lid lid;
  PortNum port;  // 0, of a channel adapter: the port with that LID.
  bool is_of_link = true;
};
// What the trap is to the collector; nullopt: nothing. Those that switches send about themselves
// (128) or about packets of others (259) are no port's.
std::optional<LinkTrap> LinkTrapOf(const wire::Notice& notice);
struct Tick {};
using Event = std::variant<FabricChanged, CoreLoad, PollNow, ReadHistory, mad::IncomingMad,
                           SendFailed, NewOptions, LinkTrap, Tick>;

struct HistoryAnswer {
  uint64_t id = 0;
  bool known = false;  // False: no such port.
  Millis now = 0;
  std::vector<HistorySample> samples;
  Millis step = 0;
};

// The counters of a port begin again, after they were known.
struct EpochStarted {
  PortRef port;
  EpochCause cause{};
};

struct Effects {
  std::vector<mad::OutgoingMad> send;
  std::vector<HistoryAnswer> histories;
  std::vector<uint64_t> passes_done, passes_refused;
  std::vector<EpochStarted> epochs;

  void Clear() {
    send.clear();
    histories.clear();
    passes_done.clear();
    passes_refused.clear();
    epochs.clear();
  }
};

class Collector {
 public:
  static constexpr Duration kLongestWait = std::chrono::seconds(60);

  // `seed`: of the places of ports in the interval, and of the transaction ids.
  Collector(const Options& options, Instant now, uint64_t seed);
  void Step(const Event& event, Instant now, Effects& effects);
  // When Tick is due at the latest.
  Instant NextWake(Instant now) const;
  // Costs a shared pointer for each port.
  std::shared_ptr<const TelemetryView> MakeView(Instant now);

 private:
  void On(const FabricChanged& event, Instant now, Effects& effects);
  void On(const CoreLoad& event, Instant now, Effects& effects);
  void On(const PollNow& event, Instant now, Effects& effects);
  void On(const ReadHistory& event, Instant now, Effects& effects);
  void On(const mad::IncomingMad& event, Instant now, Effects& effects);
  void On(const SendFailed& event, Instant now, Effects& effects);
  void On(const NewOptions& event, Instant now, Effects& effects);
  void On(const LinkTrap& event, Instant now, Effects& effects);
  void On(const Tick& event, Instant now, Effects& effects);

  // Turns that come within this time are taken together: each costs a wake-up of the thread. Longer
  // steps would send more at once, and SMPs would wait behind them on the wire.
  static constexpr Duration kTurnStep = std::chrono::milliseconds(5);

  Millis ToMillis(Instant at) const;
  void FitInterval(Millis now);
  void UpdateNode(const fabric::FabricSnapshot& before, const fabric::Node& node, Millis now,
                  Effects& effects);
  void UpdatePort(const fabric::Port* before, const fabric::Port& port, PortRef ref, bool is_first,
                  Millis now, Effects& effects);
  // Errors that may become a verdict: the registers of both ends of the link are read at each turn.
  void Watch(PortRef port, Millis now);
  Absence VendorOf(const fabric::Node& node) const;
  void SetPorts(Millis now);

  // What a turn of the port asks for.
  AskSet AsksOf(PortRef port, uint32_t pass, Millis now) const;
  void TakeTurn(PortRef port, uint32_t pass, Millis now);
  void ProbeIfDue(NodeIndex node, Millis now);
  void Want(PortRef port, AskSet asks, Millis now);
  // What explains errors of the link at this port: of both its ends.
  void WantCauses(PortRef port, Millis now);
  void WantOfDevice(NodeIndex node, AskSet asks, Millis now);
  void Queue(NodeIndex node);
  void LeavePass(Device& device, Millis now);
  void EndPasses(Instant now, Effects& effects);
  void Pump(Instant now, Effects& effects);
  void PumpSmps(Instant now, Effects& effects);
  bool Send(NodeIndex node, const NextAsk& next, Instant now, Effects& effects);
  std::optional<GmpTarget> TargetOf(NodeIndex node, const NextAsk& next) const;
  Duration TimeoutOf(const Device& device, bool is_repeat) const;
  size_t WindowRoom(Instant now) const;

  void OnResponse(const Request& request, const mad::IncomingMad& mad, Instant now,
                  Effects& effects);
  void OnNoResponse(const Request& request, bool is_loss, Millis now);
  void EnterTimeout(const Request& request, Millis now);
  void OnAbsent(const Request& request, Absence why, Millis now);
  void NoteDevice(NodeIndex node, Millis now);

  Options options_;
  const Instant started_;
  State state_ = State::kWaiting;
  State notified_state_ = State::kWaiting;  // By FabricChanged.
  Millis polls_since_ = 0;
  std::shared_ptr<const fabric::FabricSnapshot> snapshot_;
  CoreLoad load_;
  Instant busy_since_ = kNever;
  Instant full_until_{};  // The transport had no room.

  Records records_;
  std::vector<Device> devices_;  // By NodeIndex.
  Schedule schedule_;
  RequestWindow window_;
  std::deque<uint32_t> queue_;  // Devices that want something. Each at most once.
  struct SmpAsk {
    NodeIndex node;
    NextAsk next;
  };
  std::deque<SmpAsk> smps_;
  absl::flat_hash_map<PortRef, Millis> watched_;  // Until when. Bounded.
  bool smp_in_flight_ = false;
  Instant expired_at_{};  // Deadlines were looked at last.
  struct Pass {
    std::vector<uint64_t> polls;  // Ids of PollNow; empty: none is under way.
    size_t left = 0;              // Devices that they wait for.
    Instant began{};
  };
  Pass pass_;  // On demand.
  Stats stats_;
  uint64_t number_ = 0;
};

}  // namespace fabricd::telemetry
