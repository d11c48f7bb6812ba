// SPDX-License-Identifier: Apache-2.0
// StandbyPatience: how long this SM stands by for an SM that is not master, and which SMs it does
// not stand by for, or hand over to, again. An SM that responds but never becomes master would
// leave the subnet without a master.
#pragma once

#include <vector>

#include "common/ids.h"
#include "common/time.h"
#include "sweep/interface/view.h"

namespace fabricd::sweep {

class StandbyPatience {
 public:
  // This SM becomes STANDBY. `handed_over`: it was master and handed the subnet over.
  void Begin(bool handed_over, Instant now) {
    handed_over_ = handed_over;
    master_seen_ = now;
  }
  // The polled SM is master.
  void OnMaster(Guid guid, Instant now);
  // The polled SM is in state `seen`, which is not MASTER. True: it had enough time to become
  // master. If it never was master, it is added to idle().
  bool IsOver(const RemoteSm& watched, wire::SmState seen, Instant now);

  // SMs that this one yielded to without result.
  const std::vector<Guid>& idle() const { return idle_; }
  // Those of them that did not become master after a handover either. Call Expire() first.
  const std::vector<Guid>& passed_over() const { return passed_over_; }
  void Expire(Instant now) {
    if (now >= passed_over_until_) passed_over_.clear();
  }

 private:
  // When this SM became STANDBY, or last saw the other SM as master.
  Instant master_seen_ = Instant::min();
  bool handed_over_ = false;  // This SM handed over, and has not seen the other as master since.
  std::vector<Guid> idle_, passed_over_;
  Instant passed_over_until_ = Instant::min();
};

}  // namespace fabricd::sweep
