// SPDX-License-Identifier: Apache-2.0
#include "sweep/observe/own_port_watch.h"

#include "mad/wire/port_info.h"
#include "sweep/device/completion.h"
#include "sweep/interface/activity.h"

namespace fabricd::sweep {

void OwnPortWatch::OnDiscovered() {
  const fabric::Port* own = observed_.snapshot()->port(observed_.local());
  // A port that was not read says nothing.
  if (!is_noted_ && own != nullptr && own->known)
    has_link_ = own->IsUp() || observed_.local().port == PortNum(0);
}

void OwnPortWatch::OnTimer(Instant now) {
  next_ = now + kInterval;
  const PortRef own = observed_.local();
  // Port 0 of a switch has no link.
  if (is_out_ || own.IsNone() || own.port == PortNum(0) || !ground_.devices.Has(own.node)) return;
  is_out_ = true;
  auto request = ground_.devices.Get(own, wire::AttributeId::kPortInfo, own.port.value());
  request.context = mad::RequestContext::Of(Activity::kOwnPort);
  request.pace = kOnce;
  request.priority = 0;
  request.may_be_unknown = true;  // A lost read is no reason to doubt the device.
  ground_.engine.Submit(request);
}

std::optional<mad::LocalPortEvent::Kind> OwnPortWatch::OnCompletion(
    const mad::Completion& completion) {
  using Kind = mad::LocalPortEvent::Kind;
  is_out_ = false;
  if (!IsOk(completion)) return std::nullopt;
  const wire::PortInfo info = wire::PortInfo::Decode(completion.response.data);
  const bool has_link = info.port_state >= wire::PortState::kInit;
  if (has_link == has_link_) return std::nullopt;
  return has_link ? Kind::kPortActive : Kind::kPortDown;
}

}  // namespace fabricd::sweep
