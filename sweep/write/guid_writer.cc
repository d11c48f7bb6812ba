// SPDX-License-Identifier: Apache-2.0
#include "sweep/write/guid_writer.h"

namespace fabricd::sweep {

void GuidWriter::List(ProgramStage stage, WorkQueue& queue) {
  if (stage == ProgramStage::kReadTables && !ground_.trees_only) ListReads(queue);
  if (stage != ProgramStage::kGuids) return;
  ground_.scope.ForEachKeyed([&](const fabric::Node& node) {
    for (const PortGuids::Write& write : guids_.Writes(node)) {
      if (!ground_.devices.Has(write.port.node)) continue;
      queue.Add({write.port.node, write.block, write.port.port, Work::kSetGuids});
      wanted_[{write.port, write.block}] = write.info;
    }
  });
  queue.Stripe();
}

void GuidWriter::ListReads(WorkQueue& queue) {
  queue.EndBatch();  // After all reads of tables that carry traffic.
  ground_.scope.ForEachKeyed([&](const fabric::Node& node) {
    // A CA whose link has just come up may have restarted.
    for (const auto& [ref, port] : node.LinkPorts())
      if (!node.IsSwitch() && port.info.port_state == wire::PortState::kInit)
        ground_.devices.applied().ForgetGuids(ref);
    for (const PortGuids::Read& read : guids_.Reads(node))
      if (ground_.devices.Has(read.port.node))
        queue.Add({read.port.node, read.block, read.port.port, Work::kReadGuids});
  });
  queue.StripeUnique();
}

std::optional<mad::SmpRequest> GuidWriter::Next(const WorkItem& item) {
  const PortRef port = item.ref();
  const auto block = static_cast<uint8_t>(item.block);
  auto& blocks = ground_.devices.applied().GuidsTo(port, block);
  if (item.work == Work::kReadGuids) {
    if (blocks.Find(block) != nullptr) return std::nullopt;  // A Set was confirmed since.
    return ground_.devices.Get(port, wire::AttributeId::kGuidInfo, block);
  }
  const wire::GuidInfo& wanted = wanted_.at({port, item.block});
  blocks.MarkSent(block, wanted);
  return ground_.devices.Set(port, block, wanted);
}

void GuidWriter::OnAnswer(const WorkItem& item, const mad::Completion& completion) {
  const auto block = static_cast<uint8_t>(item.block);
  auto& blocks = ground_.devices.applied().GuidsTo(item.ref(), block);
  const bool has_none = completion.outcome == mad::Completion::Outcome::kResponse &&
                        completion.status != 0 && item.work == Work::kReadGuids;
  if (has_none && !IsGone(item.node)) {  // There is no such block, so nothing is left undone.
    blocks.Confirm(block, wire::GuidInfo());
    return;
  }
  if (HasFailed(item, completion)) return;
  const auto info = wire::GuidInfo::Decode(completion.response.data);
  if (item.work == Work::kSetGuids) {
    if (!blocks.Answer(block, info)) ground_.record.NoteContradiction(item, completion);
    return;
  }
  blocks.Confirm(block, info);
  if (!guids_.GoesOn(item.ref(), block, info)) return;
  WorkItem next = item;
  ++next.block;
  queue_.Add(next);
}

bool GuidWriter::OnLateAnswer(const LateAnswer& late) {
  if (!late.IsConfirmed()) return false;
  const auto block = static_cast<uint8_t>(late.item.block);
  late.devices.applied()
      .GuidsTo(late.item.ref(), block)
      .Answer(block, wire::GuidInfo::Decode(late.completion.response.data));
  return false;
}

}  // namespace fabricd::sweep
