// SPDX-License-Identifier: Apache-2.0
#include "shell/action_writer.h"

#include <utility>

#include "policy/policy_view.h"

namespace fabricd::shell {

void ActionWriter::OnTurn(const sweep::FabricView& view, bool takes_writes, Instant now) {
  if (has_failed_->exchange(false)) {
    stored_.reset();
    seen_.reset();
  }
  if (!takes_writes || view.sm.state != wire::SmState::kMaster) return;
  if (view.policy == seen_ || now < next_) return;
  if (stored_ != view.policy->actions) {
    const bool is_posted = post_([rows = policy::ActionRows(view.policy->actions),
                                  failed = has_failed_](store::Store& store) {
      if (!store.ChangeRows(rows).ok()) *failed = true;
    });
    next_ = now + kInterval;
    if (!is_posted) return;
    stored_ = view.policy->actions;
  }
  seen_ = view.policy;
}

}  // namespace fabricd::shell
