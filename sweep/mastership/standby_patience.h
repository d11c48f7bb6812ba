// SPDX-License-Identifier: Apache-2.0
// StandbyPatience: how long this SM stands by for one that is not master, and whom it does not
// stand by for, or hand over to, again. An SM that reads well but never becomes master would leave
// the subnet without one.
#pragma once

#include <vector>

#include "common/ids.h"
#include "common/time.h"
#include "sweep/interface/view.h"

namespace fabricd::sweep {

class StandbyPatience {
 public:
  // This SM is STANDBY from now on. `handed_over`: it was master, and gave the subnet away.
  void Begin(bool handed_over, Instant now) {
    handed_over_ = handed_over;
    master_seen_ = now;
  }
  // The SM that it yields to is master.
  void OnMaster(Guid guid, Instant now);
  // It answers `seen`, which is not master. True: it has had the time to become master, and is
  // remembered if it never was one.
  bool IsOver(const RemoteSm& watched, wire::SmState seen, Instant now);

  // SMs that this one has yielded to without result.
  const std::vector<Guid>& idle() const { return idle_; }
  // Those of them that have had a handover too. Call Expire() first.
  const std::vector<Guid>& passed_over() const { return passed_over_; }
  void Expire(Instant now) {
    if (now >= passed_over_until_) passed_over_.clear();
  }

 private:
  // When this SM became STANDBY, or when the other was last known to be master.
  Instant master_seen_ = Instant::min();
  bool handed_over_ = false;  // By this SM, which has not seen it as master since.
  std::vector<Guid> idle_, passed_over_;
  Instant passed_over_until_ = Instant::min();
};

}  // namespace fabricd::sweep
