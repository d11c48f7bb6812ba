// SPDX-License-Identifier: Apache-2.0
// TrapFollower: handles a trap: it reports the switch, schedules a light sweep, or only logs a
// line.
#pragma once

#include "mad/wire/notice.h"
#include "sweep/activity/change_follower.h"
#include "sweep/agenda/agenda.h"
#include "sweep/plan/lid_manager.h"
#include "sweep/remediate/remediation.h"
#include "sweep/report/sweep_journal.h"

namespace fabricd::sweep {

class TrapFollower {
 public:
  // All must outlive this.
  TrapFollower(const CoreOptions& options, const ObservedFabric& observed, const LidManager& lids,
               ChangeFollower& follower, Agenda& agenda, Remediation& remediation,
               SweepJournal& journal)
      : options_(options),
        observed_(observed),
        lids_(lids),
        follower_(follower),
        agenda_(agenda),
        remediation_(remediation),
        journal_(journal) {}

  // REQUIRES: this SM is master.
  void OnTrap(const wire::Notice& notice, Instant now);

 private:
  const CoreOptions& options_;
  const ObservedFabric& observed_;
  const LidManager& lids_;
  ChangeFollower& follower_;
  Agenda& agenda_;
  Remediation& remediation_;
  SweepJournal& journal_;
};

}  // namespace fabricd::sweep
