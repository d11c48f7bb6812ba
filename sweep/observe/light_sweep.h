// SPDX-License-Identifier: Apache-2.0
// The light sweep: has anything changed that no trap has told? One SwitchInfo Get per switch
// (PortStateChange), a probe behind each port that is up without a known peer, and SMInfo of each
// other SM. It writes nothing.
//
// What hosts say of themselves (an SM that has started there) comes by their traps alone, and from
// behind a switch that did not answer none may have come: they are asked when it answers again, or
// did so at the third attempt.
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

  void Start();
  void OnCompletion(const mad::Completion& completion);
  bool done() const { return started_ && outstanding_ == 0; }
  // Why a heavy sweep is due; empty: what has changed, if anything, is in changed().
  const std::string& reason() const { return reason_; }
  // Switches to be looked at (port 0), or ports with a neighbour that answers now; and why.
  const std::vector<std::pair<PortRef, std::string>>& changed() const { return changed_; }
  const std::vector<RemoteSm>& remote_sms() const { return remote_sms_; }
  // Switches that did not answer: `were_unresponsive` of the next light sweep.
  const std::vector<NodeIndex>& unresponsive() const { return unresponsive_; }

 private:
  enum class Ask : uint8_t { kSwitchInfo, kProbe, kSmInfo, kUnread };
  // `number`: which one of remote_sms_ or unread_.
  void Submit(mad::SmpRequest request, Ask ask, PortRef subject, uint32_t number = 0);
  void OnSwitchInfo(NodeIndex node, const mad::Completion& completion);
  void AskHostsOf(NodeIndex node);
  void Change(std::string reason);

  const std::shared_ptr<const fabric::FabricSnapshot> snapshot_;
  const DeviceTable& devices_;
  mad::TransactionEngine& engine_;
  std::vector<RemoteSm> remote_sms_;
  const std::vector<Unread> unread_;
  const absl::flat_hash_set<NodeIndex> were_unresponsive_;
  bool started_ = false;
  size_t outstanding_ = 0;
  std::string reason_;
  std::vector<std::pair<PortRef, std::string>> changed_;
  std::vector<NodeIndex> unresponsive_;
};

}  // namespace fabricd::sweep
