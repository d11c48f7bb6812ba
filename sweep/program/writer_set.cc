// SPDX-License-Identifier: Apache-2.0
#include "sweep/program/writer_set.h"

#include "common/check.h"

namespace fabricd::sweep {

void WriterSet::List(ProgramStage stage, WorkQueue& queue) {
  // LFTs are read first. What a switch has lost is forgotten before its other tables are listed.
  for (AttributeWriter* writer : std::initializer_list<AttributeWriter*>{
           &lft_, &switch_info_, &p_keys_, &guids_, &port_info_, &mft_, &vls_})
    writer->List(stage, queue);
}

QueuedWriter& WriterSet::QueuedOf(Work work) {
  switch (AttributeOf(work)) {
    case wire::AttributeId::kLinearForwardingTable: return lft_;
    case wire::AttributeId::kSwitchInfo: return switch_info_;
    case wire::AttributeId::kPKeyTable: return p_keys_;
    case wire::AttributeId::kGuidInfo: return guids_;
    case wire::AttributeId::kPortInfo: return port_info_;
    case wire::AttributeId::kSlToVlMappingTable:
    case wire::AttributeId::kVlArbitrationTable: return vls_;
    default: break;
  }
  FABRICD_CHECK(false, "work {} is not queued", static_cast<int>(work));
  return lft_;
}

void WriterSet::OnAnswer(const WorkItem& item, const mad::Completion& completion) {
  const bool of_trees =
      item.work == Work::kReadMft || item.work == Work::kSetMft || item.work == Work::kSetMftTop;
  if (of_trees)
    mft_.OnAnswer(item, completion);
  else
    QueuedOf(item.work).OnAnswer(item, completion);
}

bool WriterSet::OnLateAnswer(const WorkItem& item, const mad::Completion& completion,
                             fabric::SnapshotBuilder& builder, DeviceTable& devices) {
  if (completion.method != wire::Method::kSet) return false;
  devices.applied().ClearBusy(item.ref(), completion.attribute);
  if (item.work == Work::kConfigurePort && !IsOk(completion))
    devices.applied().ForgetEnforcement(item.ref());
  if (item.work == Work::kSetLft) LftWriter::OnLateAnswer(item, completion, devices);
  if (item.work == Work::kSetMft) MftWriter::OnLateAnswer(item, completion, devices);
  if (!IsOk(completion) || builder.node(item.node) == nullptr) return false;
  switch (completion.attribute) {
    case wire::AttributeId::kPortInfo:
      return PortInfoWriter::OnLateAnswer(item, completion, builder, devices);
    case wire::AttributeId::kSwitchInfo:
      return SwitchInfoWriter::OnLateAnswer(item, completion, builder);
    case wire::AttributeId::kPKeyTable:
      PKeyWriter::OnLateAnswer(item, completion, builder, devices);
      return false;
    case wire::AttributeId::kGuidInfo:
      GuidWriter::OnLateAnswer(item, completion, devices);
      return false;
    default: return false;  // VL tables: unknown until they are read.
  }
}

}  // namespace fabricd::sweep
