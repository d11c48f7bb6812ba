// SPDX-License-Identifier: Apache-2.0
// ForeignWatch: the checker of Sets beside a foreign master. Once a foreign SM has been master for
// kAwareness, and all nodes and it can reach each other, at most kBatch Sets of each node reach
// devices: those that had passed its write fence when its process was stopped.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "sim/fabric/mad_faults.h"
#include "sim/shared/foreign_node.h"
#include "sim/shared/master_watch.h"

namespace fabricd::sim {

class ForeignWatch : public SimObserver {
 public:
  // A node that has risen in the same moment finds it, and hands over or waits. Also from when the
  // foreign SM has sent a handover: the node may be master though the response was lost.
  static constexpr Duration kAwareness = std::chrono::seconds(3);

  // `say`: what is wrong.
  explicit ForeignWatch(std::function<void(const std::string&)> say) : say_(std::move(say)) {}

  // Call often. `foreign` null: there is none.
  void Look(Instant now, const ForeignNode* foreign, bool apart);
  void OnSend(Instant now, PortRef host, const mad::OutgoingMad& mad) override;
  void OnServed(const Served& served) override;

 private:
  const std::function<void(const std::string&)> say_;
  const ForeignNode* foreign_ = nullptr;
  Instant since_ = kNever;       // It is master, and within reach.
  bool was_apart_ = false;       // Also while it has not answered since.
  std::map<PortRef, int> sets_;  // Of each node, beside it.
};

}  // namespace fabricd::sim
