// SPDX-License-Identifier: Apache-2.0
// Succession: when a fabricd that shares its durable state starts again within its process, and
// how: beside the master, or to take its place (docs/HA.md).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "common/ids.h"
#include "shell/write_fence.h"
#include "store/etcd/etcd_store.h"
#include "sweep/interface/switch_tables.h"
#include "sweep/interface/view.h"

namespace fabricd::shell {

// How a start within the process follows the one before.
struct Succession {
  using Contends = store::etcd::EtcdStoreOptions::Contends;
  Contends contends = Contends::kNo;  // This fabricd tries to become master.
  bool continues = false;  // It has waited beside the owner of the shared state until now.
  bool yields = false;     // It has stepped down.
  // The predecessor has not lost its epoch: its record of tables is true.
  bool trusts_record = false;
  Guid unresponsive_master = Guid();  // sweep::SmOptions
  // It was stopped while it was master, for so long: StopNotice. Zero: it was not.
  WriteFence::Time stopped_for{};
  // What it has read while it waited; null: nothing.
  std::shared_ptr<const sweep::SwitchTables> read_tables = nullptr;

  void AddTo(store::etcd::EtcdStoreOptions& options) const;
  // Whether the predecessor's record of tables (table_record.h) says what of `read_tables` is true.
  bool MayTrust(const store::etcd::SharedStore& shared) const {
    return read_tables != nullptr && (shared.contends() || trusts_record);
  }
};

// Decides for one start. The core's thread.
class SuccessionWatch {
 public:
  explicit SuccessionWatch(Succession succession) : succession_(std::move(succession)) {}

  // Call after each turn of the core. Why fabricd has to start again, with successor(); empty: it
  // goes on. `pause`: WriteFence::BeginTurn(). `steps_down`: it was asked to.
  std::string WhyAgain(const store::etcd::SharedStore& shared, const sweep::FabricView& view,
                       std::optional<WriteFence::Time> pause, bool steps_down);
  // What this node says of itself to the others. `about`: of the daemon's part; StopNotice() is
  // added where it waits.
  store::etcd::NodeStatement Statement(const store::etcd::SharedStore& shared,
                                       const sweep::SmStatus& sm, std::string about) const;
  // Of this start.
  const Succession& succession() const { return succession_; }
  // Of the next one.
  const Succession& successor() const { return successor_; }

 private:
  std::string WhyToStopWaiting(const store::etcd::SharedStore& shared,
                               const sweep::FabricView& view);

  const Succession succession_;
  Succession successor_;
  bool has_managed_ = false;  // It has been master.
};

}  // namespace fabricd::shell
