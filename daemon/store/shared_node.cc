// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/shared_node.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <spdlog/spdlog.h>

#include "common/status.h"
#include "shell/sharing_ports.h"
#include "store/etcd/epoch.h"

namespace fabricd::daemon {

// ---- start

StoreOpening SharedNode::Opening(bool once) const {
  StoreOpening how;
  how.may_wait = !once;
  how.succession = succession_.succession();
  return how;
}

// The record is true while the predecessor has its epoch, or has given it back.
void SharedNode::Complete(shell::CoreInputs& inputs, const shell::RecordedTables& recorded,
                          Instant now) {
  const shell::Succession& succession = succession_.succession();
  if (shared_ == nullptr) return;
  succession_.Begin(inputs.options.sm, *shared_, now);
  if (!succession.MayTrust(*shared_)) return;
  inputs.vouched = shell::Vouched(succession.tables, recorded, succession.last_master);
  size_t unread = 0;
  if (inputs.vouched != nullptr)
    for (const auto& [guid, blocks] : inputs.vouched->unread) unread += blocks.size();
  spdlog::info(
      "tables of {} switches were read and {} computed: {} are as the master has confirmed, {} of "
      "them only computed, but for {} blocks",
      succession.tables.read ? succession.tables.read->size() : 0,
      succession.tables.computed ? succession.tables.computed->size() : 0,
      inputs.vouched ? inputs.vouched->rows.size() : 0,
      inputs.vouched ? inputs.vouched->computed.size() : 0, unread);
}

std::optional<shell::WriteFence::Witnesses> SharedNode::Fence() const {
  if (shared_ == nullptr) return std::nullopt;
  return shell::WriteFence::WitnessesOf(*shared_, store::etcd::BootTime);
}

// ---- when to start again

std::string SharedNode::WhyAgain(const sweep::FabricView& view,
                                 std::optional<shell::WriteFence::Time> pause) {
  if (shared_ == nullptr) return "";
  std::string why = succession_.WhyAgain(*shared_, view, pause, steps_down_);
  starts_again_ = !why.empty();
  return why;
}

void SharedNode::Record(const std::shared_ptr<const sweep::FabricView>& view, uint32_t window,
                        Instant now) {
  if (shared_ != nullptr) tables_.OnTurn(view, shared_->epoch() != 0, window, now);
}

// ---- other nodes

void SharedNode::Follow(const sweep::FabricView& view, Instant now) {
  follower_.Look(shared_, view);
  if (shared_ == nullptr) return;
  shell::SharingPortsWatch& watch = succession_.sharing_ports();
  auto ports = watch.Look(*shared_, now);
  has_others_ = watch.HasOthers(now);
  if (!ports) return;
  // Where they cannot be kept, a restart has to learn them again.
  const bool is_posted = post_([kept = *ports](store::Store& store) {
    const absl::Status status = shell::SharingPortsWatch::Keep(store, kept);
    if (!status.ok()) spdlog::warn("ports of nodes that share the state: {}", Message(status));
  });
  if (!is_posted) watch.Repeat();
  tell_ports_({*std::move(ports)});
}

void SharedNode::OnView(const std::shared_ptr<const sweep::FabricView>& view) {
  if (shared_ == nullptr) return;
  tables_.OnView(view, shared_->epoch() != 0);
}

void SharedNode::TellOthers(const sweep::SmStatus& sm,
                            const std::shared_ptr<const config::Config>& config, Instant now) {
  if (shared_ == nullptr) return;
  const auto role = succession_.Role(sm, now);
  const std::string_view state = waits() ? SharingNode::kWaiting : SmStateName(sm.state);
  const bool is_same = role == role_ && state == about_.state && sm.guid == about_.sm_port;
  if (is_same && config == reported_config_) return;
  if (about_.name.empty()) {
    about_.name = OwnName();
    about_.endpoint = config_.etcd.advertise;
    about_.version = version_;
  }
  if (config != reported_config_) about_.config = ConfigDigests(*config);
  reported_config_ = config;
  role_ = role;
  about_.state = state;
  about_.sm_port = sm.guid;
  shared_->SetStatement({role_, AboutText(about_) + succession_.Notice(*shared_)});
}

std::optional<fabric::FabricEvent> SharedNode::LookAtConfigurations(Instant now) {
  if (epoch() == 0 || !config_watch_.IsDue(now)) return std::nullopt;
  return config_watch_.Look(nodes(), now);
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

std::optional<OtherMaster> SharedNode::other_master(const sweep::SmStatus& sm) const {
  const auto owner = shared_ == nullptr ? std::nullopt : shared_->other_owner();
  if (!owner) return std::nullopt;
  return FindMaster(*owner, nodes(), sm);
}

}  // namespace fabricd::daemon
