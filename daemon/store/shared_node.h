// SPDX-License-Identifier: Apache-2.0
// SharedNode: this node among those that share the durable state (docs/HA.md). It decides when
// fabricd starts again within its process, and how: beside the master, or to take its place; it
// tells the other nodes of this one, keeps the record of tables, and follows what the master
// stores. Without a shared store it does nothing. The core's thread, unless stated otherwise.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "daemon/base/other_master.h"
#include "daemon/base/sharing_node.h"
#include "daemon/store/config_watch.h"
#include "daemon/store/node_about.h"
#include "daemon/store/state_follower.h"
#include "daemon/store/store_opening.h"
#include "shell/core_inputs.h"
#include "shell/stop_notice.h"
#include "shell/succession.h"
#include "shell/table_record.h"
#include "shell/write_fence.h"
#include "sweep/interface/view.h"

namespace fabricd::daemon {

class SharedNode {
 public:
  using TellPorts = std::function<void(sweep::SharingPorts)>;

  // `config` must outlive this. `version`: of fabricd. `post`, `tell`: StateFollower. `tell_ports`
  // is called in Follow().
  SharedNode(const config::Config& config, std::string version, shell::Succession succession,
             StateFollower::Post post, StateFollower::Tell tell, TellPorts tell_ports)
      : config_(config),
        version_(std::move(version)),
        succession_(std::move(succession)),
        post_(post),
        tables_(post),
        follower_(std::move(post), std::move(tell)),
        tell_ports_(std::move(tell_ports)) {}

  // How to open the store. `once`: end where another fabricd has the epoch.
  StoreOpening Opening(bool once) const;
  // Null: the store is of this node alone. It must outlive this.
  void SetStore(store::etcd::SharedStore* shared) { shared_ = shared; }
  // What this start knows of the predecessor.
  void Complete(shell::CoreInputs& inputs, const shell::RecordedTables& recorded, Instant now);
  std::optional<shell::WriteFence::Witnesses> Fence() const;

  // Call after each turn. Returns why fabricd has to start again, with successor(); empty: it goes
  // on. `pause`: CoreHost::pause().
  std::string WhyAgain(const sweep::FabricView& view, std::optional<shell::WriteFence::Time> pause);
  // Call after each turn: what this node is. `config`: in force.
  void TellOthers(const sweep::SmStatus& sm, const std::shared_ptr<const config::Config>& config,
                  Instant now);
  // Call after each turn: the event that nodes are, or are no longer, configured differently. One
  // node of them tells it, the owner of the epoch.
  std::optional<fabric::FabricEvent> LookAtConfigurations(Instant now);
  bool starts_again() const { return starts_again_; }  // WhyAgain() has said why.
  const shell::Succession& successor() const { return succession_.successor(); }
  // Call after each turn. `window`: in SMPs.
  void Record(const std::shared_ptr<const sweep::FabricView>& view, uint32_t window, Instant now);
  // Call after each turn: a node that was master and was stopped may have written since. Then
  // everything is to be read again.
  bool HearsOfStop(const sweep::SmStatus& sm, Instant now) {
    if (shared_ == nullptr || !sm.Manages()) return false;
    if (hears_again_.exchange(false)) stops_.Forget();
    return stops_.HasNew(*shared_, now);
  }
  // Any thread. It could not be read.
  void HearAgain() { hears_again_ = true; }
  // Call after each turn: the core is given the ports of the other nodes, and where this node waits
  // what the master has stored.
  void Follow(const sweep::FabricView& view, Instant now);
  // After the last turn.
  void End() {
    if (shared_ != nullptr) tables_.OnEnd(shared_->epoch() != 0);
  }
  // Another view was published.
  void OnView(const std::shared_ptr<const sweep::FabricView>& view);

  // Any thread from here on.
  // The waiting node that a master can give the subnet to; nullopt: there is none on the fabric.
  std::optional<sweep::RemoteSm> WaitingNode(const sweep::SmStatus& sm) const;
  // WhyAgain() is asked soon.
  void StepDown() { steps_down_ = true; }
  std::vector<SharingNode> nodes() const;
  bool waits() const { return shared_ != nullptr && shared_->other_owner().has_value(); }
  // Where it waits.
  std::optional<OtherMaster> other_master(const sweep::SmStatus& sm) const;
  // It has the epoch, and another node is there to take it (SharingPortsWatch::HasOthers).
  bool has_others() const { return epoch() != 0 && has_others_; }
  int64_t epoch() const { return shared_ == nullptr ? 0 : shared_->epoch(); }
  std::optional<SharedStateAge> age() const {
    if (shared_ == nullptr) return std::nullopt;
    return SharedStateAge{shared_->lease_left(), shared_->since_answer()};
  }

 private:
  const config::Config& config_;
  const std::string version_;
  shell::SuccessionWatch succession_;
  const StateFollower::Post post_;
  shell::TableRecord tables_;
  shell::StopNotices stops_;
  StateFollower follower_;
  const TellPorts tell_ports_;
  store::etcd::SharedStore* shared_ = nullptr;
  // As last said.
  store::etcd::FabricRole role_ = store::etcd::FabricRole::kOther;
  NodeAbout about_;
  std::shared_ptr<const config::Config> reported_config_;  // Whose digests about_ has.
  ConfigWatch config_watch_;
  std::atomic<bool> steps_down_ = false;
  std::atomic<bool> hears_again_ = false;
  std::atomic<bool> has_others_ = false;
  bool starts_again_ = false;
};

}  // namespace fabricd::daemon
