// SPDX-License-Identifier: Apache-2.0
#include "sweep/mastership/last_master.h"

#include "mad/wire/port_info.h"
#include "sweep/device/completion.h"

namespace fabricd::sweep {
namespace {

// An SMA responds at once, also beside a busy SM. A host without power delays its successor by all
// of these.
constexpr mad::Pace kPort{std::chrono::milliseconds(150), 3};

}  // namespace

void LastMaster::OnFound(const std::vector<RemoteSm>& found, Guid polled, Instant now) {
  if (!heard_) heard_ = now;
  // One that gave the subnet away first, so that another one found as master counts.
  for (const RemoteSm& sm : found)
    if (sm.guid == master_ && sm.guid != polled && sm.state != wire::SmState::kMaster)
      OnAnswer(sm.guid, sm.state, now);
  for (const RemoteSm& sm : found)
    if (sm.state == wire::SmState::kMaster) OnAnswer(sm.guid, sm.state, now);
}

void LastMaster::OnAnswer(Guid sm, wire::SmState state, Instant now) {
  if (state == wire::SmState::kMaster)
    master_ = sm;
  else if (sm == master_)
    master_ = Guid();
  heard_ = now;
  is_busy_ = false;
}

std::optional<RemoteSm> LastMaster::FindBusy(const std::vector<Unread>& unread,
                                             const fabric::FabricSnapshot& snapshot, Instant now) {
  for (const Unread& each : unread) {
    const fabric::Port* port = snapshot.port(each.port);
    if (each.attribute != wire::AttributeId::kSmInfo || port == nullptr) continue;
    if (!MayBeBusy(port->guid, now)) continue;
    is_busy_ = true;
    return RemoteSm{.port = each.port, .guid = port->guid, .state = wire::SmState::kMaster};
  }
  return std::nullopt;
}

void LastMaster::AskPort(const RemoteSm& sm) {
  if (is_out_ || !devices_.Has(sm.port.node)) return;
  is_out_ = true;
  auto request = devices_.Get(sm.port, wire::AttributeId::kPortInfo, sm.port.port.value());
  request.context = context_;
  request.pace = kPort;
  request.priority = 0;
  engine_.Submit(request);
}

bool LastMaster::OnCompletion(const mad::Completion& completion) {
  is_out_ = false;
  return IsOk(completion) &&
         (wire::PortInfo::Decode(completion.response.data).capability_mask & wire::kCapIsSm) != 0;
}

}  // namespace fabricd::sweep
