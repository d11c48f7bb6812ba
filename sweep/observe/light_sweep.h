// SPDX-License-Identifier: Apache-2.0
// LightSweep: looks for changes that no trap has reported. It sends one SwitchInfo Get to each
// switch (PortStateChange), a probe through each port that is up without a known peer, and SMInfo
// Gets to all other SMs. Switches with adaptive routing are asked whether it is still on. It never
// writes.
//
// Changes at hosts (such as a new SM) are reported only by their traps, and traps from behind an
// unresponsive switch may be lost. So the hosts at a switch are probed when it responds again, or
// needed three attempts.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_set.h>

#include "fabric/snapshot.h"
#include "mad/transaction_engine.h"
#include "sweep/device/device_table.h"
#include "sweep/interface/view.h"
#include "sweep/observe/discovery.h"

namespace fabricd::sweep {

class LightSweep {
 public:
  LightSweep(std::shared_ptr<const fabric::FabricSnapshot> snapshot, const DeviceTable& devices,
             mad::TransactionEngine& engine, std::vector<RemoteSm> remote_sms,
             std::vector<Unread> unread, const std::vector<NodeIndex>& were_unresponsive);

  void Start(const SweepOptions& options, Instant now);
  void OnCompletion(const mad::Completion& completion);
  bool done() const { return started_ && outstanding_ == 0; }
  // Why a heavy sweep is due. Empty: none is due; changes, if any, are in changed().
  const std::string& reason() const { return reason_; }
  // Switches to survey (port 0), or ports whose neighbour must be probed; with the cause.
  const std::vector<std::pair<PortRef, std::string>>& changed() const { return changed_; }
  const std::vector<RemoteSm>& remote_sms() const { return remote_sms_; }
  // Switches that did not respond: `were_unresponsive` of the next light sweep.
  const std::vector<NodeIndex>& unresponsive() const { return unresponsive_; }

 private:
  enum class Ask : uint8_t { kSwitchInfo, kProbe, kSmInfo, kUnread, kAdaptiveRouting };
  // `number`: index into remote_sms_ or unread_.
  void Submit(mad::SmpRequest request, Ask ask, PortRef subject, uint32_t number = 0);
  void OnSwitchInfo(NodeIndex node, const mad::Completion& completion);
  void AskHostsOf(NodeIndex node);
  bool IsKept(NodeIndex node) const;
  void Change(std::string reason);

  const std::shared_ptr<const fabric::FabricSnapshot> snapshot_;
  const DeviceTable& devices_;
  mad::TransactionEngine& engine_;
  std::vector<RemoteSm> remote_sms_;
  const std::vector<Unread> unread_;
  const absl::flat_hash_set<NodeIndex> were_unresponsive_;
  bool started_ = false;
  Instant started_at_{};
  SweepOptions options_;
  size_t outstanding_ = 0;
  std::string reason_;
  std::vector<std::pair<PortRef, std::string>> changed_;
  std::vector<NodeIndex> unresponsive_;
};

}  // namespace fabricd::sweep
