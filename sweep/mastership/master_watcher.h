// SPDX-License-Identifier: Apache-2.0
// MasterWatcher: watches the master of the subnet for an SM that only reads and shares the durable
// state of that master. It polls the master's SMInfo, during sweeps too, and notices when the
// master does not respond or is master no longer. An SM that is not master yet is watched too: the
// epoch of the state may change hands before the mastership does. What follows is the shell's
// decision.
//
// One poll without a response is enough: its eight attempts take 1.2 s. Before anything follows,
// discovery makes eight more. All 16 must be lost: at 5 % loss each way not once in a million years
// of polling. But a link may have been cut on the path of the polls. So the port is read too when a
// poll has had no response for a while: its agent is in the device, and responds for a host that
// hangs. If it does not either, the polls prove nothing, and discovery asks for longer.
//
// A foreign master may be busy, and the owner of the epoch is its STANDBY. Where the master does
// not respond, that one acts. This SM waits for longer than that one does, and polls that one too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/time.h"
#include "mad/transaction_engine.h"
#include "sweep/device/device_table.h"
#include "sweep/interface/view.h"
#include "sweep/mastership/last_master.h"

namespace fabricd::sweep {

class MasterWatcher {
 public:
  struct Contexts {
    mad::RequestContext poll;  // Its completions go to OnCompletion().
    mad::RequestContext port;  // Its completions go to OnPort().
  };
  // References must outlive this.
  MasterWatcher(const DeviceTable& devices, mad::TransactionEngine& engine,
                const LastMaster& last_master, Contexts contexts)
      : devices_(devices), engine_(engine), last_master_(last_master), contexts_(contexts) {}

  // A sweep has found these SMs. Returns whether state() has changed.
  [[nodiscard]] bool OnFound(const std::vector<RemoteSm>& found, Instant now);
  struct Answer {
    bool is_new = false;  // state() has changed.
    Guid from;            // 0: no response.
    wire::SmState state = wire::SmState::kNotActive;
  };
  // A poll has completed.
  [[nodiscard]] Answer OnCompletion(const mad::Completion& completion, Instant now);
  // A read of the port has completed.
  void OnPort(const mad::Completion& completion);
  // The engine has dropped all requests without completions.
  void OnRequestsDropped() {
    is_out_ = false;
    port_ = Port::kUnknown;
  }
  // Call at NextDeadline().
  void OnTimer(Instant now);
  Instant NextDeadline() const { return next_; }

  // kUnresponsive and kNone stay for good.
  WatchedMaster state() const { return state_; }
  Guid guid() const { return watched_ ? watched_->guid : Guid(); }  // 0: none was seen.
  // Of an SM that does not respond: its port does. False: not known.
  bool port_responds() const { return port_ == Port::kResponds; }
  // The master that polls have found. 0: none.
  Guid master() const { return state_ == WatchedMaster::kThere ? guid() : Guid(); }

 private:
  static constexpr Duration kInterval = std::chrono::milliseconds(250);
  static constexpr mad::Pace kPoll{std::chrono::milliseconds(150), 7};
  // The port is read after this time without a response, until it responds.
  static constexpr Duration kSilence = std::chrono::milliseconds(500);
  static constexpr mad::Pace kPort{std::chrono::milliseconds(150), 1};
  // After so many sweeps in a row that found no SM at all, nobody manages this subnet.
  static constexpr uint32_t kMostWithoutSm = 2;
  // After this time in which no polled SM was master, the same.
  static constexpr Duration kMostWithoutMaster = LastMaster::kPatience + std::chrono::seconds(15);

  void AskPort(Instant now);
  bool Set(WatchedMaster state);
  bool SetLost(const RemoteSm& sm);
  bool OnAnswer(const RemoteSm& from, std::optional<wire::SmState> state, Instant now);
  // Of those that a sweep has found; one that shares the state is preferred.
  std::optional<RemoteSm> OtherOf(const std::vector<RemoteSm>& found) const;
  const RemoteSm& polled() const { return polls_other_ && other_ ? *other_ : *watched_; }
  bool is_over() const {
    return state_ == WatchedMaster::kUnresponsive || state_ == WatchedMaster::kNone;
  }

  const DeviceTable& devices_;
  mad::TransactionEngine& engine_;
  const LastMaster& last_master_;
  const Contexts contexts_;
  std::optional<RemoteSm> watched_;
  // The SM that may become master where watched_ is one no longer, or is foreign and does not
  // respond. Then both are polled in turn.
  std::optional<RemoteSm> other_;
  bool polls_other_ = false;
  RemoteSm asked_;  // By the last poll.
  Instant asked_at_, port_asked_at_;
  enum class Port : uint8_t {
    kUnknown,
    kAsked,     // By a read that is out, since port_asked_at_.
    kResponds,  // That of asked_, since asked_at_.
  };
  Port port_ = Port::kUnknown;
  uint32_t sweeps_without_sm_ = 0;
  std::optional<Instant> without_master_since_;
  bool is_out_ = false;
  WatchedMaster state_ = WatchedMaster::kUnknown;
  Instant next_ = kNever;
};

}  // namespace fabricd::sweep
