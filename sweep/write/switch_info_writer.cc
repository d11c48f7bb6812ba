// SPDX-License-Identifier: Apache-2.0
#include "sweep/write/switch_info_writer.h"

#include <fmt/format.h>

namespace fabricd::sweep {

void SwitchInfoWriter::List(ProgramStage stage, WorkQueue& queue) {
  if (stage != ProgramStage::kSwitches) return;
  const Lid top = ground_.desired.lids->top();
  ground_.scope.ForEach([&](const fabric::Node& node) {
    if (!node.IsSwitch()) return;
    const uint16_t cap = node.switch_info->linear_fdb_cap;
    if (top.value() >= cap) {
      ground_.record.AddProblem({node.index, PortNum(0)}, ProblemKind::kTableTooSmall,
                                fmt::format("LinearFDBCap {} does not hold LID {}", cap, top));
      ground_.record.CountFailures(1);
      if (cap == 0) return;
      // The plan routes higher LIDs around this switch, and lower ones through it.
    }
    queue.Add({node.index, 0, PortNum(0), Work::kSetSwitchInfo});
  });
}

std::optional<mad::SmpRequest> SwitchInfoWriter::Next(const WorkItem& item) {
  const auto info = ground_.config.ConfigureSwitch(NodeOf(item), ground_.desired.lids->top());
  if (!info) return std::nullopt;
  return ground_.devices.Set(item.node, 0, *info);
}

void SwitchInfoWriter::OnAnswer(const WorkItem& item, const mad::Completion& completion) {
  if (HasFailed(item, completion)) return;
  const bool cleared = NodeOf(item).switch_info->port_state_change;
  const auto info = wire::SwitchInfo::Decode(completion.response.data);
  ground_.builder.SetSwitchInfo(item.node, info);
  const Lid top = PortConfig::NeededTop(NodeOf(item), ground_.desired.lids->top());
  if (info.linear_fdb_top < top.value())
    ground_.record.NoteRefusal({item.node, PortNum(0)},
                               fmt::format("keeps LinearFDBTop {}", info.linear_fdb_top));
  if (cleared || info.port_state_change) restarts_.Check(item.node, cleared);
  if (cleared) ReadUnseenPorts(item.node);
}

// A port change after the port was read but before PortStateChange was cleared would stay
// unnoticed. So ports that were down or ACTIVE are read again, because nothing is sent to them.
// (Others show the change when they are armed.)
void SwitchInfoWriter::ReadUnseenPorts(NodeIndex index) {
  for (const auto& [ref, port] : ground_.builder.node(index)->LinkPorts())
    if (port.known && (!port.IsUp() || port.info.port_state == wire::PortState::kActive))
      restarts_.ReadAgain(ref);
}

bool SwitchInfoWriter::MayClearStateChange(const DeviceTable& devices, NodeIndex node) {
  return !devices.applied().IsBusy({node, PortNum(0)}, wire::AttributeId::kSwitchInfo);
}

mad::SmpRequest SwitchInfoWriter::ClearStateChange(DeviceTable& devices, NodeIndex node,
                                                   const wire::SwitchInfo& shown) {
  devices.applied().SetBusy({node, PortNum(0)}, wire::AttributeId::kSwitchInfo);
  return devices.Set(node, 0, shown);
}

void SwitchInfoWriter::OnStateChangeCleared(const mad::Completion& completion,
                                            fabric::SnapshotBuilder& builder,
                                            DeviceTable& devices) {
  const PortRef management{completion.context.node, PortNum(0)};
  devices.applied().ClearBusy(management, wire::AttributeId::kSwitchInfo);
  if (IsOk(completion) && builder.node(management.node) != nullptr)
    builder.SetSwitchInfo(management.node, wire::SwitchInfo::Decode(completion.response.data));
}

// The Set has cleared PortStateChange, so nothing else will show earlier changes.
bool SwitchInfoWriter::OnLateAnswer(const LateAnswer& late) {
  if (!late.IsConfirmed()) return false;
  const NodeIndex node = late.item.node;
  const bool cleared = late.builder.node(node)->switch_info->port_state_change;
  const auto info = wire::SwitchInfo::Decode(late.completion.response.data);
  late.builder.SetSwitchInfo(node, info);
  return cleared || info.port_state_change;
}

}  // namespace fabricd::sweep
