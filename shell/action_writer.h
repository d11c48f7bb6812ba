// SPDX-License-Identifier: Apache-2.0
// ActionWriter: stores the ActionRecord that the master's views show, beside the work of the core:
// routes bypass a suppressed link at once, stored or not. The next manager restores what was
// stored (sweep/remediate). What changed within the last second, or cannot be stored, is lost with
// this process. The core's thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>

#include "common/time.h"
#include "policy/action_record.h"
#include "store/store.h"
#include "sweep/interface/view.h"

namespace fabricd::shell {

class ActionWriter {
 public:
  // Runs a durable write on the store's thread. False: it is not run.
  using Post = std::function<bool(std::function<void(store::Store&)>)>;
  static constexpr Duration kInterval = std::chrono::seconds(1);  // Between two writes.

  explicit ActionWriter(Post post) : post_(std::move(post)) {}
  // Before the core starts: what the store has.
  void Begin(policy::ActionRecord stored) { stored_ = std::move(stored); }
  // Call after each turn. `takes_writes`: store::Store::writable().
  void OnTurn(const sweep::FabricView& view, bool takes_writes, Instant now);

 private:
  const Post post_;
  std::shared_ptr<const policy::PolicyView> seen_;  // Whose record is stored, or was posted.
  std::optional<policy::ActionRecord> stored_;      // nullopt: not known.
  Instant next_{};
  // Set on the store's thread.
  std::shared_ptr<std::atomic<bool>> has_failed_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace fabricd::shell
