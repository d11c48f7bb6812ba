// SPDX-License-Identifier: Apache-2.0
// Succession: when a fabricd that shares its durable state starts again within its process, and
// how: beside the master, or to take its place (docs/HA.md).
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/time.h"
#include "shell/sharing_ports.h"
#include "shell/write_fence.h"
#include "store/etcd/etcd_store.h"
#include "sweep/interface/options.h"
#include "sweep/interface/switch_tables.h"
#include "sweep/interface/view.h"

namespace fabricd::shell {

// How a start within the process follows the one before.
struct Succession {
  using Contends = store::etcd::EtcdStoreOptions::Contends;
  // After a step-down the subnet has no master until the other node has become it.
  static constexpr std::chrono::seconds kTimeForAnother{15};

  Contends contends = Contends::kNo;  // This fabricd tries to become master.
  bool continues = false;  // It has waited beside the owner of the shared state until now.
  bool yields = false;     // It has stepped down.
  // The predecessor has not lost its epoch: its record of tables is true.
  bool trusts_record = false;
  int64_t unresponsive_epoch = 0;     // store::etcd::EtcdStoreOptions
  Guid unresponsive_master = Guid();  // sweep::SmOptions
  bool doubts_polls = false;          // sweep::SmOptions
  // It was stopped while it was master, for so long: StopNotice. Zero: it was not.
  WriteFence::Time stopped_for{};
  // What it has read and computed while it waited.
  sweep::ReaderTables tables = {};
  // The port of the master as last seen, where it was another node or SM; 0: it is not known.
  Guid last_master = Guid();

  // Where that start failed: the next one begins as one of a new process, since the others may have
  // acted meanwhile. Only that it was stopped stays true.
  Succession AfterFailure() const {
    Succession next;
    next.stopped_for = stopped_for;
    return next;
  }
  void AddTo(store::etcd::EtcdStoreOptions& options) const;
  // Whether the predecessor's record of tables (table_record.h) says what of `tables` is true.
  bool MayTrust(const store::etcd::SharedStore& shared) const {
    return !tables.empty() && (shared.contends() || trusts_record);
  }
};

// Decides for one start. The core's thread.
class SuccessionWatch {
 public:
  // Another node takes the place of a master whose link is down for so long: as long as it takes
  // at least to notice one that does not respond (WriteFence). A shorter flap moves no mastership.
  static constexpr std::chrono::milliseconds kLinkLost{1600};

  explicit SuccessionWatch(Succession succession) : succession_(std::move(succession)) {}

  // Call after each turn of the core. Why fabricd has to start again, with successor(); empty: it
  // goes on. `pause`: WriteFence::BeginTurn(). `steps_down`: it was asked to.
  std::string WhyAgain(const store::etcd::SharedStore& shared, const sweep::FabricView& view,
                       std::optional<WriteFence::Time> pause, bool steps_down);
  // What this node is to the fabric, to be said to the others. Call after each turn: a link that is
  // down is named when it has been down for kLinkLost.
  store::etcd::FabricRole Role(const sweep::SmStatus& sm, Instant now);
  // What this node says besides: StopNotice(), where it waits.
  std::string Notice(const store::etcd::SharedStore& shared) const;
  // Before the core starts: what it is to know.
  void Begin(sweep::SmOptions& options, store::etcd::SharedStore& shared, Instant now);
  SharingPortsWatch& sharing_ports() { return sharing_ports_; }
  // Of this start.
  const Succession& succession() const { return succession_; }
  // Of the next one.
  const Succession& successor() const { return successor_; }

 private:
  std::string Decide(const store::etcd::SharedStore& shared, const sweep::FabricView& view,
                     std::optional<WriteFence::Time> pause, bool steps_down);
  std::string WhyToStopWaiting(const store::etcd::SharedStore& shared,
                               const store::etcd::EpochOwner& owner, const sweep::FabricView& view);

  Succession succession_;  // Without its tables once this fabricd has been master.
  Succession successor_;
  SharingPortsWatch sharing_ports_;
  bool has_managed_ = false;  // It has been master.
  std::optional<Instant> has_no_link_since_;
};

}  // namespace fabricd::shell
