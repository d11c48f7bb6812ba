// SPDX-License-Identifier: Apache-2.0
#include "sweep/mastership/master_poll.h"

namespace fabricd::sweep {

void MasterPoll::Send(const RemoteSm* polled, Instant now) {
  next_ = now + options_.polling_timeout;
  if (polled == nullptr || out_ || !devices_.Has(polled->port.node)) return;
  out_ = true;
  auto request = devices_.Get(polled->port, wire::AttributeId::kSmInfo, 0);
  request.context = context_;
  request.priority = 0;
  engine_.Submit(request);
}

}  // namespace fabricd::sweep
