// SPDX-License-Identifier: Apache-2.0
#include "sweep/observe/light_sweep.h"

#include <utility>

#include "common/check.h"
#include "mad/wire/sm_info.h"
#include "mad/wire/switch_info.h"
#include "mad/wire/vendor_smp.h"
#include "sweep/device/completion.h"
#include "sweep/device/port_config.h"
#include "sweep/interface/activity.h"
#include "sweep/observe/unresponsive.h"

namespace fabricd::sweep {
namespace {
// If only this attempt got a response, the device was unresponsive, not just one SMP lost.
constexpr uint32_t kSilence = 3;
}  // namespace

LightSweep::LightSweep(std::shared_ptr<const fabric::FabricSnapshot> snapshot,
                       const DeviceTable& devices, mad::TransactionEngine& engine,
                       std::vector<RemoteSm> remote_sms, std::vector<Unread> unread,
                       const std::vector<NodeIndex>& were_unresponsive)
    : snapshot_(std::move(snapshot)),
      devices_(devices),
      engine_(engine),
      remote_sms_(std::move(remote_sms)),
      unread_(std::move(unread)),
      were_unresponsive_(were_unresponsive.begin(), were_unresponsive.end()) {}

void LightSweep::Submit(mad::SmpRequest request, Ask ask, PortRef subject, uint32_t number) {
  request.context = mad::RequestContext::Of(Activity::kLightSweep, ask, subject);
  request.context.number = number;
  ++outstanding_;
  engine_.Submit(request);
}

void LightSweep::Start(const SweepOptions& options, Instant now) {
  started_ = true;
  options_ = options;
  started_at_ = now;
  snapshot_->ForEachNode([&](const fabric::Node& node) {
    if (!devices_.Has(node.index)) return;
    if (!node.IsSwitch()) return;
    Submit(devices_.Get(node.index, wire::AttributeId::kSwitchInfo, 0), Ask::kSwitchInfo,
           {node.index, PortNum(0)});
    if (node.unresponsive) return;
    for (const auto& [ref, port] : node.LinkPorts()) {
      const fabric::Node* peer = port.peer.IsNone() ? nullptr : snapshot_->node(port.peer.node);
      const bool responds = peer != nullptr && (peer->IsSwitch() || !peer->unresponsive);
      if (!port.IsUp() || responds || !devices_.PathTo(node.index).CanExtend()) continue;
      auto probe = devices_.Get(node.index, wire::AttributeId::kNodeInfo, 0);
      probe.path = probe.path.Then(ref.port);
      probe.alternative.reset();
      Submit(std::move(probe), Ask::kProbe, ref);
    }
  });
  for (const NodeIndex node : devices_.applied().adaptive_routing().On())
    if (devices_.Has(node))
      Submit(devices_.Get(node, wire::ArInfo::kAttribute, 0), Ask::kAdaptiveRouting,
             {node, PortNum(0)});
  for (uint32_t i = 0; i < remote_sms_.size(); ++i) {
    const NodeIndex node = remote_sms_[i].port.node;
    if (devices_.Has(node))
      Submit(devices_.Get(remote_sms_[i].port, wire::AttributeId::kSmInfo, 0), Ask::kSmInfo,
             remote_sms_[i].port, i);
  }
  for (uint32_t i = 0; i < unread_.size(); ++i)
    if (devices_.Has(unread_[i].port.node))
      Submit(devices_.Get(unread_[i].port, unread_[i].attribute, unread_[i].modifier), Ask::kUnread,
             unread_[i].port, i);
}

void LightSweep::Change(std::string reason) {
  if (reason_.empty()) reason_ = std::move(reason);
}

void LightSweep::OnCompletion(const mad::Completion& completion) {
  FABRICD_CHECK(outstanding_ > 0);
  --outstanding_;
  const PortRef subject = completion.context.subject();
  switch (completion.context.kind_as<Ask>()) {
    case Ask::kSwitchInfo: OnSwitchInfo(subject.node, completion); break;
    case Ask::kProbe:
      if (IsOk(completion))
        changed_.push_back({subject, "a neighbour responds again"});
      else if (const PortRef peer = snapshot_->port(subject)->peer;
               !peer.IsNone() && !IsKept(peer.node))
        changed_.push_back({subject, "a neighbour has not responded for long"});
      break;
    case Ask::kAdaptiveRouting:
      if (IsOk(completion) && !wire::ArInfo::Decode(completion.response.data).enabled)
        Change("adaptive routing was switched off");
      break;
    case Ask::kUnread:
      if (IsOk(completion))
        Change(fmt::format("{} that did not answer can be read now",
                           wire::AttributeName(completion.attribute)));
      break;
    case Ask::kSmInfo: {
      RemoteSm& sm = remote_sms_[completion.context.number];
      if (!IsOk(completion)) {
        Change(fmt::format("SM {} does not answer", sm.guid));
        break;
      }
      const auto info = wire::SmInfo::Decode(completion.response.data);
      const bool changed = info.state != sm.state || info.priority != sm.priority;
      sm.state = info.state;
      sm.priority = info.priority;
      sm.activity_count = info.activity_count;
      if (changed)
        Change(fmt::format("SM {} is {} now, priority {}", sm.guid, wire::SmStateName(sm.state),
                           sm.priority));
      break;
    }
  }
}

// PortStateChange shows changes of ports. Other differences mean that the switch lost its settings,
// or that another program wrote them.
void LightSweep::OnSwitchInfo(NodeIndex node, const mad::Completion& completion) {
  const char* cause = nullptr;
  if (!IsOk(completion)) {
    if (!IsKept(node)) cause = "a switch does not answer";
    unresponsive_.push_back(node);
  } else {
    if (devices_.UnresponsiveSince(node)) cause = "a switch responds again";
    if (were_unresponsive_.contains(node) || completion.attempts >= kSilence) AskHostsOf(node);
    const auto info = wire::SwitchInfo::Decode(completion.response.data);
    if (info.port_state_change)
      cause = "light sweep";
    else if (IsSetOtherwise(info, *snapshot_->node(node)->switch_info))
      cause = "SwitchInfo is not what it was";
  }
  if (cause != nullptr) changed_.push_back({{node, PortNum(0)}, cause});
}

// It is known not to respond, and stays.
bool LightSweep::IsKept(NodeIndex node) const {
  const auto since = devices_.UnresponsiveSince(node);
  return since && IsInGrace(options_, *since, started_at_);
}

void LightSweep::AskHostsOf(NodeIndex node) {
  const fabric::Node& at = *snapshot_->node(node);
  for (const auto& [ref, port] : at.LinkPorts()) {
    const fabric::Node* peer = port.peer.IsNone() ? nullptr : snapshot_->node(port.peer.node);
    if (!port.IsUp() || peer == nullptr || peer->IsSwitch()) continue;
    changed_.push_back({ref, "its switch was silent"});
  }
}

}  // namespace fabricd::sweep
