// SPDX-License-Identifier: Apache-2.0
// VlWriter: SLtoVLMappingTables and VLArbitrationTables for a plan with several VLs. A plan with
// one VL needs neither (lane_tables.h).
#pragma once

#include <optional>

#include "sweep/device/lane_tables.h"
#include "sweep/write/attribute_writer.h"

namespace fabricd::sweep {

class VlWriter final : public QueuedWriter {
 public:
  static constexpr std::array kWorks{Work::kReadMap, Work::kSetMap, Work::kSetWholeMap,
                                     Work::kReadArbitration, Work::kSetArbitration};

  // `ground` must outlive this.
  explicit VlWriter(const ProgramGround& ground) : QueuedWriter(ground) {}

  void List(ProgramStage stage, WorkQueue& queue) override;
  std::optional<mad::SmpRequest> Next(const WorkItem& item) override;
  // The desired table depends on OperationalVLs, which a PortInfo Set may be changing.
  bool IsBusy(const WorkItem& item) const override {
    return ground_.devices.applied().IsBusy(item.ref(), wire::AttributeId::kPortInfo);
  }
  void OnAnswer(const WorkItem& item, const mad::Completion& completion) override;
  // The table is unknown until it is read.
  [[nodiscard]] static bool OnLateAnswer(const LateAnswer&) { return false; }

 private:
  void ListReads(WorkQueue& queue);
  void ListWritesOf(const fabric::Node& node, WorkQueue& queue);
  template <typename Visit>
  void ForEachMap(NodeIndex node, Visit&& visit) const;
  // The desired content. nullopt: the present one is right.
  std::optional<wire::SmpData> WantedOf(const VlTable& table) const;
};

}  // namespace fabricd::sweep
