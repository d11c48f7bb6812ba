// SPDX-License-Identifier: Apache-2.0
// LastMaster: remembers which SM was last seen as master, and decides how long an SM that does not
// share this one's durable state may be unresponsive. Managers that share it respond within two
// seconds, or hang. An SM of another make may be busy: OpenSM answers no SMInfo while it computes
// routes, for more than ten seconds at 11,664 ports, and its own standby waits for almost a minute.
// While its port still has IsSM, an SM that takes its place earlier writes beside it.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "common/time.h"
#include "fabric/snapshot.h"
#include "mad/transaction_engine.h"
#include "sweep/device/device_table.h"
#include "sweep/interface/events.h"
#include "sweep/interface/options.h"
#include "sweep/interface/view.h"
#include "sweep/observe/discovery.h"

namespace fabricd::sweep {

class LastMaster {
 public:
  // A foreign master that does not respond is waited for as long as this.
  static constexpr Duration kPatience = std::chrono::seconds(60);

  // References must outlive this. The requests carry `context`.
  LastMaster(const SmOptions& options, const DeviceTable& devices, mad::TransactionEngine& engine,
             mad::RequestContext context)
      : devices_(devices),
        engine_(engine),
        context_(context),
        sharing_(options.sharing_ports),
        master_(options.last_master) {}

  void On(SharingPorts sharing) { sharing_ = std::move(sharing.ports); }
  // An SM that does not share this one's state. False while the ports that do are not known.
  bool IsForeign(Guid sm) const {
    return sharing_ && std::find(sharing_->begin(), sharing_->end(), sm) == sharing_->end();
  }

  // A sweep has read the SMInfo of these. `polled`: its polls are newer; 0: none is polled.
  void OnFound(const std::vector<RemoteSm>& found, Guid polled, Instant now);
  // The SM that this one watches, or waits for, has sent its SMInfo, or a sweep has found it.
  void OnAnswer(Guid sm, wire::SmState state, Instant now);
  // It is master, as far as is known: this one itself, or one that was sent a handover.
  void Set(Guid sm) {
    master_ = sm;
    is_busy_ = false;
  }
  // 0: it is not known. Any foreign SM may be it.
  Guid guid() const { return master_; }

  // `sm` does not respond. Whether it may be a foreign master that is busy.
  bool MayBeBusy(Guid sm, Instant now) const {
    return IsForeign(sm) && (sm == master_ || !master_) && (!heard_ || now - *heard_ < kPatience);
  }
  // An SM that may be busy, and whose SMInfo is among what a discovery could not read. It counts as
  // master. is_busy() from then on until an SM answers.
  std::optional<RemoteSm> FindBusy(const std::vector<Unread>& unread,
                                   const fabric::FabricSnapshot& snapshot, Instant now);
  bool is_busy() const { return is_busy_; }
  // Reads the port of one that may be busy. One request at a time is out.
  void AskPort(const RemoteSm& sm);
  // The request has completed. Whether the port still has IsSM.
  [[nodiscard]] bool OnCompletion(const mad::Completion& completion);
  void OnRequestsDropped() { is_out_ = false; }

 private:
  const DeviceTable& devices_;
  mad::TransactionEngine& engine_;
  const mad::RequestContext context_;
  std::optional<std::vector<Guid>> sharing_;
  Guid master_;
  std::optional<Instant> heard_;  // Of master_, or since the first sweep.
  bool is_busy_ = false;
  bool is_out_ = false;
};

}  // namespace fabricd::sweep
