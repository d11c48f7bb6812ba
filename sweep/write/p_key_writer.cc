// SPDX-License-Identifier: Apache-2.0
#include "sweep/write/p_key_writer.h"

#include "common/breakage.h"

namespace fabricd::sweep {

void PKeyWriter::List(ProgramStage stage, WorkQueue& queue) {
  if (stage == ProgramStage::kReadTables && !ground_.trees_only) ListReads(queue);
  if (stage != ProgramStage::kKeys) return;
  if (ground_.scope.has_all_keys())
    for (const ProblemKind kind : {ProblemKind::kPKeyTableFull, ProblemKind::kNotEnforced})
      ground_.record.RemoveProblems(kind);
  ground_.scope.ForEachKeyed([&](const fabric::Node& node) {
    const auto problem = [&](PortRef port, ProblemKind kind, std::string text) {
      ground_.record.AddProblem(port, kind, std::move(text));
    };
    for (const PortKeys::Write& write : keys_.Writes(node, problem)) {
      if (!ground_.devices.Has(write.port.node)) continue;
      queue.Add({write.port.node, write.block, write.port.port, Work::kSetPKeys});
      wanted_[{write.port, write.block}] = write.table;
    }
  });
  if (IsBroken(Breakage::kWrongPKey)) ListWrongKeys(queue);
  queue.StripeUnique();
}

void PKeyWriter::ListReads(WorkQueue& queue) {
  ground_.scope.ForEachKeyed([&](const fabric::Node& node) {
    for (const PortKeys::Read& read : keys_.Reads(node))
      if (ground_.devices.Has(read.port.node))
        queue.Add({read.port.node, read.block, read.port.port, Work::kReadPKeys});
  });
  queue.StripeUnique();
}

// For a Breakage only.
void PKeyWriter::ListWrongKeys(WorkQueue& queue) {
  ground_.desired.snapshot->ForEachNode([&](const fabric::Node& node) {
    const PortRef port{node.index, node.first_end_port()};
    const auto* blocks = ground_.devices.applied().FindPKeys(port);
    if (blocks == nullptr || blocks->Find(0) == nullptr) return;
    wire::PKeyTable table = *blocks->Find(0);
    table.keys[1] = PKey(0xFFFE);
    queue.Add({node.index, 0, port.port, Work::kSetPKeys});
    wanted_[{port, uint16_t{0}}] = table;
  });
}

AppliedState::PKeyBlocks& PKeyWriter::BlocksOf(PortRef port, const fabric::SnapshotBuilder& builder,
                                               DeviceTable& devices) {
  const fabric::Node* node = builder.node(port.node);
  if (node == nullptr || !node->IsSwitch() || port.port == PortNum(0))
    return devices.applied().PKeys(port);
  auto& blocks = devices.applied().SwitchKeys(port);
  const size_t cap = node->switch_info ? node->switch_info->partition_enforcement_cap : 0;
  blocks.Resize((cap + wire::PKeyTable::kEntries - 1) / wire::PKeyTable::kEntries);
  return blocks;
}

std::optional<mad::SmpRequest> PKeyWriter::Next(const WorkItem& item) {
  const PortRef port = item.ref();
  const PortNum named = NodeOf(item).IsSwitch() ? item.port : PortNum(0);
  const uint32_t modifier = wire::PKeyTable::Modifier(named, item.block);
  auto& blocks = BlocksOf(port, ground_.builder, ground_.devices);
  if (item.work == Work::kReadPKeys) {
    if (blocks.Find(item.block) != nullptr) return std::nullopt;  // A Set was confirmed since.
    return ground_.devices.Get(port, wire::AttributeId::kPKeyTable, modifier);
  }
  const wire::PKeyTable& wanted = wanted_.at({port, item.block});
  // The response to a Set that was in flight when this one was listed has arrived since.
  if (blocks.Knows(item.block) && *blocks.Find(item.block) == wanted) return std::nullopt;
  blocks.MarkSent(item.block, wanted);
  return ground_.devices.Set(port, modifier, wanted);
}

void PKeyWriter::OnAnswer(const WorkItem& item, const mad::Completion& completion) {
  const bool has_none = completion.outcome == mad::Completion::Outcome::kResponse &&
                        completion.status != 0 && item.work == Work::kReadPKeys;
  if (has_none && !IsGone(item.node)) return;  // There is no such block, so nothing is left undone.
  if (HasFailed(item, completion)) return;
  const auto shown = wire::PKeyTable::Decode(completion.response.data);
  auto& blocks = BlocksOf(item.ref(), ground_.builder, ground_.devices);
  if (item.work == Work::kReadPKeys)
    blocks.Confirm(item.block, shown);
  else if (!blocks.Answer(item.block, shown))
    ground_.record.NoteContradiction(item, completion);
}

bool PKeyWriter::OnLateAnswer(const LateAnswer& late) {
  if (!late.IsConfirmed()) return false;
  BlocksOf(late.item.ref(), late.builder, late.devices)
      .Answer(late.item.block, wire::PKeyTable::Decode(late.completion.response.data));
  return false;
}

}  // namespace fabricd::sweep
