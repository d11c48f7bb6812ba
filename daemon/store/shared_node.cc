// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/shared_node.h"

#include <algorithm>
#include <utility>

#include <spdlog/spdlog.h>

#include "store/etcd/epoch.h"

namespace fabricd::daemon {

using Contends = Succession::Contends;

// ---- start

StoreOpening SharedNode::Opening(bool once) const {
  using WhereHeld = StoreOpening::WhereHeld;
  StoreOpening how;
  how.where_held = once                                    ? WhereHeld::kRefuse
                   : succession_.contends == Contends::kNo ? WhereHeld::kWait
                                                           : WhereHeld::kContend;
  how.contends = succession_.contends;
  how.continues = succession_.continues;
  how.yields = succession_.yields;
  return how;
}

// The record is true while the predecessor has its epoch, or has given it back.
void SharedNode::Complete(shell::CoreInputs& inputs, const RecordedTables& recorded) const {
  inputs.options.sm.unresponsive_master = succession_.unresponsive_master;
  if (shared_ == nullptr || succession_.read_tables == nullptr) return;
  if (!shared_->contends() && !succession_.trusts_record) return;
  inputs.vouched = Vouched(*succession_.read_tables, recorded);
  spdlog::info("tables of {} switches were read, {} are as the master has confirmed",
               succession_.read_tables->rows.size(),
               inputs.vouched ? inputs.vouched->rows.size() : 0);
}

std::optional<WriteFence::Witnesses> SharedNode::Fence() const {
  if (shared_ == nullptr) return std::nullopt;
  auto* shared = shared_;
  return WriteFence::Witnesses{store::etcd::BootTime, [shared] { return shared->epoch(); },
                               [shared] { return shared->Confirm().ok(); }};
}

// ---- when to start again

std::string SharedNode::WhyToStopWaiting(const sweep::FabricView& view) {
  successor_ = {.continues = true, .read_tables = view.read_tables};
  if (view.sm.watched_master == sweep::WatchedMaster::kUnresponsive) {
    successor_.contends = Contends::kWithUnresponsiveOwner;
    successor_.unresponsive_master = view.sm.watched_guid;
    return "the master does not respond";
  }
  if (view.sm.watched_master == sweep::WatchedMaster::kNone) {
    successor_.contends = Contends::kWithIdleOwner;
    return "no subnet manager is to be seen";
  }
  successor_.trusts_record = shared_->has_owner_resigned();
  return shared_->why_reopen();
}

std::string SharedNode::WhyAgain(const sweep::FabricView& view,
                                 std::optional<WriteFence::Time> pause) {
  if (shared_ == nullptr) return "";
  std::string why = Why(view, pause);
  starts_again_ = !why.empty();
  return why;
}

std::string SharedNode::Why(const sweep::FabricView& view, std::optional<WriteFence::Time> pause) {
  if (shared_->other_owner()) return WhyToStopWaiting(view);
  successor_ = {};
  has_managed_ = has_managed_ || view.sm.state == wire::SmState::kMaster;
  if (pause)
    return fmt::format(
        "this process was stopped for {} ms, and did not keep the epoch of the shared state: "
        "another fabricd may be master",
        std::chrono::floor<std::chrono::milliseconds>(*pause).count());
  if (steps_down_) {
    successor_.yields = true;
    return "stepping down";
  }
  if ((shared_->contends() || shared_->is_beside_master()) &&
      view.sm.state == wire::SmState::kStandby)
    return "another SM is master";
  // The state may have changed while this fabricd was about to become master: then it tries again.
  // So does one that was master beside another one, which is master no longer.
  if (shared_->is_beside_master())
    successor_.contends = Contends::kWithUnresponsiveOwner;
  else if (!has_managed_)
    successor_ = succession_;
  successor_.yields = false;
  return shared_->why_reopen();
}

void SharedNode::Record(const std::shared_ptr<const sweep::FabricView>& view, uint32_t window,
                        Instant now) {
  if (shared_ != nullptr) tables_.Look(view, window, now);
}

// ---- other nodes

void SharedNode::TellOthers(const sweep::SmStatus& sm) {
  if (shared_ == nullptr) return;
  NodeAbout about = about_;
  about.state = shared_->other_owner() ? SharingNode::kWaiting : std::string(SmStateName(sm.state));
  about.sm_port = sm.guid;
  if (about.name.empty()) {
    about.name = OwnName();
    about.endpoint = config_.etcd.advertise;
    about.version = version_;
    about.config = ConfigDigests(config_);
  }
  if (about == about_) return;
  about_ = std::move(about);
  shared_->SetStatement({sm.state == wire::SmState::kMaster, AboutText(about_)});
}

// A node that waits answers SMInfo as NOT-ACTIVE, so that the election does not know of it.
std::optional<sweep::RemoteSm> SharedNode::WaitingNode(const sweep::SmStatus& sm) const {
  for (const SharingNode& node : nodes()) {
    if (!node.MaySucceed()) continue;
    const auto seen = std::find_if(sm.remote.begin(), sm.remote.end(),
                                   [&](const auto& each) { return each.guid == node.sm_port; });
    if (seen != sm.remote.end()) return *seen;
  }
  return std::nullopt;
}

std::vector<SharingNode> SharedNode::nodes() const {
  if (shared_ == nullptr) return {};
  return SharingNodes(shared_->nodes(), shared_->instance());
}

std::optional<OtherMaster> SharedNode::other_master() const {
  const auto owner = shared_ == nullptr ? std::nullopt : shared_->other_owner();
  if (!owner) return std::nullopt;
  return OtherMaster{owner->name, owner->endpoint};
}

}  // namespace fabricd::daemon
