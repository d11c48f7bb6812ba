// SPDX-License-Identifier: Apache-2.0
#include "sweep/observe/own_port_watch.h"

#include "mad/wire/port_info.h"
#include "sweep/device/completion.h"
#include "sweep/interface/activity.h"

namespace fabricd::sweep {

void OwnPortWatch::OnTimer(Instant now) {
  next_ = now + kInterval;
  const PortRef own = observed_.local();
  if (own.IsNone() || !ground_.devices.Has(own.node)) return;
  auto request = ground_.devices.Get(own, wire::AttributeId::kPortInfo, own.port.value());
  request.context = mad::RequestContext::Of(Activity::kOwnPort);
  request.pace = kOnce;
  request.priority = 0;
  ground_.engine.Submit(request);
}

std::optional<mad::LocalPortEvent::Kind> OwnPortWatch::OnCompletion(
    const mad::Completion& completion) const {
  using Kind = mad::LocalPortEvent::Kind;
  if (!IsOk(completion)) return std::nullopt;
  const wire::PortInfo info = wire::PortInfo::Decode(completion.response.data);
  const bool has_link = info.port_state >= wire::PortState::kInit;
  if (has_link == observed_.HasOwnLink()) return std::nullopt;
  return has_link ? Kind::kPortActive : Kind::kPortDown;
}

}  // namespace fabricd::sweep
